// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/junit.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

/// For an attribute in double quotes. Two characters that UTF-8 can say and XML cannot are left to this.
std::string escaped(std::string_view text) {
  std::string xml = harmless(text);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> replaced{{{"&", "&amp;"},
                                                                                   {"<", "&lt;"},
                                                                                   {">", "&gt;"},
                                                                                   {"\"", "&quot;"},
                                                                                   {"\n", "&#10;"},
                                                                                   {"\t", "&#9;"},
                                                                                   {"\xEF\xBF\xBE", "\\ufffe"},
                                                                                   {"\xEF\xBF\xBF", "\\uffff"}}};
  for (const auto& [from, to] : replaced) replace_all(xml, from, to);
  return xml;
}

}  // namespace

std::string junit_text(std::string_view suite, std::span<const JunitCase> cases) {
  const auto failures = std::ranges::count_if(cases, [](const JunitCase& one) { return !one.failure.empty(); });
  const std::string counts = " tests=\"" + std::to_string(cases.size()) + "\" failures=\"" + std::to_string(failures) + "\" errors=\"0\"";
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts + ">\n<testsuite name=\"" + escaped(suite) + "\"" +
                     counts + " skipped=\"0\">\n";
  for (const JunitCase& one : cases) {
    text += "<testcase classname=\"" + escaped(one.group) + "\" name=\"" + escaped(one.name) + "\"";
    text += one.failure.empty() ? "/>\n" : "><failure message=\"" + escaped(one.failure) + "\"/></testcase>\n";
  }
  return text + "</testsuite>\n</testsuites>\n";
}

}  // namespace lastbit
