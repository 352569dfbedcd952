// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// In what two backends differ for one operation, as changes that can be made one by one.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "lastbit/explain.hpp"

namespace lastbit {

struct AppliedChange {
  RuleChange change;
  std::function<void(Backend&)> apply;  ///< makes the rules b's
};

/// `start` computes what a computes; with every change applied, what b computes.
struct Substitution {
  Backend start = no_rules;
  std::vector<AppliedChange> changes;  ///< in the order in which a device meets them
};

/// How the ways to the output are taken apart where their stages differ: by what they decide, or each as one change.
enum class ChainView : std::uint8_t { decisions, whole };

/// Of two backends, which outlive it.
class Substitutions {
 public:
  Substitutions(const Backend& a, const Backend& b) : a_(a), b_(b) {}
  /// `operation` of `model` on both. Rules that do not concern it are left out. Found once for all operations of the same rules.
  /// From any thread.
  [[nodiscard]] const Substitution& of(const Model& model, const Operation& operation, ChainView view);

 private:
  using Places = std::vector<std::string>;  ///< of the rules that an operation reads
  [[nodiscard]] Substitution find(const Places& of_a, const Places& of_b, ChainView view) const;

  const Backend& a_;
  const Backend& b_;
  std::mutex finding_;
  std::map<std::tuple<Places, Places, ChainView>, Substitution> found_;
};

}  // namespace lastbit
