// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/device.hpp"

#include <array>
#include <string>
#include <vector>

#include "lastbit/backends/vipnano.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"

namespace lastbit {
namespace {

/// What a function with such a parameter sees.
SpecSheet given(const Device& device) { return device; }

std::vector<std::string> names_of(const Devices& devices) {
  std::vector<std::string> names;
  for (const SpecSheet& sheet : devices.sheets()) names.push_back(sheet.name);
  return names;
}

}  // namespace

TEST_CASE("a device is a name, a chip, a file, a sheet or a Backend") {
  const SpecSheet sheet = find_backend("vipnano_v8");
  CHECK(given("vipnano_v8") == sheet);
  CHECK(given(std::string("vipnano_v8")) == sheet);
  CHECK(given("imx8mp") == sheet);
  CHECK(given("i.MX8MP") == sheet);
  CHECK(given(sheet) == sheet);
  const SpecSheet own = given(vipnano_v8);
  CHECK(own.backend == sheet.backend);
  CHECK(own.name == "own backend");
  CHECK(own.evidence.empty());
  const std::filesystem::path file = test::source_directory() / "examples/own_device/my_npu.json";
  CHECK(given(file) == find_backend(file.string()));
  CHECK(given(file.string()) == find_backend(file.string()));
}

TEST_CASE("an unknown device is refused in one line, with what is close and what lists them") {
  const auto refusal = test::refusal_of([] { return given("vipnano_v9"); });
  REQUIRE(refusal.has_value());
  CHECK(refusal->code == ErrorCode::unknown_backend);
  CHECK(refusal->is_one_line());
  CHECK(refusal->says("did you mean 'vipnano_v"));
  CHECK(refusal->says("lastbit backends"));
  CHECK(test::refusal_of([] { return given(std::filesystem::path("absent.json")); }).value().says("absent.json"));
}

TEST_CASE("several devices are a braced list, or a range of anything that is one") {
  const std::vector<std::string> both{"tflite_double", "vipnano_v8"};
  CHECK(names_of({"tflite_double", "imx8mp"}) == both);
  CHECK(names_of({find_backend("tflite_double"), "imx8mp"}) == both);
  CHECK(names_of(both) == both);
  CHECK(names_of(std::array{find_backend("tflite_double"), find_backend("vipnano_v8")}) == both);
}

}  // namespace lastbit
