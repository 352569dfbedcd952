// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer whose outputs each come from a code of every input, or from one sum of codes, as all the cases that there are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/last_chain.hpp"
#include "lastbit/arith/overflow.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// codes: a code of every input, in one place. beside: a code of each input by itself (concat). window, row: as many codes as a pool or a mean adds up, where
/// nothing but their sum counts.
enum class CaseForm : std::uint8_t { codes, beside, window, row };

/// What makes the outputs of rows, so far as a rule decides it: two devices that have the same of it, and the same on some rows, have it on all.
struct RowsBehind {
  LastChain last;          ///< of some rows
  std::int64_t least = 0;  ///< sum of row 0; that of row r has r more
  int bits = 0;            ///< that sums are narrowed to; 0: they all fit
  Overflow overflow = Overflow::exact;

  /// Of a row of codes that are added up.
  [[nodiscard]] std::int64_t sum(std::int64_t row) const { return bits == 0 ? least + row : narrow(least + row, bits, overflow); }
};

/// Cases lie in rows, of which each has so many columns: the inputs of a concatenation, else one.
struct CaseSet {
  CaseForm form = CaseForm::codes;
  Model layer;  ///< the operation by itself
  std::int64_t rows = 0, columns = 1;
  std::int64_t terms = 1;                          ///< codes of a row, of its columns together
  std::vector<std::int32_t> tensors{};             ///< inputs, each once; constants among them
  std::vector<std::vector<std::int64_t>> codes{};  ///< of each: those it can hold
  IntegerRange range{};                            ///< of codes that are added up
  bool is_cut = false;                             ///< of windows: a part lies outside the image

  [[nodiscard]] bool adds_up() const { return form == CaseForm::window || form == CaseForm::row; }
  /// The codes of one case: one for each of `tensors`; of a concatenation that of the column; or a row of them with the row's sum.
  [[nodiscard]] std::vector<std::int64_t> case_at(std::int64_t row, std::int64_t column) const;
  /// The operation on these rows: outputs lie row by row.
  [[nodiscard]] ProbeLayer on(std::span<const std::int64_t> rows) const;
  /// What stands behind the sums or products of a device, where these follow from the codes by no rule but the accumulator's; `at_rows` is on(rows).
  [[nodiscard]] std::optional<RowsBehind> behind(const Backend& device, std::span<const std::int64_t> rows,
                                                 const ProbeLayer& at_rows) const;
  /// Why what a device makes of a sum of codes may depend on more than the sum; empty: it does not.
  [[nodiscard]] std::string goes_by_more(const Backend& device) const;
};

struct LayerCases {
  std::string open{};  ///< why there are none that can be gone through; empty: there are
  std::string over{};  ///< "every code"
  std::vector<CaseSet> sets{};
};
[[nodiscard]] LayerCases cases_of(const Model& layer);

/// One of the cases of a layer.
struct CasePlace {
  std::size_t set = 0;
  std::int64_t row = 0, column = 0;
};
/// Inputs of the layer as it is, in which these cases occur, as many as there is room for, from the first one on; `inputs` holds what stands elsewhere.
/// Returns how many do.
std::size_t place_cases(const LayerCases& cases, const Model& layer, std::span<const CasePlace> places, std::vector<Tensor>& inputs);

}  // namespace lastbit
