// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The binary16 suites name their rules in each case. Cases of one primitive and one set of rules together must fail under any other value
// of any of them, but for the exceptions listed: no recorded value tells.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lastbit/rules.hpp"
#include "lastbit/verify.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

using namespace lastbit;
using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Exception {
  std::string primitive, rounding, rule, value;  ///< empty: any
  std::string reason;
};

const std::vector<Exception> exceptions{
    {"", "", "top_exponent", "", "all recorded operands are finite"},
    {"float16_add", "", "overflow", "all_ones_below_2_17", "no sum of two finite values reaches 2^17"},
    {"float16_sub", "", "overflow", "all_ones_below_2_17", "no difference of two finite values reaches 2^17"},
    {"float16_div", "", "rounding", "half_up", "ties are rare: only quotients below 2^-14 have any"},
    {"float16_div", "", "rounding", "half_toward_zero", "ties are rare: only quotients below 2^-14 have any"},
    {"float16_from_f32", "toward_zero", "overflow", "", "directed modes are recorded below 65504 only"},
    {"float16_from_f32", "floor", "overflow", "", "directed modes are recorded below 65504 only"},
    {"float16_from_f32", "ceil", "overflow", "", "directed modes are recorded below 65504 only"},
    {"float16_from_f32", "half_away", "overflow", "", "directed modes are recorded below 65504 only"},
    {"float16_from_f32", "to_odd", "overflow", "", "directed modes are recorded below 65504 only"},
};

std::vector<std::string> values_of(const std::string& rule) {
  const auto texts = [](const auto& names) { return std::vector<std::string>(names.begin(), names.end()); };
  if (rule == "rounding") return texts(names_of(Rounding{}));
  if (rule == "overflow") return texts(names_of(Float16Overflow{}));
  return rule == "top_exponent" ? texts(names_of(Float16TopExponent{})) : texts(names_of(Float16ZeroDivision{}));
}

/// The cases of all binary16 suites by primitive and rules, with absolute paths.
std::map<std::string, std::vector<Json>> cases_by_rules() {
  std::map<std::string, std::vector<Json>> groups;
  for (const auto& entry : fs::directory_iterator(test::source_directory() / "tests/vectors/ascend")) {
    if (!entry.path().filename().string().starts_with("fp16_")) continue;
    std::ifstream stream(entry.path() / "cases.json");
    const Json content = Json::parse(stream);
    for (Json one : content["cases"]) {
      for (const char* files : {"inputs", "expected"}) {
        for (auto& file : one[files]) file = (entry.path() / file.get<std::string>()).string();
      }
      groups[one["primitive"].get<std::string>() + one["parameters"].dump()].push_back(one);
    }
  }
  return groups;
}

bool noticed(std::vector<Json> cases, const std::string& rule, const std::string& value) {
  for (Json& one : cases) one["parameters"][rule] = value;
  const fs::path file =
      fs::temp_directory_path() / ("lastbit_float16_" + std::to_string(std::hash<std::string>{}(Json(cases).dump())) + ".json");
  std::ofstream(file) << Json{{"format", "lastbit.cases.v1"}, {"cases", cases}};
  VerifyOptions options;
  options.stop_after = 1;
  const VerifyReport report = verify(file, options);
  fs::remove(file);
  for (const auto& failure : report.failures) CHECK(failure.reason.empty());
  return !report.failures.empty();
}

/// The exception that speaks for a change of one rule, or its end.
auto exception_for(const Json& one, const std::string& rule, const std::string& value) {
  const auto matches = [](const std::string& pattern, const std::string& text) { return pattern.empty() || pattern == text; };
  return std::find_if(exceptions.begin(), exceptions.end(), [&](const Exception& e) {
    return matches(e.primitive, one["primitive"]) && matches(e.rounding, one["parameters"]["rounding"]) && matches(e.rule, rule) &&
           matches(e.value, value);
  });
}

}  // namespace

TEST_CASE("every recorded binary16 suite notices any other value of any of its rules") {
  std::vector<int> uses(exceptions.size(), 0);
  int changes = 0;
  for (const auto& [name, cases] : cases_by_rules()) {
    const Json parameters = cases.front()["parameters"];
    for (const auto& [rule, current] : parameters.items()) {
      for (const std::string& value : values_of(rule)) {
        if (Json(value) == current || (++changes, noticed(cases, rule, value))) continue;
        INFO(name << " does not notice " << rule << " " << value);
        const auto exception = exception_for(cases.front(), rule, value);
        CHECK(exception != exceptions.end());
        if (exception != exceptions.end()) ++uses[static_cast<std::size_t>(exception - exceptions.begin())];
      }
    }
  }
  CHECK(changes > 200);
  CHECK(std::count(uses.begin(), uses.end(), 0) == 0);
}
