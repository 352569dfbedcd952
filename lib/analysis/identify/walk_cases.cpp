// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/walk_cases.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/window_sums.hpp"
#include "lastbit/op/mean.hpp"
#include "lastbit/op/pool.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

/// More cases of one layer are not gone through, whatever the budget.
constexpr std::int64_t most_rows = std::int64_t{1} << 24;

bool goes_by_codes(OperationKind kind) {
  using enum OperationKind;
  switch (kind) {
    case add:
    case sub:
    case mul:
    case add_n:
    case pow:
    case prelu:
    case requantize:
    case relu:
    case relu6:
    case relu_n1_to_1:
    case leaky_relu:
    case hard_swish:
    case logistic:
    case OperationKind::tanh:
    case clip:
    case OperationKind::exp:
    case OperationKind::abs:
    case OperationKind::erf: return true;
    default: return false;
  }
}

std::vector<std::int64_t> all_codes(const ModelTensor& tensor) {
  if (tensor.constant) {
    std::set<std::int64_t> held;
    for (std::int64_t i = 0; i < tensor.constant->element_count(); ++i) held.insert(tensor.constant->integer_at(i));
    return {held.begin(), held.end()};
  }
  const IntegerRange range = range_of(tensor.type);
  std::vector<std::int64_t> codes(static_cast<std::size_t>(range.max - range.min + 1));
  std::iota(codes.begin(), codes.end(), range.min);
  return codes;
}

ModelTensor& tensor_in(Model& model, std::int32_t index) { return model.tensors[static_cast<std::size_t>(index)]; }

/// Why a tensor's codes are not gone through; empty: they are.
std::string no_codes(const ModelTensor& tensor) {
  if (!is_integer(tensor.type)) return "'" + tensor.name + "' holds no codes";
  if (tensor.quantization.per_channel()) return "'" + tensor.name + "' has a scale per channel";
  if (size_of(tensor.type) > 2) return "codes of more than 16 bits";
  return {};
}

void add_codes(LayerCases& found, CaseSet set) {
  const Operation& operation = set.layer.operations[0];
  for (const std::int32_t index : operation.inputs) {
    if (index == absent_tensor || std::ranges::find(set.tensors, index) != set.tensors.end()) continue;
    const ModelTensor& tensor = set.layer.tensor(index);
    if (found.open = no_codes(tensor); !found.open.empty()) return;
    set.tensors.push_back(index);
    set.codes.push_back(all_codes(tensor));
  }
  const auto is_data = [&](std::int32_t index) { return !set.layer.tensor(index).constant; };
  const auto data = std::ranges::count_if(set.tensors, is_data);
  if (set.form == CaseForm::beside) {
    set.columns = std::ssize(set.tensors);
    set.rows = std::ssize(*std::ranges::max_element(set.codes, {}, [](const auto& codes) { return codes.size(); }));
    if (std::ssize(operation.inputs) != set.columns) found.open = "a tensor that is joined with itself";
  } else {
    set.rows = 1;
    for (const auto& codes : set.codes) set.rows = std::min(most_rows + 1, set.rows * std::ssize(codes));
    if (set.tensors.size() > 2) found.open = "more than two inputs";
    else if (set.rows > most_rows) found.open = data > 1 ? "pairs of 16-bit codes" : "more codes with their constants than are computed";
  }
  set.terms = std::ssize(set.tensors);
  found.over = data > 1 && set.form == CaseForm::codes ? "every pair of codes" : "every code";
  if (found.open.empty()) found.sets.push_back(std::move(set));
}

/// All sums that so many codes can have.
bool set_rows(LayerCases& found, CaseSet& set, std::int64_t terms) {
  set.terms = terms;
  set.range = range_of(set.layer.tensor(set.tensors[0]).type);
  const std::int64_t spread = set.range.max - set.range.min;
  if (terms < 1) found.open = "windows of nothing";
  else if (terms > most_rows / spread) found.open = "more sums than are computed";
  set.rows = terms * spread + 1;
  return found.open.empty();
}

void add_windows(LayerCases& found, const CaseSet& like) {
  const Operation& operation = like.layer.operations[0];
  const ConvShape shape = pool_shape_of(like.layer, operation);
  const auto& attributes = std::get<Pool2dAttributes>(operation.attributes);
  const bool is_global = operation.kind == OperationKind::global_average_pool;
  std::set<std::int64_t> known;
  for (std::int64_t y = 0; y < shape.out_height; ++y) {
    for (std::int64_t x = 0; x < shape.out_width; ++x) {
      const Window window = window_at(shape, y, x);
      if (!known.insert(window.count()).second) continue;  // where what lies outside lies counts for nothing
      CaseSet set = like;
      set.is_cut = window.count() < shape.kernel_height * shape.kernel_width;
      if (set.is_cut && attributes.counted_padding && attributes.partial_windows != PartialWindows::dropped)
        found.open = "padding of which a part counts";
      if (!found.open.empty() || !set_rows(found, set, window.count())) return;
      Operation& alone = set.layer.operations[0];
      auto& of_window = std::get<Pool2dAttributes>(alone.attributes);
      if (!is_global) {
        of_window.partial_windows = PartialWindows::dropped;
        of_window.padding = {};
        if (set.is_cut)
          of_window.padding = {PaddingMode::explicit_sizes, window.y0 - window.top, window.top + shape.kernel_height - window.y1,
                               window.x0 - window.left, window.left + shape.kernel_width - window.x1};
      }
      tensor_in(set.layer, alone.inputs[0]).shape = Shape{1, window.y1 - window.y0, window.x1 - window.x0, 1};
      found.sets.push_back(std::move(set));
    }
  }
}

/// The axes that a mean keeps: all of them 1 but the first, which counts the rows; one in front where it keeps none.
void add_rows(LayerCases& found, CaseSet set) {
  auto& axes = std::get<MeanAttributes>(set.layer.operations[0].attributes).axes;
  Shape& shape = tensor_in(set.layer, set.tensors[0]).shape;
  std::vector<std::int64_t> extents;
  std::int64_t terms = 1;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const bool is_reduced = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
    extents.push_back(is_reduced ? shape[axis] : 1);
    terms *= extents.back();
  }
  if (axes.size() == shape.rank()) {
    extents.insert(extents.begin(), 1);
    for (std::int64_t& axis : axes) ++axis;
  }
  shape = Shape(std::move(extents));
  if (set_rows(found, set, terms)) found.sets.push_back(std::move(set));
}

Tensor tensor_with(ElementType type, const Shape& shape, std::span<const std::int64_t> codes) {
  Tensor tensor(type, shape);
  store(codes, tensor);
  return tensor;
}

/// The axis along which rows lie.
std::size_t row_axis(const CaseSet& set) {
  if (set.form == CaseForm::window) return 0;
  const auto& axes = std::get<MeanAttributes>(set.layer.operations[0].attributes).axes;
  std::int64_t axis = 0;
  while (std::ranges::find(axes, axis) != axes.end()) ++axis;
  return static_cast<std::size_t>(axis);
}

const SumArithmetic* sum_by(const Model& layer, const Backend& device) {
  const Operation& operation = layer.operations[0];
  if (operation.kind == OperationKind::mean) return &mean_arithmetic_of(layer, operation, device).sum;
  const AveragePoolArithmetic& pool = average_pool_of(operation, device);
  return pool.in_float.method == FloatAverageMethod::absent ? &pool.sum : nullptr;
}

PaddingCount pool_padding(const Model& layer, const Backend& device) { return average_pool_of(layer.operations[0], device).padding; }

/// Whether no sum leaves the accumulator, in whatever order and with as much again as the sum is of codes.
bool holds_sums(const CaseSet& set, const SumArithmetic& sum) {
  const std::int64_t zero = set.layer.tensor(set.tensors[0]).quantization.zero_point();
  const std::int64_t furthest = std::max(std::abs(set.range.min), std::abs(set.range.max)) + std::abs(zero);
  const std::int64_t largest = 2 * set.terms * furthest;
  return !has_partial_sums(sum.accumulator) && fits_width(-largest, sum.accumulator.bits) && fits_width(largest, sum.accumulator.bits);
}

std::vector<const Tensor*> pointers_to(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

/// The contract of op/mean.hpp, where codes are added up as they are.
RowsBehind behind_mean(const CaseSet& set, const Backend& device, std::span<const std::int64_t> rows) {
  const Operation& operation = set.layer.operations[0];
  const ModelTensor &in = set.layer.tensor(operation.inputs[0]), &out = set.layer.tensor(operation.outputs[0]);
  const MeanArithmetic& rule = mean_arithmetic_of(set.layer, operation, device);
  const RescaleOperands output = operands_for({}, out, range_of(out.type));
  RescaleOperands operands = Average(rule.sum, in.quantization.scale(), out.quantization.scale(), set.terms, output).operands();
  if (rule.count == CountIn::multiplier) operands.scale = fold_count(operands.scale, set.terms);
  RowsBehind found{{rule.sum.output.chain, {operands}, std::vector<std::size_t>(rows.size()), {}}};
  found.least = set.terms * (set.range.min - centred_by(rule.sum.centring, in.quantization.zero_point()));
  const bool narrows = !holds_sums(set, rule.sum) && rule.sum.accumulator.overflow != Overflow::exact;
  if (narrows) found.bits = rule.sum.accumulator.bits, found.overflow = rule.sum.accumulator.overflow;
  for (const std::int64_t row : rows) found.last.sums.push_back(found.sum(row));
  return found;
}

Shape with_rows(const CaseSet& set, std::int64_t count) {
  const Shape& one = set.layer.tensor(set.tensors[0]).shape;
  std::vector<std::int64_t> extents;
  for (std::size_t axis = 0; axis < one.rank(); ++axis) extents.push_back(axis == row_axis(set) ? count : one[axis]);
  return Shape(std::move(extents));
}

/// Codes of rows that lie one behind the other, for a tensor in which rows lie along an axis: its other axes that are not 1 are those that are added up.
std::vector<std::int64_t> by_axis(const CaseSet& set, const std::vector<std::int64_t>& rows, std::int64_t count) {
  const Shape& one = set.layer.tensor(set.tensors[0]).shape;
  std::int64_t inner = 1;  // codes behind the axis
  for (std::size_t axis = row_axis(set) + 1; axis < one.rank(); ++axis) inner *= one[axis];
  std::vector<std::int64_t> moved(rows.size());
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t i = 0; i < set.terms; ++i) {
      const std::int64_t to = (i / inner * count + row) * inner + i % inner;
      moved[static_cast<std::size_t>(to)] = rows[static_cast<std::size_t>(row * set.terms + i)];
    }
  }
  return moved;
}

}  // namespace

std::vector<std::int64_t> CaseSet::case_at(std::int64_t row, std::int64_t column) const {
  std::vector<std::int64_t> found;
  if (adds_up()) {
    for (std::int64_t i = 0, above = row; i < terms; ++i) {
      const std::int64_t more = std::min(above, range.max - range.min);
      found.push_back(range.min + more);
      above -= more;
    }
  } else if (form == CaseForm::beside) {
    const auto& own = codes[static_cast<std::size_t>(column)];
    found.push_back(own[static_cast<std::size_t>(row) % own.size()]);
  } else {
    auto rest = static_cast<std::size_t>(row);
    for (const auto& own : codes) {
      found.push_back(own[rest % own.size()]);
      rest /= own.size();
    }
  }
  return found;
}

ProbeLayer CaseSet::on(std::span<const std::int64_t> some) const {
  ProbeLayer found{layer, {}};
  Operation& operation = found.layer.operations[0];
  const auto count = std::ssize(some);
  std::vector<std::vector<std::int64_t>> values(tensors.size());
  for (const std::int64_t row : some) {
    if (adds_up()) {
      const std::vector<std::int64_t> one = case_at(row, 0);
      values[0].insert(values[0].end(), one.begin(), one.end());
      continue;
    }
    const std::vector<std::int64_t> one = form == CaseForm::codes ? case_at(row, 0) : std::vector<std::int64_t>{};
    for (std::size_t i = 0; i < tensors.size(); ++i)
      values[i].push_back(form == CaseForm::codes ? one[i] : case_at(row, static_cast<std::int64_t>(i))[0]);
  }
  if (form == CaseForm::beside) std::get<ConcatAttributes>(operation.attributes).axis = 3;
  if (adds_up()) values[0] = by_axis(*this, values[0], count);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ModelTensor& tensor = tensor_in(found.layer, tensors[i]);
    if (form == CaseForm::codes) tensor.shape = Shape{1, 1, 1, count};
    else if (form == CaseForm::beside) tensor.shape = Shape{1, 1, count, 1};
    else tensor.shape = with_rows(*this, count);
    if (tensor.constant) tensor.constant = tensor_with(tensor.type, tensor.shape, values[i]);
  }
  for (const std::int32_t index : found.layer.inputs) {
    const auto at = static_cast<std::size_t>(std::ranges::find(tensors, index) - tensors.begin());
    found.inputs.push_back(tensor_with(found.layer.tensor(index).type, found.layer.tensor(index).shape, values[at]));
  }
  tensor_in(found.layer, operation.outputs[0]).shape = output_shapes(found.layer, operation)[0];
  return found;
}

std::string CaseSet::goes_by_more(const Backend& device) const {
  if (!adds_up()) return {};
  const SumArithmetic* const sum = sum_by(layer, device);
  if (sum == nullptr || !exists(*sum) || computes_in_float32(layer.operations[0], device)) return "codes that are not added up as integers";
  if (!sum->operand.chain.empty()) return "codes that are rescaled before they are added up";
  if (is_cut && pool_padding(layer, device) == PaddingCount::edge_repeated) return "edges that are repeated";
  if (has_partial_sums(sum->accumulator)) return "sums of several terms in an accumulator of their own";
  if (!holds_sums(*this, *sum) && !is_order_independent(sum->accumulator))
    return "sums that can leave their accumulator, where the order of the additions counts";
  return {};
}

std::optional<RowsBehind> CaseSet::behind(const Backend& device, std::span<const std::int64_t> some, const ProbeLayer& at_some) const {
  const OperationKind kind = layer.operations[0].kind;
  if (kind == OperationKind::mean) return behind_mean(*this, device, some);
  if (kind != OperationKind::mul && !(adds_up() && holds_sums(*this, *sum_by(layer, device)))) return std::nullopt;
  std::optional<LastChain> last = last_chain(at_some.layer, 0, device, pointers_to(at_some.inputs));
  if (!last) return std::nullopt;
  RowsBehind found{std::move(*last)};
  if (!adds_up()) return found;
  found.least = found.last.sums[0] - some[0];
  for (std::size_t i = 0; i < some.size(); ++i)
    if (found.last.sums[i] != found.sum(some[i])) return std::nullopt;
  return found;
}

LayerCases cases_of(const Model& layer) {
  using enum OperationKind;
  LayerCases found;
  const Operation& operation = layer.operations[0];
  CaseSet set{.form = CaseForm::codes, .layer = layer};
  if (goes_by_codes(operation.kind)) {
    add_codes(found, std::move(set));
  } else if (operation.kind == concat) {
    set.form = CaseForm::beside;
    add_codes(found, std::move(set));
  } else if (operation.kind == mean || operation.kind == average_pool2d || operation.kind == global_average_pool) {
    set.form = operation.kind == mean ? CaseForm::row : CaseForm::window;
    found.over = "every sum";
    set.tensors = {operation.inputs[0]};
    found.open = no_codes(layer.tensor(operation.inputs[0]));
    if (!found.open.empty()) return found;
    if (operation.kind == mean) add_rows(found, std::move(set));
    else add_windows(found, set);
  } else {
    found.open = std::string(name_of(operation.kind)) + " has no such cases";
  }
  return found;
}

}  // namespace lastbit
