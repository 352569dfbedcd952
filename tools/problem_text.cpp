// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

#include "problem.hpp"

namespace lastbit::tool {
namespace {

constexpr std::size_t line_limit = 200;
constexpr std::size_t most_alike = 3;  ///< layers with a line each; of more only so many are named

bool is_of_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80) != 0; }

/// Where the name ends that begins with a quotation mark at `at`; `at` where none does, as of an apostrophe.
std::size_t end_of_name(const std::string& text, std::size_t at) {
  if (text[at] != '\'' || (at > 0 && is_of_a_word(text[at - 1]))) return at;
  for (std::size_t end = text.find('\'', at + 1); end != std::string::npos; end = text.find('\'', end + 1))
    if (end + 1 == text.size() || !is_of_a_word(text[end + 1])) return end;
  return at;
}

/// The spaces outside of names.
std::vector<std::size_t> spaces_of(const std::string& text) {
  std::vector<std::size_t> spaces;
  for (std::size_t at = 0; at < text.size(); ++at) {
    at = end_of_name(text, at);
    if (text[at] == ' ') spaces.push_back(at);
  }
  return spaces;
}

/// `begin` and the text, on as many lines as it takes, each with a line feed; those behind the first are indented two columns more.
std::string lines_of(const std::string& begin, std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
  const std::string indent(begin.find_first_not_of(' ') == std::string::npos ? begin.size() + 2 : 2, ' ');
  std::string lines, line = begin;
  std::vector<std::size_t> ends = spaces_of(text);
  ends.push_back(text.size());
  std::size_t from = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t next = ends[std::min(i + 1, ends.size() - 1)];
    if (i + 1 < ends.size() && line.size() + next - from <= line_limit) continue;
    lines += line + text.substr(from, ends[i] - from) + "\n";
    line = indent;
    from = ends[i] + 1;
  }
  return lines;
}

/// Names do not count.
std::string without_names(const std::string& text) {
  std::string rest;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = end_of_name(text, at);
    if (end == at) rest += text[at];
    at = end;
  }
  return rest;
}

/// Problems of layers of one kind for one reason.
struct Group {
  std::string kind;  ///< "tflite_double: conv2d"; empty: one problem
  std::string reason;
  std::vector<const Diagnostic*> problems;
};

std::string name_in(const Diagnostic& problem) { return problem.where.substr(problem.where.find(" '") + 1); }

std::vector<Group> groups_of(const std::vector<Diagnostic>& problems) {
  std::vector<Group> groups;
  for (const Diagnostic& each : problems) {
    const std::size_t name = each.where.find(" '");
    const std::string kind = name == std::string::npos ? "" : each.where.substr(0, name), reason = without_names(each.message);
    const auto known =
        std::ranges::find_if(groups, [&](const Group& group) { return !kind.empty() && group.kind == kind && group.reason == reason; });
    if (known == groups.end()) groups.push_back({kind, reason, {&each}});
    else known->problems.push_back(&each);
  }
  return groups;
}

/// "tflite_double: conv2d 'a', 'b', 'c' and 93 more: what is said of the first"
std::string text_of(const Group& group) {
  std::string names;
  for (std::size_t i = 0; i < most_alike; ++i) names += (i == 0 ? " " : ", ") + name_in(*group.problems[i]);
  return group.kind + names + " and " + std::to_string(group.problems.size() - most_alike) + " more: " + group.problems[0]->message;
}

/// Each problem, in order; what many share, where it is met first.
std::vector<std::string> all_texts(const std::vector<Diagnostic>& problems) {
  const std::vector<Group> groups = groups_of(problems);
  std::vector<std::string> texts;
  for (const Diagnostic& each : problems) {
    const auto group =
        std::ranges::find_if(groups, [&](const Group& one) { return std::ranges::find(one.problems, &each) != one.problems.end(); });
    const bool are_many = group->problems.size() > most_alike + 1;
    if (!are_many) texts.push_back(each.text());
    else if (group->problems[0] == &each) texts.push_back(text_of(*group));
  }
  return texts;
}

}  // namespace

std::string problem_text(const Problems& problems) {
  const std::string hint = problems.hint.empty() ? "" : "; " + problems.hint;
  const std::vector<Diagnostic>& all = problems.all;
  if (all.size() == 1) return lines_of("lastbit: ", all[0].text() + hint);
  const std::string& shared = all.front().where;
  const bool alike = !shared.empty() && std::ranges::all_of(all, [&](const Diagnostic& each) { return each.where == shared; });
  std::string text = lines_of("lastbit: ", (alike ? shared + ": " : "") + std::to_string(all.size()) + " problems");
  std::vector<std::string> texts;
  if (!alike) texts = all_texts(all);
  else std::ranges::transform(all, std::back_inserter(texts), &Diagnostic::message);
  texts.back() += hint;
  for (const std::string& each : texts) text += lines_of("  ", each);
  return text;
}

}  // namespace lastbit::tool
