// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every recorded case below tests/vectors that a call of lastbit/core.hpp can say, through both forms of the call: every value equal. A new folder
// needs no line here.
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "analysis/verify/case.hpp"
#include "differential/core_layer.hpp"
#include "formats/file.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace lastbit {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// What went through one form of the calls.
struct Form {
  std::set<std::string> suites{};
  std::int64_t cases = 0, values = 0;
  std::map<Unsaid, std::int64_t> unsaid{};
};

bool is_equal(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.element_count() != b.element_count()) return false;
  bool equal = true;
  visit_element_type(a.type(), [&]<class T>() {
    for (std::size_t i = 0; i < a.values<T>().size(); ++i) equal = equal && identical(a.values<T>()[i], b.values<T>()[i]);
  });
  return equal;
}

/// Whether the call says the case; then every value is compared.
template <class Call>
bool compare(Form& form, const std::string& suite, const ModelCase& read, Call&& call) {
  CoreOutcome outcome;
  try {
    outcome = call();
  } catch (const Error& error) {
    FAIL_CHECK("the core refuses it: " << error.what());
    return true;
  }
  if (!outcome.tensor) {
    ++form.unsaid[outcome.why];
    return false;
  }
  const Tensor& expected = read.expected.begin()->second;
  CHECK(is_equal(*outcome.tensor, expected));
  form.suites.insert(suite);
  ++form.cases;
  form.values += expected.element_count();
  return true;
}

void print(const char* name, const Form& form) {
  std::printf("%s: %zu suites, %lld cases, %lld values\n", name, form.suites.size(), static_cast<long long>(form.cases),
              static_cast<long long>(form.values));
  for (const auto& [why, cases] : form.unsaid)
    std::printf("  %lld cases not: %s\n", static_cast<long long>(cases), std::string(text_of(why)).c_str());
}

}  // namespace

TEST_CASE("core: what was recorded of a call's operation, through both forms of it") {
  const fs::path root = source_directory() / "tests/vectors";
  Form value, constant;
  std::map<std::string, std::int64_t> without_call, without_constant;
  std::int64_t models = 0, changed = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "cases.json") continue;
    const std::string suite = fs::relative(entry.path().parent_path(), root).string();
    const Json json = parse_json(read_text_file(entry.path()), entry.path().string());
    for (const Json& one : json["cases"]) {
      const auto recorded = recorded_model(one, entry.path().parent_path());
      if (!recorded) continue;
      ++models;
      const Model& model = recorded->read.model;
      INFO(suite << ": " << one.value("name", "") << " on " << recorded->sheet.name);
      const bool said =
          compare(value, suite, recorded->read, [&] { return by_core(model, recorded->sheet.backend, recorded->read.inputs); });
      if (!said) {
        if (model.operations.size() == 1) ++without_call[std::string(name_of(model.operations[0].kind))];
      } else if (recorded->changed) {
        ++changed;  // no constant has a case's settings
      } else if (!compare(constant, suite, recorded->read,
                          [&] { return by_constant(model, recorded->sheet.name, recorded->read.inputs); })) {
        ++without_constant[recorded->sheet.name + " " + std::string(name_of(model.operations[0].kind)) + " of " +
                           std::string(name_of(model.tensor(model.operations[0].inputs[0]).type))];
      }
    }
  }
  print("by value", value);
  print("by constants", constant);
  for (const auto* left : {&without_call, &without_constant}) {
    for (const auto& [what, cases] : *left) std::printf("  %s %lld", what.c_str(), static_cast<long long>(cases));
    std::puts("");
  }
  const auto sum_of = [](const Form& form) {
    std::int64_t sum = form.cases;
    for (const auto& [why, cases] : form.unsaid) sum += cases;
    return sum;
  };
  CHECK(sum_of(value) == models);  // said and equal, or of a reason that has a name
  CHECK(sum_of(constant) + changed == value.cases);
  CHECK(value.unsaid[Unsaid::not_made] == 0);
  // What there is today, or a little less: that nothing is compared is no success.
  CHECK(value.suites.size() >= 46);
  CHECK(value.cases >= 860);
  CHECK(value.values >= 1147000);
  CHECK(constant.suites.size() >= 39);
  CHECK(constant.cases >= 635);
  CHECK(constant.values >= 669000);
}

}  // namespace lastbit
