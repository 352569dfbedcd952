// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The formulas of a sheet define every symbol that they use, and none that they do not.
#include "sheet/formula.hpp"

#include <algorithm>

#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/encodings.hpp"

namespace lastbit {
namespace {

using Lines = std::vector<std::string>;

/// Whether the letter stands in the text by itself.
bool mentions(const std::string& text, char symbol) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  for (std::size_t at = text.find(symbol); at != std::string::npos; at = text.find(symbol, at + 1)) {
    const bool begins = at == 0 || !is_letter(text[at - 1]), ends = at + 1 == text.size() || !is_letter(text[at + 1]);
    if (begins && ends) return true;
  }
  return false;
}

void check(const OperationFormula& formula) {
  bool uses_m = false, uses_s = false, uses_e = false, uses_pre = false;
  std::string definitions;
  for (const std::string& line : formula.lines) {
    INFO(formula.operation << ": " << line);
    CHECK(!line.empty());
    const bool is_result = line.starts_with("y = ");
    uses_m = uses_m || (is_result && mentions(line, 'M'));
    uses_e = uses_e || (is_result && mentions(line, 'e'));
    uses_s = uses_s || (is_result && line.find(") * s") != std::string::npos);
    uses_pre = uses_pre || (is_result && line.find("pre") != std::string::npos);
    const bool defines = line.find(", s = ") != std::string::npos || line.find(", e = ") != std::string::npos;
    if (!is_result || defines) definitions += line + "; ";
  }
  INFO(formula.operation << ": " << definitions);
  CHECK((!uses_m || mentions(definitions, 'M')));
  CHECK((!uses_e || mentions(definitions, 'e')));
  CHECK((!uses_s || definitions.find("s = ") != std::string::npos));
  CHECK((!uses_pre || definitions.find("pre = ") != std::string::npos));
}

std::vector<std::string> lines_of_requantize(const RescaleRule& rule) {
  Backend backend = no_rules;
  backend.requantize = rule;
  const auto all = formulas_of(backend);
  return std::ranges::find(all, "requantize", &OperationFormula::operation)->lines;
}

}  // namespace

TEST_CASE("built-in sheets, and sheets whose scales have another form, define what they mention") {
  for (const SpecSheet& sheet : builtin_backends()) {
    for (const char* const form : {"any", "power_of_two", "power_of_two_plus_one"}) {
      INFO(sheet.name << " " << form);
      Backend backend = sheet.backend;
      if (backend.domain == Domain::integer && !backend.requantize.chain.empty()) set_rule(backend, "requantize.scale.form", form);
      if (!backend.conv.i8.sum.output.chain.empty()) set_rule(backend, "conv.i8.output.scale.form", form);
      for (const OperationFormula& formula : formulas_of(backend)) check(formula);
    }
  }
}

TEST_CASE("a file that states nothing is a device without operations") {
  const SpecSheet sheet = backend_from_json(R"({"format": "lastbit.backend.v1", "name": "mine", "rules": {}})", "mine.json");
  CHECK(sheet.backend == Backend{});
  CHECK(formulas_of(sheet.backend).empty());
}

TEST_CASE("a scale that is a power of two has the multiplier 1, and a chain without a scale none") {
  ScaleEncoding shift = test::q31;
  shift.form = MultiplierForm::power_of_two;
  CHECK(lines_of_requantize({shift, {stage::multiply(), stage::shift_right(Rounding::floor), stage::clamp()}}) ==
        Lines{"2^(e-1) = in/out, M = 1, no other scale; e: -31 to 127", "y = clamp(floor((x - zero_in)*M / 2^(1-e)))"});
  CHECK(lines_of_requantize({shift, {stage::shift_right_by_exponent(Rounding::floor)}}).front() ==
        "2^(e-1) = in/out, no other scale; e: -31 to 127");
  CHECK(lines_of_requantize({{}, {stage::shift_right_by(3, Rounding::floor), stage::clamp()}}) ==
        Lines{"y = clamp(floor((x - zero_in) / 2^3))"});
  CHECK(lines_of_requantize({test::q31, {stage::multiply(), stage::shift_right_rest(7, Rounding::floor)}}).back() ==
        "y = floor((x - zero_in)*M / 2^clip(31-e,0,7))");
}

}  // namespace lastbit
