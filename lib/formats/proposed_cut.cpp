// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/proposed_cut.hpp"

#include <algorithm>
#include <string_view>

#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

constexpr std::size_t most_proposed = 8;  ///< values that a user can be asked to name
constexpr std::size_t most_read = 4;      ///< parts that are tried
constexpr std::size_t most_looked_at = 256;

using Values = std::vector<std::int32_t>;

/// As a shell takes it for one word.
std::string quoted(const std::string& name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+@%=,";
  return name.find_first_not_of(plain) == std::string::npos ? name : "'" + name + "'";
}

struct Proposal {
  std::int64_t kept = 0;
  Cut cut{};
};

/// Parts between what is not supported: so many of it is before the part, with all that it needs, and the rest behind, with all that needs it.
class Parts {
 public:
  explicit Parts(const GraphOutline& graph) : graph_(graph), writers_(writers_of(graph)) {}

  /// Nothing where it cannot be asked for.
  [[nodiscard]] std::optional<Proposal> behind(std::size_t turn) const {
    const std::vector<bool> kept = kept_from(turn);
    Values from = begins(kept);
    Values to = ends(kept);
    if (same_values(to, graph_.outputs)) to.clear();
    if (from.size() + to.size() == 0 || from.size() + to.size() > most_proposed) return std::nullopt;
    Proposal proposal;
    for (const auto& [values, names] : {std::pair(&from, &proposal.cut.from), std::pair(&to, &proposal.cut.to)}) {
      for (const std::int32_t value : *values) {
        if (!has_name(value)) return std::nullopt;
        names->push_back(graph_.values[static_cast<std::size_t>(value)]);
      }
    }
    return counted(std::move(proposal));
  }

 private:
  [[nodiscard]] bool has_name(std::int32_t value) const {
    const std::string& name = graph_.values[static_cast<std::size_t>(value)];
    return !name.empty() && is_printable(name) && name.find('\'') == std::string::npos && std::ranges::count(graph_.values, name) == 1;
  }

  [[nodiscard]] std::vector<bool> kept_from(std::size_t turn) const {
    const std::size_t count = graph_.nodes.size();
    std::vector<bool> kept(count, true), needed(graph_.values.size(), false), tainted(graph_.values.size(), false);
    const auto mark = [](std::vector<bool>& marks, const Values& values) {
      for (const std::int32_t value : values)
        if (value >= 0) marks[static_cast<std::size_t>(value)] = true;
    };
    const auto any = [](const std::vector<bool>& marks, const Values& values) {
      return std::ranges::any_of(values, [&](std::int32_t value) { return value >= 0 && marks[static_cast<std::size_t>(value)]; });
    };
    for (std::size_t i = count; i-- > 0;) {
      const GraphOutline::Node& node = graph_.nodes[i];
      if ((node.is_supported || i >= turn) && !any(needed, node.outputs)) continue;
      mark(needed, node.inputs);
      kept[i] = false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const GraphOutline::Node& node = graph_.nodes[i];
      if ((node.is_supported || i < turn) && !any(tainted, node.inputs)) continue;
      mark(tainted, node.outputs);
      kept[i] = false;
    }
    return kept;
  }

  [[nodiscard]] bool is_of(const std::vector<bool>& nodes, std::int32_t value, bool wanted) const {
    const auto writer = value < 0 ? std::nullopt : writers_[static_cast<std::size_t>(value)];
    return writer && nodes[*writer] == wanted && graph_.nodes[*writer].computes;
  }

  static bool same_values(Values a, Values b) {
    std::ranges::sort(a);
    std::ranges::sort(b);
    return a == b;
  }

  /// Each value once, in the order in which they were found.
  class Found {
   public:
    explicit Found(std::size_t values) : known_(values, false) {}
    void add(std::int32_t value) {
      const auto place = static_cast<std::size_t>(value);
      if (!known_[place]) values_.push_back(value);
      known_[place] = true;
    }
    [[nodiscard]] Values values() && { return std::move(values_); }

   private:
    std::vector<bool> known_;
    Values values_;
  };

  /// What kept nodes are given by others.
  [[nodiscard]] Values begins(const std::vector<bool>& kept) const {
    Found found(graph_.values.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const std::int32_t input : graph_.nodes[i].inputs)
        if (kept[i] && graph_.nodes[i].computes && is_of(kept, input, false)) found.add(input);
    return std::move(found).values();
  }

  /// What they hand on to others, and what of theirs is an output of the network.
  [[nodiscard]] Values ends(const std::vector<bool>& kept) const {
    Found found(graph_.values.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const std::int32_t input : graph_.nodes[i].inputs)
        if (!kept[i] && is_of(kept, input, true)) found.add(input);
    for (const std::int32_t output : graph_.outputs)
      if (is_of(kept, output, true)) found.add(output);
    return std::move(found).values();
  }

  /// What the cut keeps indeed, if all of it is supported.
  [[nodiscard]] std::optional<Proposal> counted(Proposal proposal) const {
    try {
      const KeptPart part = kept_part(graph_, proposal.cut, {});
      for (std::size_t i = 0; i < part.nodes.size(); ++i) {
        if (part.nodes[i] && !graph_.nodes[i].is_supported) return std::nullopt;
        proposal.kept += part.nodes[i] && graph_.nodes[i].computes ? 1 : 0;
      }
      return proposal;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  const GraphOutline& graph_;
  std::vector<std::optional<std::size_t>> writers_;
};

/// The largest first; of equal ones the earlier.
std::vector<Proposal> proposals_of(const GraphOutline& graph) {
  const Parts parts(graph);
  std::vector<std::size_t> turns{0};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!graph.nodes[i].is_supported) turns.push_back(i + 1);
  std::vector<Proposal> all;
  if (turns.size() > most_looked_at) turns = {0, graph.nodes.size()};
  for (const std::size_t turn : turns)
    if (auto proposal = parts.behind(turn)) all.push_back(std::move(*proposal));
  std::ranges::stable_sort(all, std::ranges::greater(), &Proposal::kept);
  return all;
}

std::string text_of(const Proposal& proposal, const std::vector<std::string>& open, const GraphOutline& graph) {
  std::string text;
  for (const std::string& name : proposal.cut.from) text += "--from " + quoted(name) + " ";
  for (const std::string& name : proposal.cut.to) text += "--to " + quoted(name) + " ";
  for (const std::string& name : open) text += "--shape " + quoted(name) + "=… ";
  const auto all_nodes = std::ranges::count_if(graph.nodes, &GraphOutline::Node::computes);
  return text + "keeps " + std::to_string(proposal.kept) + " of " + count_of(all_nodes, "operator");
}

}  // namespace

std::string proposed_cut(const GraphOutline& graph, const ReadPart& read) {
  if (!read) return {};
  std::string asking;
  std::size_t tried = 0;
  for (const Proposal& proposal : proposals_of(graph)) {
    if (tried++ == most_read) break;
    const Trial trial = read(proposal.cut);
    if (trial.is_read) return text_of(proposal, {}, graph);
    if (asking.empty() && !trial.open.empty()) asking = text_of(proposal, trial.open, graph);
  }
  return asking;
}

}  // namespace lastbit
