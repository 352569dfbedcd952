// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/certify/network_bounds.hpp"

#include <algorithm>

#include "analysis/staircase/sliding_extremes.hpp"
#include "engine/held_codes.hpp"

namespace lastbit {
namespace {

/// What lies between the least and the largest number of the type; nothing for types of more than 16 bits, and for floats.
std::optional<std::int64_t> spread_of(ElementType type) {
  if (!is_integer(type) || size_of(type) > 2) return std::nullopt;
  return (std::int64_t{1} << (8 * size_of(type))) - 1;
}

TensorBound of_type(ElementType type) {
  const auto spread = spread_of(type);
  return spread ? TensorBound{spread, BoundBy::type} : TensorBound{std::nullopt, BoundBy::nothing};
}

/// Outputs that are inputs, or the largest or least of some, are no further apart than those.
bool only_chooses(const LayerOnBoth& layer) {
  using enum OperationKind;
  const OperationKind kind = layer.operation().kind;
  if (kind == gather && !layer.a.model().tensor(layer.operation().inputs[1]).constant) return false;
  if (is_movement(kind) || kind == max_pool2d) return !moves_between_scales(layer.a.model(), layer.operation());
  if (kind != reduce_max && kind != reduce_min) return false;
  const Model& model = layer.a.model();
  return model.tensor(layer.operation().inputs[0]).quantization == model.tensor(layer.operation().outputs[0]).quantization;
}

/// `b`'s cases in one column as ranges, which hold every column that is at most `apart` away.
std::vector<IntegerRange> with_neighbour_columns(const EveryCode& cases, std::int64_t apart) {
  std::vector<IntegerRange> ranges;
  ranges.reserve(cases.b.size());
  for (const std::int64_t output : cases.b) ranges.push_back({output, output});
  if (apart == 0) return ranges;
  const auto columns = static_cast<std::size_t>(cases.columns);
  for (std::size_t row = 0; row < ranges.size(); row += columns) {
    const std::vector<IntegerRange> hulls = hulls_within(std::span(ranges).subspan(row, columns), apart);
    std::ranges::copy(hulls, ranges.begin() + static_cast<std::ptrdiff_t>(row));
  }
  return ranges;
}

}  // namespace

NetworkBounds::NetworkBounds(const Model& model) : bounds_(model.tensors.size(), TensorBound{0, BoundBy::exact}) {
  for (const State& state : model.states) bounds_[static_cast<std::size_t>(state.before)] = of_type(model.tensor(state.before).type);
}

std::optional<std::int64_t> NetworkBounds::of_inputs(const Operation& operation) const {
  std::optional<std::int64_t> most = 0;
  for (const std::int32_t input : operation.inputs) {
    if (input == absent_tensor) continue;
    const std::optional<std::int64_t> one = of_tensor(input).lsb;
    most = one && most ? std::optional(std::max(*most, *one)) : std::nullopt;
  }
  return most;
}

std::vector<std::int64_t> NetworkBounds::of_each(const Model& model, const Operation& operation) const {
  std::vector<std::int32_t> known;
  std::vector<std::int64_t> apart;
  for (const std::int32_t input : operation.inputs) {
    if (input == absent_tensor || model.tensor(input).constant || std::ranges::find(known, input) != known.end()) continue;
    known.push_back(input);
    apart.push_back(of_tensor(input).lsb.value_or(INT64_MAX));
  }
  return apart;
}

TensorBound NetworkBounds::behind(const LayerOnBoth& layer, bool same_rules, std::optional<std::int64_t> apart) const {
  const ElementType type = layer.a.model().tensor(layer.operation().outputs[0]).type;
  const std::optional<std::int64_t> inputs = of_inputs(layer.operation());
  if (inputs == 0 && same_rules) return {0, BoundBy::exact};
  if (layer.is_real()) return {std::nullopt, BoundBy::nothing};
  if (inputs == 0 && apart) return {apart, BoundBy::exact};
  const TensorBound at_most = of_type(type);
  if (!apart && same_rules && inputs && only_chooses(layer)) apart = inputs;
  if (!apart || (at_most.lsb && *apart >= *at_most.lsb)) return at_most;
  return {apart, BoundBy::intervals};
}

void NetworkBounds::put(const Operation& operation, const TensorBound& bound) {
  for (const std::int32_t output : operation.outputs)
    if (output != absent_tensor) bounds_[static_cast<std::size_t>(output)] = bound;
}

std::int64_t largest_difference(const EveryCode& cases, std::span<const std::int64_t> apart) {
  const auto columns = static_cast<std::size_t>(cases.columns), rows = cases.a.size() / columns;
  const auto apart_in = [&](std::size_t place) {
    const std::int64_t input = cases.data_inputs[place];
    return input < 0 ? std::int64_t{0} : apart[static_cast<std::size_t>(input)];
  };
  const bool in_pairs = cases.by == DecidedBy::pairs;
  const std::vector<IntegerRange> reached = with_neighbour_columns(cases, in_pairs ? apart_in(1) : 0);
  std::int64_t largest = 0;
  std::vector<IntegerRange> column(rows);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t row = 0; row < rows; ++row) column[row] = reached[row * columns + c];
    const std::int64_t of_row = narrow_saturate(Int128{apart_in(in_pairs ? 0 : c)} * cases.terms, 64);
    const std::vector<IntegerRange> hulls = hulls_within(column, std::min(of_row, static_cast<std::int64_t>(rows)));
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int64_t output = cases.a[row * columns + c];
      largest = std::max({largest, output - hulls[row].min, hulls[row].max - output});
    }
  }
  return largest;
}

}  // namespace lastbit
