// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The table of rules is complete: what a Backend holds, it names, and once.
#include "sheet/rule_table.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "lastbit/ratio_text.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_enumerations.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

TEST_CASE("a ratio is written with what is below its line in parentheses") {
  const Ratio ratio{.over = {Quantity::in, Quantity::weight}, .under = {Quantity::larger_in, Quantity::out}, .exponent = -3};
  CHECK(text_of(ratio) == "in*weight/(larger_in*out)*2^-3");
  CHECK(ratio_from(text_of(ratio)) == ratio);
}

/// How often each byte of a Backend belongs to a rule.
std::vector<int> covered_bytes() {
  std::vector<int> bytes(sizeof(Backend), 0);
  for (const Rule& rule : rule_table()) {
    if (!rule.type->is_leaf()) continue;
    for (std::size_t i = 0; i < rule.type->size; ++i) ++bytes.at(rule.offset + i);
  }
  return bytes;
}

/// In its lowest bit: what was a bool stays one.
Backend with_byte_flipped(const Backend& backend, std::size_t at) {
  Backend changed = backend;
  unsigned char byte = 0;
  std::memcpy(&byte, reinterpret_cast<const char*>(&changed) + at, 1);
  byte = static_cast<unsigned char>(byte ^ 1U);
  std::memcpy(reinterpret_cast<char*>(&changed) + at, &byte, 1);
  return changed;
}

}  // namespace

TEST_CASE("every byte that decides whether two backends are equal belongs to one rule, or to elsewhere; the others are padding") {
  const Backend backend{};
  std::vector<int> bytes = covered_bytes();
  const auto elsewhere =
      static_cast<std::size_t>(reinterpret_cast<const char*>(&backend.elsewhere) - reinterpret_cast<const char*>(&backend));
  for (std::size_t i = 0; i < sizeof(backend.elsewhere); ++i) ++bytes[elsewhere + i];
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    INFO("byte " << at);
    REQUIRE(bytes[at] <= 1);
    REQUIRE((with_byte_flipped(backend, at) == backend) == (bytes[at] == 0));
  }
}

TEST_CASE("every rule has a path of its own, says what it means, and a number what it may be") {
  std::set<std::string> paths;
  for (const Rule& rule : rule_table()) {
    INFO(rule.path);
    CHECK(paths.insert(rule.path).second);
    if (rule.member == nullptr) continue;
    CHECK(!rule.member->meaning.empty());
    if (rule.type->kind != RuleType::Kind::number) continue;
    const RuleLimits limits = limits_of(*rule.member, rule_table()[rule.owner].type->fresh);
    CHECK(limits.min < limits.max);
  }
  CHECK(paths.size() > 4000);
}

TEST_CASE("what nothing reads any longer is found by looking where two backends differ") {
  std::size_t found = 0;
  for (const SpecSheet& before : builtin_backends()) {
    const std::vector<const Rule*> unread_before = unread(before.backend);
    for (const SpecSheet& after : builtin_backends()) {
      INFO(before.name << " to " << after.name);
      std::vector<const Rule*> expected = unread(after.backend);
      std::erase_if(expected, [&](const Rule* rule) { return std::ranges::binary_search(unread_before, rule); });
      REQUIRE(newly_unread(after.backend, before.backend) == expected);
      found += expected.size();
    }
  }
  CHECK(found > 1000);
}

TEST_CASE("every value means something") {
  for (const Rule& rule : rule_table()) {
    INFO(rule.path);
    CHECK(rule.type->meanings.size() == rule.type->names.size());
    CHECK(std::ranges::count(rule.type->meanings, "") == 0);
  }
}

TEST_CASE("every enumeration of rules is listed once, with its values and their meanings") {
  std::set<std::string> names;
  for (const RuleEnumeration& one : rule_enumerations()) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    CHECK((!one.values.empty() && one.values.size() == one.meanings.size()));
  }
  for (const Rule& rule : rule_table()) {
    if (rule.type->kind != RuleType::Kind::enumeration) continue;
    INFO(rule.path);
    CHECK(std::ranges::any_of(rule_enumerations(),
                              [&](const RuleEnumeration& one) { return std::ranges::equal(one.values, rule.type->names); }));
  }
}

TEST_CASE("docs/rules.md is what `lastbit describe --rules` prints") {
  std::ifstream file(LASTBIT_SOURCE_DIR "/docs/rules.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK((page == rules_page()));  // if not: lastbit describe --rules > docs/rules.md
}

TEST_CASE("the rules below a path are copied, and no others") {
  for (const SpecSheet& from : builtin_backends()) {
    INFO(from.name);
    Backend to = find_backend("tflite_double").backend;
    copy_rules(to, from.backend, "conv.i8.output");
    copy_rules(to, from.backend, "mean");
    Backend expected = find_backend("tflite_double").backend;
    expected.conv.i8.sum.output = from.backend.conv.i8.sum.output;
    expected.mean = from.backend.mean;
    CHECK(to == expected);
    copy_rules(to, from.backend, "mean.colour");
    CHECK(to == expected);
  }
}

TEST_CASE("a structure is found by path and type") {
  const Backend backend = find_backend("vipnano_v8").backend;
  CHECK(structure_at<RescaleRule>(backend, "conv.i8.output") == &backend.conv.i8.sum.output);
  CHECK(structure_at<Stage>(backend, "conv.i8.output.chain.0") == &backend.conv.i8.sum.output.chain.stages[0]);
  CHECK(structure_at<Chain>(backend, "conv.i8.output") == nullptr);
  CHECK(find_rule(backend, "conv.i8.output.chain.7") == nullptr);       // a chain of fewer stages
  CHECK(find_rule(backend, "conv.i8.output.chain.3.bits") == nullptr);  // a stage that reads no bits
  CHECK(find_rule(backend, "") == nullptr);
  CHECK(find_rule(backend, "con") == nullptr);
}

}  // namespace lastbit
