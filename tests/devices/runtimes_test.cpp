// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runtimes and chips: every name stands for a backend that exists, questions are understood, and the page tells the data.
#include "lastbit/runtimes.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;

namespace {

bool is_builtin(std::string_view name) { return std::ranges::find(builtin_backends(), name, &SpecSheet::name) != builtin_backends().end(); }

/// "TensorFlow Lite, 64-bit Arm, 2.5 and later" of each case.
std::vector<std::string> told(const std::string& question) {
  std::vector<std::string> cases;
  for (const RuntimeCase* one : runtimes_for(question).cases)
    cases.push_back(std::string(one->runtime) + ", " + std::string(one->machine) + ", " + one->versions.text());
  return cases;
}

std::string refusal(const std::string& question) {
  try {
    static_cast<void>(runtimes_for(question));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string unfound(const std::string& name) {
  try {
    static_cast<void>(find_backend(name));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every chip's backends exist, and one that has one backend is a name for it") {
  std::set<std::string_view> names;
  for (const Chip& chip : chips()) {
    INFO(chip.name);
    CHECK(names.insert(chip.name).second);
    CHECK_FALSE(is_builtin(chip.name));
    CHECK((find_chip(chip.name) == &chip));
    for (const std::string_view backend : chip.backends) CHECK(is_builtin(backend));
    CHECK((chip.backends.size() == 1 || !note_of(chip).empty()));  // which of them, or what is nearest
    if (chip.backends.size() == 1) CHECK(find_backend(chip.name).name == chip.backends[0]);
    else CHECK_THROWS_AS(find_backend(chip.name), Error);
    if (!chip.machine.empty()) CHECK_FALSE(runtimes_for("tflite " + std::string(chip.name)).cases.empty());
  }
}

TEST_CASE("a chip is found whatever its case and signs are") {
  CHECK(find_backend("i.MX8MP").name == "vipnano_v8");
  CHECK(find_backend("A311D").name == "vipnano_v7");
  CHECK(find_backend("stm32-mp2").name == "vipnano_v7");
  CHECK(find_backend("tiger_lake").name == "gna2");
}

TEST_CASE("what computes a chip that a backend is called by is told as well") {
  for (const char* const name : {"rk3588", "RK-3576", "max78000", "nvdla", "k210", "espdl_s3"}) {
    INFO(name);
    const RuntimeAnswer answer = runtimes_for(name);
    REQUIRE(answer.chips.size() == 1);
    CHECK(answer.cases.empty());
    REQUIRE(answer.chips[0].backends.size() == 1);
    CHECK(is_same_name(answer.chips[0].backends[0], name));
  }
  CHECK(runtimes_for("xnnpack").chips.empty());  // a runtime's name first
}

TEST_CASE("a name of several backends, or of none, is refused with what there is") {
  CHECK(unfound("gna").find("gna1, gna1_embedded, gna2, gna3_0 or gna3_1") != std::string::npos);
  CHECK(unfound("ascend910").find("ascend910a or ascend910b") != std::string::npos);
  CHECK(unfound("meteorlake").find("computed by no backend; a generation after 3.1") != std::string::npos);
  CHECK(unfound("imx8pm").find("'imx8mp'") != std::string::npos);
  CHECK(unfound("tflite").find("lastbit backends --for tflite") != std::string::npos);
}

TEST_CASE("every row names a backend that exists, and rules that it has") {
  for (const RuntimeCase& one : runtime_cases()) {
    INFO(one.runtime << ", " << one.machine << ": " << one.way);
    CHECK_FALSE(one.rows.empty());
    CHECK_FALSE(one.source.empty());
    for (const RuntimeRow& row : one.rows) {
      INFO(row.operators);
      CHECK_FALSE(why(row).empty());
      CHECK((row.why.empty() != row.open.empty()));  // said once
      CHECK((row.fit != Nearness::equal || row.open.empty()));
      REQUIRE(is_builtin(row.backend));
      const Backend before = find_backend(row.backend).backend;
      Backend changed = before;
      std::istringstream settings{std::string(row.settings)};
      for (std::string setting; settings >> setting;) {
        const std::size_t equals = setting.find('=');
        REQUIRE(equals != std::string::npos);
        set_rule(changed, setting.substr(0, equals), setting.substr(equals + 1));
      }
      CHECK(diff_backends(before, changed).empty() == row.settings.empty());
    }
  }
}

TEST_CASE("what comes no more than near says in its backend's sheet how it differs, or is what its evidence leaves") {
  for (const RuntimeCase& one : runtime_cases()) {
    INFO(one.runtime << ", " << one.machine << ": " << one.way);
    for (const RuntimeRow& row : one.rows) {
      INFO(row.operators);
      if (row.fit == Nearness::equal) continue;
      if (row.open.empty()) {
        CHECK((row.operators == "everything else" || row.operators == "other operators"));
        continue;
      }
      const auto is_meant = [&](const OpenPoint& point) { return point.rule == row.open && point.program == row.program; };
      const std::vector<OpenPoint> open = find_backend(row.backend).open;
      REQUIRE(std::ranges::any_of(open, is_meant));
      CHECK(why(row).find(std::ranges::find_if(open, is_meant)->what) != std::string::npos);
    }
  }
}

TEST_CASE("a question is understood in any order, case and spelling") {
  const std::vector<std::string> expected = told("tflite 2.9 aarch64");
  REQUIRE_FALSE(expected.empty());
  CHECK(expected[0] == "TensorFlow Lite, 64-bit Arm, 2.5 and later");
  for (const char* same : {"aarch64 tflite 2.9", "2.9 AARCH64 TFLite", "tflite-2.9 arm64", "TensorFlow Lite 2.9.3 on ARM64",
                           "tflite==2.9, aarch64", "arm64-v8a tflite v2.9"})
    CHECK(told(same) == expected);
}

TEST_CASE("a version picks its range and what is usual in it; none lists every range") {
  CHECK(told("tflite 2.4 aarch64")[0] == "TensorFlow Lite, Arm, up to 2.4");
  CHECK(told("tflite 2.13.1 aarch64")[0] == "TensorFlow Lite, 64-bit Arm, 2.5 and later");
  CHECK(told("tflite 2.16 aarch64")[0] == "TensorFlow Lite, 64-bit and 32-bit Arm, 2.6 and later");  // the delegate
  CHECK(told("tflite aarch64").size() > told("tflite 2.4 aarch64").size());
  CHECK(VersionRange{"2.5", "2.13"}.contains("2.10"));
  CHECK_FALSE(VersionRange{"2.5", "2.13"}.contains("2.4.9"));
  CHECK_FALSE(VersionRange{"2.5", "2.13"}.contains("2.14"));
  CHECK(VersionRange{"2.5", "2.13"}.contains("2"));
}

TEST_CASE("runtimes and ways of running are told apart") {
  CHECK(told("onnxruntime 1.17 x86-64 vnni")[0] == "ONNX Runtime, x86-64 with VNNI, every version");
  CHECK(told("ort avx2 x86_64")[0] == "ONNX Runtime, x86-64 without VNNI, every version");
  CHECK(told("tflm cmsis-nn cortex-m4")[0] == "TensorFlow Lite Micro, Cortex-M without Helium, every version");
  CHECK(told("tensorflow lite micro, cortex m55")[0] == told("tflm cortex-m55")[0]);
  CHECK(told("litert 1.2 android")[0] == "LiteRT, 64-bit and 32-bit Arm, every version");
  CHECK(told("xnnpack").size() >= 4);
  CHECK(runtimes_for("imx8mp").cases.empty());
  CHECK(runtimes_for("imx8mp").chips.size() == 1);
  CHECK(told("imx8mp tflite 2.9") == told("tflite 2.9 aarch64"));
}

TEST_CASE("what is not understood is refused with what was probably meant") {
  CHECK(refusal("tfilte 2.9").find("unknown word 'tfilte'; did you mean 'tflite'") != std::string::npos);
  CHECK(refusal("imx8pm").find("'imx8mp'") != std::string::npos);
  CHECK(refusal("2.9 aarch64").find("of what is 2.9 the version?") != std::string::npos);
  CHECK(refusal("tflite 2.9 2.10").find("two versions: 2.9 and 2.10") != std::string::npos);
  CHECK(refusal("tflite cmsis-nn").find("does not go with the rest") != std::string::npos);
  CHECK(refusal("onnxruntime wasm").find("'wasm' does not go with the rest") != std::string::npos);
  CHECK(refusal("tflite 2.4 xnnpack").find("nothing is known of version 2.4; known: 2.6 and later") != std::string::npos);
  CHECK(refusal(" ").find("name a runtime or a chip") != std::string::npos);
  CHECK(refusal("tflite 99999999999999999999.1").find("99999999999999999999.1") != std::string::npos);
  CHECK(refusal(std::string(100000, 'x')).find("unknown word") != std::string::npos);
}

TEST_CASE("docs/which-backend.md is what `lastbit backends --runtimes --markdown` prints") {
  std::ifstream file(test::source_directory() / "docs/which-backend.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK((page == runtimes_page()));
}
