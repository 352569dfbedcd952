// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The shrunk case as a unit test: one C++ file that needs lastbit and a test framework.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analysis/backend_reference.hpp"
#include "analysis/shrink/origin.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/shrink.hpp"

namespace lastbit {
namespace {

/// A raw string of any length, whatever it holds; compilers that bound one literal take several.
std::string literal(const std::string& text) {
  std::string delimiter = "lastbit";
  for (int number = 0; text.find(")" + delimiter + "\"") != std::string::npos; ++number) delimiter = "lastbit" + std::to_string(number);
  return "R\"" + delimiter + "(" + text + ")" + delimiter + "\"";
}

/// Of names that strangers gave: nothing in it ends a line or a comment, or is a trigraph.
std::string in_one_line(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool second_mark = c == '?' && result.ends_with('?');
    const bool ends_comment = c == '/' && result.ends_with('*');
    if (second_mark || ends_comment) result += ' ';
    result += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return result;
}

/// A backslash at a line's end would make the next line part of the comment.
std::string in_comment(const std::string& text) {
  std::string plain = harmless(text);
  std::ranges::replace(plain, '\\', '/');
  return in_one_line(plain);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : in_one_line(harmless(text))) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string_view cpp_type(ElementType type) {
  switch (type) {
    case ElementType::int8: return "std::int8_t";
    case ElementType::uint8: return "std::uint8_t";
    case ElementType::int16: return "std::int16_t";
    case ElementType::uint16: return "std::uint16_t";
    case ElementType::int32: return "std::int32_t";
    case ElementType::uint32: return "std::uint32_t";
    case ElementType::int64: return "std::int64_t";
    case ElementType::float16: return "lastbit::Float16";
    case ElementType::float32: return "float";
    case ElementType::float64: return "double";
    case ElementType::boolean: break;
  }
  return "bool";
}

template <class T>
std::string value_literal(T value) {
  if constexpr (std::is_same_v<T, Float16>) return "lastbit::Float16{" + std::to_string(value.bits) + "}";
  else if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>) {
    const auto wide = static_cast<std::int64_t>(value);
    return wide == std::numeric_limits<std::int64_t>::min() ? "std::numeric_limits<std::int64_t>::min()" : std::to_string(wide);
  } else {
    const std::string type = std::is_same_v<T, float> ? "float" : "double";
    if (std::isnan(value)) return "std::numeric_limits<" + type + ">::quiet_NaN()";
    if (std::isinf(value)) return (value < 0 ? "-std::numeric_limits<" : "std::numeric_limits<") + type + ">::infinity()";
    char text[64];
    std::snprintf(text, sizeof(text), "%a", static_cast<double>(value));
    return std::string(text) + (type == "float" ? "F" : "");
  }
}

/// lastbit::Tensor::from<std::int8_t>({1, 1}, std::array<std::int8_t, 1>{5})
std::string tensor_literal(const Tensor& tensor) {
  const std::string type(cpp_type(tensor.type()));
  std::string sizes, values;
  for (const std::int64_t size : tensor.shape().sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  visit_element_type(tensor.type(), [&]<class T>() {
    for (const T value : tensor.values<T>()) values += (values.empty() ? "" : ", ") + value_literal(value);
  });
  return "lastbit::Tensor::from<" + type + ">(lastbit::Shape{" + sizes + "}, std::array<" + type + ", " +
         std::to_string(tensor.element_count()) + ">{" + values + "})";
}

std::string backend_function(const char* name, const SpecSheet& sheet) {
  const BackendReference reference = reference_to(sheet);
  std::string text = "inline lastbit::SpecSheet " + std::string(name) + "() {\n";
  if (reference.name.empty())
    return text + "  return lastbit::backend_from_json(" + literal(reference.json) + ", " + quoted(sheet.name) + ");\n}\n";
  if (reference.settings.empty()) return text + "  return lastbit::find_backend(" + quoted(reference.name) + ");\n}\n";
  text += "  lastbit::SpecSheet sheet = lastbit::find_backend(" + quoted(reference.name) + ");\n";
  for (const RuleText& rule : reference.settings)
    text += "  lastbit::set_rule(sheet.backend, " + quoted(rule.path) + ", " + quoted(rule.value) + ");\n";
  return text + "  return sheet;\n}\n";
}

std::string title_of(const ShrunkCase& shrunk) { return shrunk.a.name + " and " + shrunk.b.name + " part in " + origin_of(shrunk); }

std::string headers(TestFramework framework) {
  const std::string catch2 =
      "#if __has_include(<catch2/catch_test_macros.hpp>)\n#include <catch2/catch_test_macros.hpp>\n"
      "#include <catch2/matchers/catch_matchers_all.hpp>\n#else\n#include <catch2/catch.hpp>\n#endif\n";
  return (framework == TestFramework::catch2 ? catch2 : "#include <gtest/gtest.h>\n") +
         "\n#include <array>\n#include <cstdint>\n#include <limits>\n#include <vector>\n\n#include \"lastbit/emulator.hpp\"\n"
         "#include \"lastbit/io/json_model.hpp\"\n#include \"lastbit/registry.hpp\"\n#include \"lastbit/rules.hpp\"\n#include "
         "\"lastbit/testing.hpp\"\n";
}

std::string functions(const ShrunkCase& shrunk) {
  std::string inputs;
  for (const Tensor& input : shrunk.inputs) inputs += (inputs.empty() ? "" : ", ") + tensor_literal(input);
  return "inline lastbit::Model layer() {\n  return lastbit::parse_json_model(" + literal(json_model_text(shrunk.model)) +
         ", \".\", \"layer\");\n}\n\n" + "inline std::vector<lastbit::Tensor> inputs() { return {" + inputs + "}; }\n\n" +
         backend_function("a", shrunk.a) + "\n" + backend_function("b", shrunk.b) + R"(
inline lastbit::Tensor computed(const lastbit::SpecSheet& sheet) {
  const lastbit::Model model = layer();
  return *lastbit::run(model, sheet.backend, inputs()).tensors[static_cast<std::size_t>(model.outputs[0])];
}

/// What a failure needs in order to say why.
inline lastbit::testing::Computation how() { return {.model = layer(), .inputs = inputs(), .a = a(), .b = b()}; }
)";
}

std::string assertion(TestFramework framework, const char* side, const Tensor& expected) {
  const std::string actual = "computed(" + std::string(side) + "())";
  const std::string matcher = "lastbit::testing::exactly_equal_to(" + tensor_literal(expected) + ").explained(how())";
  if (framework == TestFramework::catch2) return "  CHECK_THAT(" + actual + ", " + matcher + ");\n";
  return "  EXPECT_TRUE(lastbit::testing::judge(" + actual + ", " + matcher + "));\n";
}

}  // namespace

std::string to_test(const ShrunkCase& shrunk, TestFramework framework) {
  const auto [of_a, of_b] = identifiers_of(shrunk.a, shrunk.b);
  const std::string title = title_of(shrunk);
  const std::string name = identifier_of(shrunk.network) + "_operation_" + std::to_string(shrunk.operation) + "_" +
                           std::to_string(shrunk.sample) + "_" + std::to_string(shrunk.position) + "_" + of_a + "_" + of_b;
  std::string text = "// lastbit: " + in_comment(title) + ".\n// Cause: " + in_comment(shrunk.cause.text()) + ".\n" + headers(framework) +
                     "\nnamespace shrunk_" + name + " {\n\n" + functions(shrunk) + "\n";
  text += framework == TestFramework::catch2 ? "TEST_CASE(" + quoted(title) + ") {\n" : "TEST(Shrunk, " + name + ") {\n";
  return text + assertion(framework, "a", shrunk.of_a) + assertion(framework, "b", shrunk.of_b) + "}\n\n}  // namespace shrunk_" + name +
         "\n";
}

}  // namespace lastbit
