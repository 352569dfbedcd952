// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sweep's state of any bytes is taken up where it is that sweep's, or is refused. Bytes that begin as a state does are the file as it is;
// all others are the statistics of a file with this sweep's identity and the checksum that belongs to them, so that more than the checksum
// is asked for. What was taken up can be finished, reported and written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "lastbit/samples.hpp"
#include "lastbit/sweep.hpp"
#include "model/checksum.hpp"
#include "one_relu.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

namespace {

using namespace lastbit;

constexpr std::string_view format = R"({"format": "lastbit.sweep.state.v2", "checksum": ")";

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Two backends on three samples.
struct Sweep {
  Model model = fuzz::one_relu();
  Sweeper sweeper{model, {fuzz::relu_alone("half_up"), fuzz::relu_alone("half_even")}, {.golden = Golden::with, .count_events = true}};
  SampleSource source{model, places()};
  std::string identity = identity_line();

  static std::vector<std::filesystem::path> places() {
    const std::filesystem::path file = fuzz::scratch_folder() / "samples.npy";
    write_npy(file, Tensor::from<std::int8_t>({3, 1, 4}, std::vector<std::int8_t>{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}));
    return {file};
  }

  /// Of the state that this sweep begins with.
  std::string identity_line() const {
    const SweepState begun(fuzz::scratch_folder() / "begun.json", sweeper, source);
    const std::string text = text_of(begun.file());
    const std::size_t first = text.find('\n') + 1;
    return text.substr(first, text.find('\n', first) + 1 - first);
  }

  std::string file_of(std::string_view text) const {
    if (text.starts_with(format)) return std::string(text);
    const std::string rest = identity + "\"statistics\": " + std::string(text) + "}\n";
    Checksum sum;
    sum.add(rest);
    return std::string(format) + sum.text() + "\",\n" + rest;
  }

  void take_up(const std::filesystem::path& file) {
    SweepState state(file, sweeper, source);
    const SampleSet missing = state.missing();
    for (const SampleRange& range : missing.ranges()) sweeper.add(state.statistics, source, range.first, range.last - range.first);
    const SweepReport report{"model", "data", &sweeper, &state.statistics, state.samples()};
    if (!report.complete() || to_text(report).empty() || to_csv(report).empty() || to_json(report).empty()) std::abort();
    SweepStatistics again = sweeper.nothing();
    again.read(state.statistics.text(), "again");
    if (again.text() != state.statistics.text()) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Sweep sweep;
  const std::string text = sweep.file_of({reinterpret_cast<const char*>(data), size});
  return fuzz::expect_value_or_error([&] { sweep.take_up(fuzz::folder_with("sweep.json", text) / "sweep.json"); });
}
