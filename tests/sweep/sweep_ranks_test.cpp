// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `mpirun lastbit sweep`: any number of ranks gives the same bytes, and so does a job of which a rank was killed.
#include <cstdlib>
#include <iostream>

#include "sweep/sweeping.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// Open MPI refuses more ranks than cores, and root, unless told otherwise; from version 5 on its launcher, PRRTE, is told.
std::string on_ranks(int ranks, const std::string& arguments, const std::string& options = "") {
  return "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
         "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe timeout 300 " +
         std::string(LASTBIT_MPIEXEC) + " " + options + " -n " + std::to_string(ranks) + " " + LASTBIT_TOOL + " " + arguments;
}

/// Says so where there is none: ctest then reports the test as skipped.
bool mpirun_works(const Sweeping& digits) {
  if (Sweeping::wait(digits.start(on_ranks(2, "--version"))) == 0) return true;
  std::cout << "skipped: no mpirun that starts two processes here\n";
  return false;
}

std::string file_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The process of this rank whose working folder is `folder`.
pid_t process_of_rank(int rank, const std::filesystem::path& folder) {
  const std::string wanted = '\0' + std::string("OMPI_COMM_WORLD_RANK=") + std::to_string(rank) + '\0';
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path() / "cwd", error) != folder || error) continue;
    if (std::filesystem::read_symlink(entry.path() / "exe", error) != std::filesystem::canonical(LASTBIT_TOOL)) continue;
    if (('\0' + file_of(entry.path() / "environ")).find(wanted) != std::string::npos) return std::stoi(entry.path().filename().string());
  }
  return 0;
}

constexpr std::int64_t many = 6000;
const std::string careful = "--state state.json --checkpoint 0.02 --batch 4 --lost-after 10 ";

/// Kills a rank once some samples are done.
int status_after_kill(const Sweeping& digits, int rank, const std::string& options) {
  const pid_t job = digits.start(on_ranks(4, Sweeping::arguments(careful + "--json report.json"), options));
  REQUIRE(digits.wait_for("state.json", many / 20));
  const pid_t victim = process_of_rank(rank, std::filesystem::canonical(digits.shell.file("")));
  REQUIRE(victim > 0);
  ::kill(victim, SIGKILL);
  return Sweeping::wait(job);
}

}  // namespace

TEST_CASE("1, 2 and 4 ranks and no launcher at all give the same bytes") {
  const Sweeping digits(1000);
  if (!mpirun_works(digits)) return;
  REQUIRE(digits.shell.status(Sweeping::arguments("--json alone.json")) == 1);
  const std::string text = digits.shell.text("out"), json = digits.shell.text("alone.json");
  REQUIRE(!json.empty());
  for (const int ranks : {1, 2, 4}) {
    INFO(ranks << " ranks");
    const std::string name = std::to_string(ranks) + ".json";
    CHECK(Sweeping::wait(digits.start(on_ranks(ranks, Sweeping::arguments("--batch 16 --json " + name)))) == 1);
    CHECK(digits.shell.text(name) == json);
    CHECK(digits.shell.text("out") == text);
  }
}

TEST_CASE("What every rank refuses is said once") {
  const Sweeping digits(8);
  if (!mpirun_works(digits)) return;
  CHECK(Sweeping::wait(digits.start(on_ranks(3, Sweeping::arguments("--state none/state.json")))) == 2);
  std::string error = digits.shell.text("err");
  const auto first = error.find("lastbit: none/state.json");
  CHECK(first != std::string::npos);
  CHECK(error.find("lastbit: ", first + 1) == std::string::npos);
}

TEST_CASE("A killed rank ends the job; what was done is kept, and any number of ranks goes on from there", "[.kill]") {
  const Sweeping digits(many);
  if (!mpirun_works(digits)) return;
  REQUIRE(digits.shell.status(Sweeping::arguments("--json alone.json")) == 1);
  for (const int rank : {2, 0}) {
    std::filesystem::remove(digits.shell.file("state.json"));
    const int status = status_after_kill(digits, rank, "");
    CHECK(status != 0);
    CHECK(!std::filesystem::exists(digits.shell.file("report.json")));
    CHECK(digits.samples_done("state.json") < many);
  }
  CHECK(Sweeping::wait(digits.start(on_ranks(2, Sweeping::arguments("--state state.json --json report.json")))) == 1);
  CHECK(digits.shell.text("report.json") == digits.shell.text("alone.json"));
}

TEST_CASE("Under a launcher that goes on, the samples of a killed rank are dealt again", "[.kill]") {
  const Sweeping digits(many);
  if (!mpirun_works(digits)) return;
  const std::string open_mpi_4 = "--enable-recovery";
  if (Sweeping::wait(digits.start(on_ranks(2, "--version", open_mpi_4))) != 0) {
    std::cout << "left out: this mpirun has no --enable-recovery\n";
    return;
  }
  REQUIRE(digits.shell.status(Sweeping::arguments("--json alone.json")) == 1);
  const int status = status_after_kill(digits, 2, open_mpi_4);
  CHECK(status == 0);  // mpirun's own; the ranks' is not passed on
  CHECK_THAT(digits.shell.text("err"), contains_text("is lost: nothing heard for 10 s"));
  CHECK(digits.shell.text("report.json") == digits.shell.text("alone.json"));
}
