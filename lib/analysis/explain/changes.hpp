// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// In what two backends differ for one operation, as changes that can be made one by one.
#pragma once

#include <functional>
#include <vector>

#include "lastbit/explain.hpp"

namespace lastbit {

struct AppliedChange {
  RuleChange change;
  std::function<void(Backend&)> apply;  ///< makes the rules b's
};

/// `start` computes what a computes; with every change applied, what b computes.
struct Substitution {
  Backend start;
  std::vector<AppliedChange> changes;  ///< in the order in which a device meets them
};

/// How the ways to the output are taken apart where their stages differ: by what they decide, or each as one change.
enum class ChainView : std::uint8_t { decisions, whole };

/// `operation` of `model` on both. Rules that do not concern it are left out.
[[nodiscard]] Substitution substitution(const Model& model, const Operation& operation, const Backend& a, const Backend& b, ChainView view);

}  // namespace lastbit
