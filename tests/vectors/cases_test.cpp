// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Single models on which an earlier version differed from a vendor's program: tests/vectors/cases/, each with the vendor's outputs, its version,
// and why. "refused": the vendor's program refuses the model. A backend's name may be followed by a setting, as `--set` takes it.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"

namespace lastbit {
namespace {

/// "NAME" or "NAME RULE=VALUE"
Backend backend_called(const std::string& name) {
  const auto space = name.find(' ');
  Backend backend = find_backend(name.substr(0, space)).backend;
  if (space == std::string::npos) return backend;
  const auto equals = name.find('=', space);
  set_rule(backend, name.substr(space + 1, equals - space - 1), name.substr(equals + 1));
  return backend;
}

/// A vendor's refusal is one of ours; else every output value is equal.
void check_case(const std::filesystem::path& folder, const nlohmann::json& one) {
  const Model model = read_model(folder / one["model"].get<std::string>());
  std::vector<Tensor> inputs;
  for (const auto& file : one["inputs"]) inputs.push_back(read_npy(folder / file.get<std::string>()));
  for (const auto& [name, expected] : one["expected"].items()) {
    INFO(folder.filename().string() << " on " << name << ": " << one["cause"].get<std::string>());
    const Backend backend = backend_called(name);
    if (expected == "refused") {
      CHECK_FALSE(check(model, backend).empty());
      continue;
    }
    REQUIRE(check(model, backend).empty());
    const Trace trace = run(model, backend, inputs);
    REQUIRE(expected.size() == model.outputs.size());
    for (std::size_t i = 0; i < model.outputs.size(); ++i) {
      const Tensor wanted = read_npy(folder / expected[i].get<std::string>());
      const Tensor& found = *trace.tensors[static_cast<std::size_t>(model.outputs[i])];
      REQUIRE(found.type() == wanted.type());
      CHECK(std::ranges::equal(found.bytes(), wanted.bytes()));
    }
  }
}

}  // namespace

TEST_CASE("models on which an earlier version differed from a vendor's program") {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_directory() / "tests/vectors/cases")) {
    check_case(entry.path(), nlohmann::json::parse(test::file_text(entry.path() / "case.json")));
    ++cases;
  }
  CHECK(cases >= 10);
}

}  // namespace lastbit
