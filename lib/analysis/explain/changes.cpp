// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/changes.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "analysis/explain/decisions.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/ratio_text.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// The paths of every scale with its chain.
std::vector<std::string> paths_of_rescale_rules() {
  std::vector<std::string> paths;
  for (const auto* rules : {&rules_of<RescaleRule>(), &rules_of<FixedPointInput>()})
    for (const Rule* rule : *rules) paths.push_back(rule->path);
  return paths;
}

/// "24 -> 15"; a rule that stands on one side only: "none -> 15".
std::string both_sides(const RuleDifference& difference) {
  const auto side = [](const std::string& value) { return value.empty() ? "none" : value; };
  return side(difference.a) + " -> " + side(difference.b);
}

/// What holds the rule: "conv.i8.accumulator" of "conv.i8.accumulator.bits".
std::string owner_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

bool same_form(const Chain& a, const Chain& b) {
  const auto alike = [](const Stage& x, const Stage& y) { return x.kind == y.kind && x.amount == y.amount; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), alike);
}

/// The only rule at or below the path that both backends have and that differs, if there is just one. (Another stage can make rules read
/// that were not, or not read that were: they come along.)
const RuleDifference* single_difference(const std::vector<RuleDifference>& differences, const std::string& path) {
  const RuleDifference* single = nullptr;
  for (const RuleDifference& each : differences) {
    if (!covers(path, each.path) || each.a.empty() || each.b.empty()) continue;
    if (single != nullptr) return nullptr;
    single = &each;
  }
  return single;
}

std::string text_of(std::optional<Rounding> rounding) { return rounding ? std::string(name_of(*rounding)) : "none"; }

/// What the device's register holds of the multiplier, as text: "24 bits, floor".
std::string width_text(const RescaleDecisions& decisions) {
  const ScaleEncoding& scale = decisions.scale;
  if (scale.significant_bits == 0) return {};  // of a product in float on both sides
  std::string text = std::to_string(scale.significant_bits) + " bits, " + std::string(name_of(scale.rounding));
  if (decisions.multiplier_bits > 0 && decisions.multiplier_bits < scale.significant_bits) {
    text += ", narrowed to " + std::to_string(decisions.multiplier_bits) + ", " + std::string(name_of(decisions.narrowing));
  }
  return text;
}

void copy_width(RescaleDecisions& to, const RescaleDecisions& from) {
  const ScaleArithmetic arithmetic = to.scale.arithmetic;
  to.scale = from.scale;
  to.scale.arithmetic = arithmetic;
  to.multiplier_bits = from.multiplier_bits;
  to.narrowing = from.narrowing;
}

/// A product in float has no register for its multiplier: of a float32 scale 24 bits are left, of a double as many as the other encodes.
RescaleDecisions with_width_of(RescaleDecisions in_float, const RescaleDecisions& other) {
  copy_width(in_float, other);
  in_float.multiplier_bits = 0;
  if (is_in_double(in_float.scale.arithmetic)) return in_float;
  in_float.scale.significant_bits = 24;
  in_float.scale.rounding = Rounding::half_even;
  return in_float;
}

/// One decision: its name, its text, and how to copy it.
struct Decision {
  std::string_view name;
  std::string_view rule;  ///< below the RescaleRule
  std::string (*text)(const RescaleDecisions&);
  void (*copy)(RescaleDecisions&, const RescaleDecisions&);
};

constexpr std::array every_decision{
    Decision{"rectifier", "chain",
             [](const RescaleDecisions& d) { return std::string(d.rectified_first ? "before the multiplier" : "by the clamp"); },
             [](RescaleDecisions& to, const RescaleDecisions& from) { to.rectified_first = from.rectified_first; }},
    Decision{"effective scale", "by", [](const RescaleDecisions& d) { return text_of(d.by); },
             [](RescaleDecisions& to, const RescaleDecisions& from) { to.by = from.by; }},
    Decision{"scale arithmetic", "scale.arithmetic", [](const RescaleDecisions& d) { return std::string(name_of(d.scale.arithmetic)); },
             [](RescaleDecisions& to, const RescaleDecisions& from) { to.scale.arithmetic = from.scale.arithmetic; }},
    // Before the width, which a product in float does not have.
    Decision{"float scale", "chain",
             [](const RescaleDecisions& d) { return std::string(d.in_float ? "float product" : "integer product"); },
             [](RescaleDecisions& to, const RescaleDecisions& from) { to.in_float = from.in_float; }},
    Decision{"multiplier width", "scale.significant_bits", width_text, copy_width},
    Decision{"first rounding", "chain", [](const RescaleDecisions& d) { return text_of(d.first_rounding); },
             [](RescaleDecisions& to, const RescaleDecisions& from) { to.first_rounding = from.first_rounding; }},
    Decision{"last rounding", "chain", [](const RescaleDecisions& d) { return text_of(d.last_rounding); },
             [](RescaleDecisions& to, const RescaleDecisions& from) { to.last_rounding = from.last_rounding; }},
};

/// The ways to the output as decisions, if both can be taken apart.
bool add_decisions(Substitution& result, const Backend& b, const std::string& path) {
  RescaleRule& start = *structure_at<RescaleRule>(result.start, path);
  auto of_a = decisions_of(start), of_b = decisions_of(*structure_at<RescaleRule>(b, path));
  if (!of_a || !of_b) return false;
  if (of_a->in_float && !of_b->in_float) of_a = with_width_of(*of_a, *of_b);
  if (of_b->in_float && !of_a->in_float) copy_width(*of_b, *of_a);
  start = rescale_from(*of_a);
  for (const Decision& decision : every_decision) {
    const std::string from = decision.text(*of_a), to = decision.text(*of_b);
    if (from == to) continue;
    result.changes.push_back({{std::string(decision.name), from + " -> " + to, {join_path(path, decision.rule)}}, [=](Backend& backend) {
                                RescaleRule& rule = *structure_at<RescaleRule>(backend, path);
                                RescaleDecisions current = *decisions_of(rule);
                                decision.copy(current, *of_b);
                                rule = rescale_from(current);
                              }});
  }
  return true;
}

class Collector {
 public:
  Collector(const Backend& a, const Backend& b, std::string prefix, ChainView view) : b_(b), prefix_(std::move(prefix)), view_(view) {
    result_.start = a;
  }

  Substitution collect() {
    differences_ = diff_backends(result_.start, b_);
    std::erase_if(differences_, [&](const RuleDifference& difference) { return !covers(prefix_, difference.path); });
    find_what_comes_along();
    const std::vector<std::string> rescale_rules = paths_of_rescale_rules();
    std::string handled;
    for (const RuleDifference& difference : differences_) {
      const bool done = (!handled.empty() && covers(handled, difference.path)) || comes_along(difference.path);
      if (!done) handled = add(difference, rescale_rules);
    }
    return std::move(result_);
  }

 private:
  /// A rule that makes others read, or not read: `when` the lengths of tiles, `partial.method` the size of partial sums, `bias_bits` the
  /// bias's rounding. Those others stand on one side only and are no change of their own.
  void find_what_comes_along() {
    const auto is_one_sided = [](const RuleDifference& difference) { return difference.a.empty() || difference.b.empty(); };
    if (std::ranges::none_of(differences_, is_one_sided)) return;
    for (const bool both : {true, false}) {
      for (const RuleDifference& first : differences_) {
        if (is_one_sided(first) == both || comes_along(first.path)) continue;
        Backend changed = result_.start;
        copy_rules(changed, b_, first.path);
        const std::vector<RuleDifference> left = diff_backends(changed, b_);
        for (const RuleDifference& other : differences_) {
          const bool is_beside = other.path != first.path && covers(owner_of(first.path), other.path);
          if (!is_beside || !is_one_sided(other) || comes_along(other.path)) continue;
          const bool stays = std::ranges::any_of(left, [&](const auto& each) { return each.path == other.path && is_one_sided(each); });
          if (!stays) brought_[first.path].push_back(other.path);
        }
      }
    }
  }

  [[nodiscard]] bool comes_along(const std::string& path) const {
    return std::ranges::any_of(brought_, [&](const auto& entry) { return std::ranges::count(entry.second, path) > 0; });
  }

  /// Adds the change that the difference belongs to; returns the path below which everything is covered by it.
  std::string add(const RuleDifference& difference, const std::vector<std::string>& rescale_rules) {
    const auto inside = [&](const std::string& path) { return covers(path, difference.path); };
    const auto found = std::find_if(rescale_rules.begin(), rescale_rules.end(), inside);
    if (found == rescale_rules.end()) {
      const bool is_method = difference.path.ends_with(".method") && structure_at<PartialSums>(b_, owner_of(difference.path)) == nullptr;
      if (!is_method) return add_rule(difference);
      if (const RuleDifference* const single = single_difference(differences_, prefix_)) return add_with_what_it_brings(*single, prefix_);
      return add_structure(prefix_, "method", both_sides(difference) + ", with all their rules");
    }
    if (const RuleDifference* const single = single_difference(differences_, *found)) return add_with_what_it_brings(*single, *found);
    if (structure_at<FixedPointInput>(b_, *found) != nullptr) return add_structure(*found, "way into the function", "all of " + *found);
    const Chain& of_a = structure_at<RescaleRule>(result_.start, *found)->chain;
    const Chain& of_b = structure_at<RescaleRule>(b_, *found)->chain;
    if (same_form(of_a, of_b)) return add_rule(difference);
    if (view_ == ChainView::decisions && add_decisions(result_, b_, *found)) return *found;
    return add_structure(*found, found->ends_with(".operand") ? "way of an operand" : "way to the output", "all of " + *found);
  }

  std::string add_rule(const RuleDifference& difference) {
    std::vector<std::string> paths{difference.path};
    if (const auto brought = brought_.find(difference.path); brought != brought_.end())
      paths.insert(paths.end(), brought->second.begin(), brought->second.end());
    const auto apply = [paths, b = b_](Backend& backend) {
      for (const std::string& path : paths) copy_rules(backend, b, path);
    };
    result_.changes.push_back({{difference.path, both_sides(difference), {difference.path}}, apply});
    return difference.path;
  }

  /// Nothing else differs in the structure but what this rule makes read, or not read.
  std::string add_with_what_it_brings(const RuleDifference& difference, const std::string& structure) {
    const auto apply = [structure, b = b_](Backend& backend) { copy_rules(backend, b, structure); };
    result_.changes.push_back({{difference.path, both_sides(difference), {difference.path}}, apply});
    return structure;
  }

  std::string add_structure(const std::string& path, const std::string& name, const std::string& what) {
    // The changes made so far may lie inside; the structure covers them.
    std::erase_if(result_.changes, [&](const AppliedChange& change) { return covers(path, change.change.rules.front()); });
    result_.changes.push_back({{name, what, {path}}, [path, b = b_](Backend& backend) { copy_rules(backend, b, path); }});
    return path;
  }

  const Backend& b_;
  std::string prefix_;
  ChainView view_;
  Substitution result_;
  std::vector<RuleDifference> differences_;                  ///< below the prefix
  std::map<std::string, std::vector<std::string>> brought_;  ///< by a rule
};

}  // namespace

namespace {

/// Of operations whose rules lie in several places, or all in the same one.
Substitution collect_all(const std::vector<std::string>& prefixes, const Backend& a, const Backend& b, ChainView view) {
  Substitution all{a, {}};
  for (const std::string& prefix : prefixes) {
    Substitution part = Collector(all.start, b, prefix, view).collect();
    all.start = part.start;
    all.changes.insert(all.changes.end(), part.changes.begin(), part.changes.end());
  }
  return all;
}

/// The two compute the operation by rules that have nothing in common.
Substitution another_method(const std::string& of_a, const std::string& of_b, const Backend& a, const Backend& b) {
  const RuleChange change{"method", "rules of " + of_a + " -> rules of " + of_b, {of_a}, {of_b}};
  return {a, {{change, [b](Backend& backend) { backend = b; }}}};
}

}  // namespace

namespace {

/// "conv.i8->u8.accumulator.when": what the two paths share is said once.
std::string both_paths(const std::string& of_a, const std::string& of_b) {
  const auto differs = std::ranges::mismatch(of_a, of_b).in1 - of_a.begin();
  const std::size_t same = of_a.rfind('.', static_cast<std::size_t>(differs));
  const std::size_t begin = same == std::string::npos ? 0 : same + 1;
  const std::size_t end_a = of_a.find('.', begin), end_b = of_b.find('.', begin);
  const auto rest = [](const std::string& path, std::size_t end) { return end == std::string::npos ? std::string() : path.substr(end); };
  if (rest(of_a, end_a) != rest(of_b, end_b)) return of_a + " -> " + of_b;
  return of_a.substr(0, end_a) + "->" + of_b.substr(begin);
}

/// b reads the rules below another path: a change has both.
void name_both_places(Substitution& substitution, const std::string& of_a, const std::string& of_b) {
  for (AppliedChange& applied : substitution.changes) {
    RuleChange& change = applied.change;
    change.rules_of_b = change.rules;
    for (std::string& path : change.rules_of_b)
      if (covers(of_a, path)) path.replace(0, of_a.size(), of_b);
    const std::string &ours = change.rules.front(), &theirs = change.rules_of_b.front();
    if (ours == theirs) change.rules_of_b.clear();
    else if (change.name != ours || change.what.ends_with(" -> none")) continue;
    else change.name = change.what.starts_with("none -> ") ? theirs : both_paths(ours, theirs);
  }
}

}  // namespace

const Substitution& Substitutions::of(const Model& model, const Operation& operation, ChainView view) {
  const std::tuple key{rule_prefixes(model, operation, a_), rule_prefixes(model, operation, b_), view};
  const std::scoped_lock lock(finding_);
  const auto known = found_.find(key);
  if (known != found_.end()) return known->second;
  return found_.emplace(key, find(std::get<0>(key), std::get<1>(key), view)).first->second;
}

Substitution Substitutions::find(const Places& of_a, const Places& of_b, ChainView view) const {
  if (of_a.empty() || of_b.empty()) return {a_, {}};
  if (of_a.front() == of_b.front()) {
    Places either = of_a;
    std::ranges::copy_if(of_b, std::back_inserter(either),
                         [&](const std::string& path) { return std::ranges::find(of_a, path) == of_a.end(); });
    return collect_all(either, a_, b_, view);
  }
  // One backend has rules of its own for this data type, the other uses those of another: compare what each reads, in one place.
  Backend of_b_at_a = b_;
  const auto* const read = structure_at<ConvArithmetic>(b_, of_b.front());
  auto* const place = structure_at<ConvArithmetic>(of_b_at_a, of_a.front());
  if (read == nullptr || place == nullptr) return another_method(of_a.front(), of_b.front(), a_, b_);
  *place = *read;
  Substitution found = collect_all(of_a, a_, of_b_at_a, view);
  name_both_places(found, of_a.front(), of_b.front());
  return found;
}

}  // namespace lastbit
