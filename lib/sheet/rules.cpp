// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/rules.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "lastbit/error.hpp"
#include "sheet/rule_tree.hpp"

namespace lastbit {
namespace {

struct Limits {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

// The values a numeric rule may take.
constexpr Limits limits_of(const AccumulatorRule&, std::string_view) { return {2, 64}; }
constexpr Limits limits_of(const TermsByGroup&, std::string_view) { return {0, std::int64_t{1} << 30}; }
constexpr Limits limits_of(const PartialSums&, std::string_view) { return {0, 64}; }
constexpr Limits limits_of(const SumPoolArithmetic&, std::string_view) { return {2, 64}; }
constexpr Limits limits_of(const ScaleEncoding&, std::string_view name) {
  return name == "significant_bits" ? Limits{1, 32} : Limits{-2000, 2000};
}
constexpr Limits limits_of(const Stage& stage, std::string_view name) {
  if (name == "constant" || name == "limit") return {0, 62};
  return stage.kind == StageKind::multiply ? Limits{0, 32} : Limits{2, 64};
}
constexpr Limits limits_of(const Chain&, std::string_view) { return {0, max_stages}; }
constexpr Limits limits_of(const ConvArithmetic&, std::string_view) { return {0, 64}; }
constexpr Limits limits_of(const AveragePoolArithmetic&, std::string_view name) {
  if (name == "sum_shift") return {0, 15};
  return name == "reciprocal_shift" ? Limits{1, 24} : Limits{2, 32};
}
constexpr Limits limits_of(const ResizeArithmetic&, std::string_view) { return {1, 20}; }
constexpr Limits limits_of(const AddArithmetic&, std::string_view name) { return name == "weight_bits" ? Limits{0, 24} : Limits{0, 30}; }

constexpr Limits limits_of(const SumRule&, std::string_view) { return {2, 64}; }
constexpr Limits limits_of(const Float16Dequantize&, std::string_view) { return {1, 24}; }

[[noreturn]] void reject(std::string_view path, std::string_view value, const std::string& allowed) {
  throw Error(ErrorCode::unknown_rule, std::string(path), "'" + std::string(value) + "' is not one of: " + allowed);
}

template <NamedEnum E>
void assign(const std::string& path, const auto&, std::string_view, E& member, std::string_view text) {
  if (const auto value = enumerator_from<E>(text)) {
    member = *value;
    return;
  }
  std::string allowed;
  for (const std::string_view name : names_of(E{})) allowed += (allowed.empty() ? "" : ", ") + std::string(name);
  reject(path, text, allowed);
}

template <std::integral Integer>
void assign(const std::string& path, const auto& owner, std::string_view name, Integer& member, std::string_view text) {
  const Limits limits = limits_of(owner, name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < limits.min || value > limits.max) {
    reject(path, text, "integers from " + std::to_string(limits.min) + " to " + std::to_string(limits.max));
  }
  member = static_cast<Integer>(value);
}

/// The stage with every member its kind does not read at its default, so that equal arithmetic compares equal.
Stage tidied(Stage stage) {
  const Stage original = stage, defaults;
  const auto reads = [&original](const void* sought) {
    bool found = false;
    each_rule(original, [&](std::string_view, const auto& member) { found = found || &member == sought; });
    return found;
  };
  if (!reads(&original.rounding)) stage.rounding = defaults.rounding;
  if (!reads(&original.overflow)) stage.overflow = defaults.overflow;
  if (!reads(&original.bits)) stage.bits = defaults.bits;
  if (!reads(&original.amount)) stage.amount = defaults.amount;
  if (!reads(&original.constant)) stage.constant = defaults.constant;
  if (!reads(&original.limit)) stage.limit = defaults.limit;
  if (!reads(&original.arithmetic)) stage.arithmetic = defaults.arithmetic;
  return stage;
}

void tidy(Chain& chain) {
  for (std::size_t i = 0; i < max_stages; ++i) chain.stages[i] = i < chain.size ? tidied(chain.stages[i]) : Stage{};
}

void tidy(auto& node) {
  each_rule(node, [&](std::string_view, auto& member) {
    if constexpr (std::is_class_v<std::remove_reference_t<decltype(member)>>) tidy(member);
  });
}

void check(const std::string& path, const AccumulatorRule& rule) {
  const auto require_terms = [](const std::string& where, const TermsByGroup& table, const std::string& why) {
    each_rule(table, [&](std::string_view group, std::uint32_t terms) {
      if (terms == 0) reject(join_path(where, group), "0", "integers from 1 (" + why + ")");
    });
  };
  if (rule.when == NarrowingPoint::every_tile) require_terms(path + ".tile", rule.tile, "narrowing at every_tile");
  if (has_partial_sums(rule)) require_terms(path + ".partial.terms", rule.partial.terms, "partial sums");
}

/// No intermediate value of a chain may need more than 96 bits: what the layer's exponent adds must still fit 128.
void check(const std::string& path, const RescaleRule& rule) {
  constexpr int widest = 96;
  int bits = 64;
  for (std::size_t i = 0; i < rule.chain.size; ++i) {
    const Stage& stage = rule.chain.stages[i];
    const std::string where = path + ".chain." + std::to_string(i);
    each_rule(stage, [&](std::string_view name, const auto&) {
      if (name == "bits" && stage.bits < limits_of(stage, name).min)
        reject(where + ".bits", "0", "integers from 2 to 64 (state the whole stage)");
    });
    const int multiplier_bits = stage.bits == 0 ? rule.scale.significant_bits : std::min(stage.bits, rule.scale.significant_bits);
    switch (stage.kind) {
      case StageKind::multiply: bits += multiplier_bits; break;
      case StageKind::doubling_high_multiply:
      case StageKind::two_term_shift: bits += rule.scale.significant_bits; break;
      case StageKind::shift_left: bits += bits > 64 ? widest : 0; break;
      default: break;
    }
    if (bits > widest) {
      throw Error(
          ErrorCode::unknown_rule, where,
          "the value may need " + std::to_string(bits) + " bits, at most " + std::to_string(widest) + " are allowed; narrow it first");
    }
    const bool settles = stage.kind != StageKind::multiply && !shifts_right(stage.kind) && stage.kind != StageKind::relu &&
                         stage.kind != StageKind::add_zero_point && stage.kind != StageKind::clip;
    if (settles) bits = 64;
  }
}

void check(const std::string& path, const auto& node) {
  each_rule(node, [&](std::string_view name, const auto& member) {
    if constexpr (RuleStructure<std::remove_reference_t<decltype(member)>>) check(join_path(path, name), member);
  });
}

bool matches_component(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, resume_text = 0;
  std::size_t star = std::string_view::npos;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string_view take_component(std::string_view& path) {
  const std::size_t length = std::min(path.find('.'), path.size());
  const std::string_view component = path.substr(0, length);
  path.remove_prefix(std::min(length + 1, path.size()));
  return component;
}

bool matches(std::string_view pattern, std::string_view path) {
  return !pattern.empty() && std::ranges::count(pattern, '.') == std::ranges::count(path, '.') && covers(pattern, path);
}

std::vector<std::string> every_path(const Backend& backend) {
  std::vector<std::string> paths;
  auto collect = [&](const std::string& path, const auto&, std::string_view, const auto&) { paths.push_back(path); };
  walk_rules<Reach::every>(backend, "", collect);
  return paths;
}

/// For a message: what may follow the longest beginning of `path` that exists.
std::string continuations(const Backend& backend, std::string_view path) {
  const std::vector<std::string> rules = every_path(backend);
  while (true) {
    std::vector<std::string_view> names;
    for (const std::string_view rule : rules) {
      if (!path.empty() && !(rule.starts_with(path) && rule.substr(path.size()).starts_with('.'))) continue;
      std::string_view rest = rule.substr(path.empty() ? 0 : path.size() + 1);
      const std::string_view name = take_component(rest);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    std::string text = path.empty() ? "rules begin with" : "after '" + std::string(path) + "' may come";
    for (const std::string_view name : names) text += (name == names.front() ? " " : ", ") + std::string(name);
    if (!names.empty()) return text;
    path = path.substr(0, path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.'));
  }
}

bool is_covered(const std::vector<std::string>& patterns, std::string_view path) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return covers(pattern, path); });
}

/// A rule that only one backend reads; not listed if the other lacks the whole operation.
void add_one_sided(std::vector<RuleDifference>& list, const RuleDifference& difference, const std::vector<std::string>& absent) {
  if (!is_covered(absent, difference.path)) list.push_back(difference);
}

}  // namespace

std::vector<RuleText> list_rules(const Backend& backend) {
  std::vector<RuleText> rules;
  auto collect = [&](const std::string& path, const auto&, std::string_view, const auto& member) {
    rules.push_back({path, rule_text(member)});
  };
  walk_rules<Reach::read>(backend, "", collect);
  return rules;
}

void replace_rule(Backend& backend, std::string_view pattern, std::string_view value) {
  std::size_t replaced = 0;
  auto replace = [&](const std::string& path, const auto& owner, std::string_view name, auto& member) {
    if (!matches(pattern, path)) return;
    assign(path, owner, name, member, value);
    ++replaced;
  };
  if (pattern.find('*') == std::string_view::npos) {
    walk_rules<Reach::every>(backend, "", replace);
  } else {
    walk_rules<Reach::existing>(backend, "", replace);
  }
  if (replaced == 0) {
    throw Error(ErrorCode::unknown_rule, std::string(pattern.substr(0, 100)), "no such rule; " + continuations(backend, pattern));
  }
  tidy(backend);
}

void set_rule(Backend& backend, std::string_view path, std::string_view value) {
  Backend changed = backend;
  replace_rule(changed, path, value);
  check_widths(changed);
  backend = changed;
}

std::vector<std::string> absent_operations(const Backend& backend) {
  std::vector<std::string> absent;
  each_rule(backend, [&](std::string_view name, const auto& member) {
    if (!is_present(member)) {
      absent.emplace_back(name);
      return;
    }
    if constexpr (ConstOr<std::remove_reference_t<decltype(member)>, ConvByType>) {
      each_rule(member, [&](std::string_view type, const auto& conv) {
        if (!is_present(conv)) absent.push_back(join_path(name, type));
      });
    }
  });
  return absent;
}

void check_widths(const Backend& backend) { check("", backend); }

/// Both lists follow the order of each_rule, so that they are merged like sorted lists.
std::vector<RuleDifference> diff_backends(const Backend& a, const Backend& b) {
  const std::vector<RuleText> rules_a = list_rules(a), rules_b = list_rules(b);
  const auto absent_a = absent_operations(a), absent_b = absent_operations(b);
  std::set<std::string_view> paths_b;
  for (const RuleText& rule : rules_b) paths_b.insert(rule.path);
  std::vector<RuleDifference> differences;
  auto in_b = rules_b.begin();
  for (const auto& [path, value] : rules_a) {
    if (!paths_b.contains(path)) {
      add_one_sided(differences, {path, value, ""}, absent_b);
      continue;
    }
    for (; in_b->path != path; ++in_b) add_one_sided(differences, {in_b->path, "", in_b->value}, absent_a);
    if (in_b->value != value) differences.push_back({path, value, in_b->value});
    ++in_b;
  }
  for (; in_b != rules_b.end(); ++in_b) add_one_sided(differences, {in_b->path, "", in_b->value}, absent_a);
  return differences;
}

bool covers(std::string_view pattern, std::string_view path) {
  while (!pattern.empty()) {
    if (path.empty() || !matches_component(take_component(pattern), take_component(path))) return false;
  }
  return true;
}

const Evidence* evidence_for(const SpecSheet& sheet, std::string_view path) {
  const Evidence* best = nullptr;
  const auto length = [](const Evidence& entry) { return std::pair(std::ranges::count(entry.rule, '.'), entry.rule.size()); };
  for (const Evidence& entry : sheet.evidence) {
    if (covers(entry.rule, path) && (best == nullptr || length(entry) > length(*best))) best = &entry;
  }
  return best;
}

}  // namespace lastbit
