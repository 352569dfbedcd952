// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/dump_search.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>

#include "analysis/explain/candidates.hpp"
#include "analysis/explain/mistakes.hpp"
#include "lastbit/registry.hpp"

namespace lastbit {
namespace {

/// What all pairs of a component may cost, in sums and values; pairs beyond are not tried.
constexpr std::int64_t most_pair_work = 100'000'000'000, overhead_of_a_run = 1'000'000;

/// Parts that read the same rules: a change must hold for all of them.
struct Component {
  std::vector<std::string> prefixes;
  std::vector<std::size_t> parts, differing;
  std::vector<Candidate> fits;
};

bool share_a_rule(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::any_of(
      a, [&](const std::string& x) { return std::ranges::any_of(b, [&](const std::string& y) { return covers(x, y) || covers(y, x); }); });
}

void add_new(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& text : from) {
    if (std::ranges::count(to, text) == 0) to.push_back(text);
  }
}

/// What leaves as many values different as it makes equal explains nothing.
bool explains_most(std::int64_t differing_then, const DumpVerdict& verdict) { return 2 * differing_then < verdict.differing; }

/// What all mistakes in a part may cost; mistakes beyond are not tried.
constexpr std::int64_t most_mistake_work = 20'000'000'000;

/// Each mistake is one re-run of the layer. Once one makes it equal, the others must as well. False where not all were tried.
bool find_mistakes(const PartJudge& judge, const Backend& backend, DumpVerdict& verdict) {
  verdict.nearest_mistake_differing = verdict.differing;
  const Part& part = judge.part();
  std::int64_t work = 0;
  each_mistake(part.model, part.inputs, part.fed, [&](const NamedMistake& mistake, const AlteredPart& altered) {
    if (work += judge.work_of(altered.model) + overhead_of_a_run; work > most_mistake_work) return false;
    const std::int64_t most = verdict.mistakes.empty() ? verdict.nearest_mistake_differing : 1;
    const auto differing = judge.differing_of(altered.model, altered.inputs, backend, most);
    if (!differing) return true;
    if (*differing == 0) {
      if (std::ranges::find(verdict.mistakes, mistake) == verdict.mistakes.end()) verdict.mistakes.push_back(mistake);
    } else if (explains_most(*differing, verdict)) {
      verdict.nearest_mistake = mistake;
      verdict.nearest_mistake_differing = *differing;
    }
    return true;
  });
  return work <= most_mistake_work;
}

/// Nothing is asked of layers that were misread.
bool is_judged(const DumpReport& report, std::size_t part) { return report.layers[part].misread.empty(); }

std::vector<Component> components_of(const std::vector<PartJudge>& judges, const DumpReport& report) {
  std::vector<Component> all;
  for (std::size_t i = 0; i < judges.size(); ++i) {
    if (!is_judged(report, i)) continue;
    Component joined{judges[i].part().prefixes, {}, {}, {}};
    for (const Component& other : all) {
      if (!share_a_rule(other.prefixes, joined.prefixes)) continue;
      add_new(joined.prefixes, other.prefixes);
      joined.parts.insert(joined.parts.end(), other.parts.begin(), other.parts.end());
    }
    std::erase_if(all, [&](const Component& other) { return share_a_rule(other.prefixes, joined.prefixes); });
    joined.parts.push_back(i);
    all.push_back(std::move(joined));
  }
  for (Component& component : all) {
    std::ranges::sort(component.parts);
    for (const std::size_t part : component.parts)
      if (judges[part].differing() > 0) component.differing.push_back(part);
  }
  return all;
}

class ComponentSearch {
 public:
  ComponentSearch(const std::vector<PartJudge>& judges, const Backend& backend, Component& component, DumpReport& report)
      : judges_(judges), backend_(backend), component_(component), report_(report) {}

  void search(const std::function<void(std::size_t done, std::size_t all)>& on_progress) {
    std::ranges::stable_sort(component_.differing, {},
                             [&](std::size_t part) { return std::pair(is_mistaken(part), judges_[part].work()); });
    const std::vector<Candidate> singles = single_candidates(backend_, component_.prefixes);
    for (std::size_t i = 0; i < singles.size(); ++i) {
      if (on_progress) on_progress(i, singles.size());
      try_everywhere(singles[i]);
    }
    const std::vector<std::size_t> all = component_.differing;
    if (component_.fits.empty()) try_pairs(singles);
    if (component_.fits.empty()) leave_mistakes_out();
    for (const std::size_t part : all) settle(report_.layers[part]);
  }

 private:
  /// Each layer is asked, also where another says no: what explains it alone, and what comes near.
  void try_everywhere(const Candidate& candidate) {
    const auto changed = with_settings(backend_, candidate);
    if (!changed) return;
    std::vector<std::size_t> computed;
    for (const std::size_t part : component_.differing) {
      DumpVerdict& verdict = report_.layers[part];
      const auto differing = judges_[part].differing_on(*changed, verdict.nearest_differing);
      if (differing == 0) {
        verdict.alone.push_back(change_of(candidate));
        computed.push_back(part);
      }
      if (!differing || *differing >= verdict.nearest_differing) continue;
      verdict.nearest = change_of(candidate);
      verdict.nearest_differing = *differing;
    }
    if (computed.empty() || !equal_ones_stay(*changed)) return;
    if (computed.size() == component_.differing.size()) component_.fits.push_back(candidate);
    partial_.emplace_back(candidate, std::move(computed));
  }

  [[nodiscard]] bool is_mistaken(std::size_t part) const { return !report_.layers[part].mistakes.empty(); }

  /// No rule and no pair makes all layers equal. A layer that a mistake makes equal is no longer asked for a rule.
  void leave_mistakes_out() {
    const auto is_left_out = [&](std::size_t part) { return is_mistaken(part); };
    std::erase_if(component_.parts, is_left_out);
    if (std::erase_if(component_.differing, is_left_out) == 0 || component_.differing.empty()) return;
    for (const auto& [candidate, computed] : partial_) {
      const auto is_computed = [&parts = computed](std::size_t part) { return std::ranges::count(parts, part) > 0; };
      if (std::ranges::all_of(component_.differing, is_computed)) component_.fits.push_back(candidate);
    }
    if (component_.fits.empty()) component_.fits = std::move(partial_pairs_);
  }

  /// Also where a mistake makes a layer equal, which in a small one may be by chance: the arithmetic goes first. Layers without a mistake are
  /// asked first; a pair that makes them equal, and not the others, is kept for where the others are left out.
  void try_pairs(const std::vector<Candidate>& singles) {
    const std::int64_t most = most_pair_work / (judges_[component_.differing[0]].work() + overhead_of_a_run);
    const auto first_mistaken = std::ranges::find_if(component_.differing, [&](std::size_t part) { return is_mistaken(part); });
    const std::span<const std::size_t> asked(component_.differing.begin(), first_mistaken),
        mistaken(first_mistaken, component_.differing.end());
    std::int64_t tried = 0;
    each_pair(singles, [&](const Candidate& pair) {
      if (tried++ >= most) {
        report_.all_pairs_tried = false;
        return false;
      }
      if (!asked.empty() && !computed_with(pair, asked)) return true;
      if (mistaken.empty() || computed_with(pair, mistaken)) component_.fits.push_back(pair);
      else if (!asked.empty()) partial_pairs_.push_back(pair);
      return true;
    });
  }

  [[nodiscard]] bool computed_with(const Candidate& candidate, std::span<const std::size_t> parts) const {
    return computed_with(candidate, parts, Unread::kept) && computed_with(candidate, parts, Unread::forgotten);
  }
  [[nodiscard]] bool computed_with(const Candidate& candidate, std::span<const std::size_t> parts, Unread unread) const {
    const auto changed = with_settings(backend_, candidate, unread);
    const auto computed = [&](std::size_t part) { return judges_[part].computes(*changed); };
    return changed && std::ranges::all_of(parts, computed) && equal_ones_stay(*changed);
  }

  [[nodiscard]] bool equal_ones_stay(const Backend& changed) const {
    return std::ranges::all_of(component_.parts,
                               [&](std::size_t part) { return judges_[part].differing() > 0 || judges_[part].computes(changed); });
  }

  void settle(DumpVerdict& verdict) const {
    const bool is_asked = std::ranges::any_of(component_.differing, [&](std::size_t part) { return &report_.layers[part] == &verdict; });
    const bool is_explained = is_asked && !component_.fits.empty();
    for (std::size_t i = 0; is_explained && i < component_.fits.size(); ++i) verdict.explanations.push_back(change_of(component_.fits[i]));
    if (is_explained) verdict.alone.clear();
    if (is_explained || !verdict.mistakes.empty() || verdict.nearest_differing == 0) {
      verdict.nearest.reset();
      verdict.nearest_mistake.reset();
    }
    if (!explains_most(verdict.nearest_differing, verdict)) verdict.nearest.reset();
    if (verdict.nearest_mistake && verdict.nearest && verdict.nearest_differing <= verdict.nearest_mistake_differing)
      verdict.nearest_mistake.reset();
    if (verdict.nearest_mistake) verdict.nearest.reset();
  }

  const std::vector<PartJudge>& judges_;
  const Backend& backend_;
  Component& component_;
  DumpReport& report_;
  std::vector<std::pair<Candidate, std::vector<std::size_t>>> partial_;  ///< rules that make these layers equal, and leave equal ones so
  std::vector<Candidate> partial_pairs_;                                 ///< that make all layers but those of mistakes equal
};

/// Built-in backends that compute a layer; of them those that compute all.
void find_backends(const std::vector<PartJudge>& judges, DumpReport& report) {
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain != Domain::integer) continue;
    std::vector<std::size_t> computed;
    bool all = true;
    for (std::size_t i = 0; i < judges.size(); ++i) {
      if (judges[i].differing() == 0 || !is_judged(report, i)) continue;
      if (judges[i].computes(sheet.backend)) computed.push_back(i);
      else all = all && !report.layers[i].mistakes.empty();
    }
    for (std::size_t i = 0; i < judges.size() && all; ++i)
      all = judges[i].differing() > 0 || judges[i].computes(sheet.backend) || !is_judged(report, i);
    all = all && !computed.empty();
    for (const std::size_t i : computed) (all ? report.layers[i].backends : report.layers[i].backends_alone).push_back(sheet.name);
  }
}

/// A change in whatever operation: the rules, and their new values.
struct GenericChange {
  std::string rules, values;
  friend bool operator==(const GenericChange&, const GenericChange&) = default;
  friend bool operator<(const GenericChange& a, const GenericChange& b) {
    return std::tie(a.rules, a.values) < std::tie(b.rules, b.values);
  }
};

GenericChange generic(const Candidate& candidate) {
  GenericChange change;
  for (const Candidate::Setting& setting : candidate.settings) {
    const std::string path =
        setting.path.starts_with("{") ? "*" + setting.path.substr(setting.path.find('}') + 1) : in_any_operation(setting.path);
    change.rules += path + " ";
    change.values += setting.to + " ";
  }
  return change;
}

/// Draws together what was found apart: one device, or not.
class Conclusion {
 public:
  Conclusion(const std::vector<PartJudge>& judges, const Backend& backend, std::vector<Component>& components, DumpReport& report)
      : judges_(judges), backend_(backend), components_(components), report_(report) {
    for (Component& component : components)
      if (!component.differing.empty()) differing_.push_back(&component);
  }

  void draw() {
    if (differing_.empty()) return;
    withdraw_contradicted();
    report_.one_device = std::ranges::any_of(report_.layers, [](const DumpVerdict& layer) { return !layer.backends.empty(); });
    if (report_.one_device) return;
    if (!explained_one_by_one()) return;
    std::set<GenericChange> common = changes_of(*differing_[0]);
    for (const Component* component : differing_) {
      const std::set<GenericChange> own = changes_of(*component);
      std::erase_if(common, [&](const GenericChange& change) { return !own.contains(change); });
    }
    if (common.empty()) {
      report_.doubt = "operations need different changes, and no one change is in all of them";
      return;
    }
    report_.one_device = std::ranges::any_of(common, [&](const GenericChange& change) { return fits_sums_elsewhere(change); });
  }

 private:
  /// Of one rule, one value must explain every operation that needs another than the backend's.
  void withdraw_contradicted() {
    std::vector<std::set<GenericChange>> all;
    for (const Component* component : differing_) all.push_back(changes_of(*component));
    const auto contradicted = [&](const Candidate& candidate) {
      const GenericChange change = generic(candidate);
      return std::ranges::any_of(all, [&](const std::set<GenericChange>& own) {
        const auto has_same_rules = [&](const GenericChange& other) { return other.rules == change.rules; };
        return !own.empty() && std::ranges::all_of(own, has_same_rules) && !own.contains(change);
      });
    };
    for (Component* component : differing_) {
      for (const std::size_t part : component->differing) {
        DumpVerdict& verdict = report_.layers[part];
        verdict.explanations.clear();
        for (const Candidate& candidate : component->fits)
          (contradicted(candidate) ? verdict.alone : verdict.explanations).push_back(change_of(candidate));
      }
    }
    for (Component* component : differing_) std::erase_if(component->fits, contradicted);
  }

  [[nodiscard]] bool explained_one_by_one() {
    for (const Component* component : differing_) {
      if (!component->fits.empty()) continue;
      const auto alone = [&](std::size_t part) {
        return !report_.layers[part].alone.empty() || !report_.layers[part].backends_alone.empty();
      };
      if (std::ranges::all_of(component->differing, alone))
        report_.doubt = "layers that read the same rules need different changes, or compute without any";
      return false;
    }
    return true;
  }

  static std::set<GenericChange> changes_of(const Component& component) {
    std::set<GenericChange> changes;
    for (const Candidate& candidate : component.fits) changes.insert(generic(candidate));
    return changes;
  }

  /// Devices sum products in one place. Where another such operation cannot have the change, this one differs from it in the device.
  bool fits_sums_elsewhere(const GenericChange& change) {
    const Candidate* const made = candidate_of(change);
    const auto sums = [](const std::string& prefix) { return is_of_products(prefix); };
    if (made == nullptr || !sums(made->settings[0].places[0])) return true;
    for (const Component& component : components_) {
      if (!component.differing.empty() || !std::ranges::any_of(component.prefixes, sums)) continue;
      const auto changed = with_settings(backend_, at_prefixes(*made, component.prefixes));
      if (!changed) continue;
      for (const std::size_t part : component.parts) {
        if (judges_[part].computes(*changed)) continue;
        report_.doubt = "layer " + std::to_string(report_.layers[part].number) + ", " + report_.layers[part].operation +
                        ", computes without the change that the others need";
        return false;
      }
    }
    return true;
  }

  const Candidate* candidate_of(const GenericChange& change) const {
    for (const Candidate& candidate : differing_[0]->fits)
      if (generic(candidate) == change) return &candidate;
    return nullptr;
  }

  /// The same rules below other prefixes.
  static Candidate at_prefixes(Candidate candidate, const std::vector<std::string>& prefixes) {
    for (Candidate::Setting& setting : candidate.settings) {
      const std::string& place = setting.places[0];
      std::vector<std::string> places;
      for (const std::string& prefix : prefixes) {
        const std::string path = prefix.substr(0, prefix.find('.')) + place.substr(place.find('.'));
        if (is_of_products(prefix) && covers(prefix, path)) places.push_back(path);
      }
      setting.places = std::move(places);
    }
    return candidate;
  }

  const std::vector<PartJudge>& judges_;
  const Backend& backend_;
  std::vector<Component>& components_;
  DumpReport& report_;
  std::vector<Component*> differing_;
};

}  // namespace

void search_changes(const std::vector<PartJudge>& judges, const Backend& backend, DumpReport& report,
                    const std::function<void(std::size_t done, std::size_t all)>& on_progress) {
  std::vector<Component> components = components_of(judges, report);
  for (DumpVerdict& verdict : report.layers) verdict.nearest_differing = verdict.differing;
  for (std::size_t i = 0; i < judges.size(); ++i)
    if (judges[i].differing() > 0 && is_judged(report, i) && !find_mistakes(judges[i], backend, report.layers[i]))
      report.all_mistakes_tried = false;
  for (Component& component : components) {
    if (!component.differing.empty()) ComponentSearch(judges, backend, component, report).search(on_progress);
  }
  find_backends(judges, report);
  report.one_device = std::ranges::all_of(report.layers, [](const DumpVerdict& verdict) { return verdict.differing == 0; });
  Conclusion(judges, backend, components, report).draw();
}

}  // namespace lastbit
