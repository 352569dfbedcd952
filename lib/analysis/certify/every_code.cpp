// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/certify/every_code.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "analysis/explain/layer_values.hpp"
#include "engine/finisher.hpp"
#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "sheet/delegated.hpp"

namespace lastbit {
namespace {

/// Values computed at once, on each side.
constexpr std::int64_t most_cases = std::int64_t{1} << 24;

enum class Form : std::uint8_t { of_codes, of_rows, other };

/// Whether each output comes from the codes in its own place, or from one row of codes.
Form form_of(OperationKind kind) {
  using enum OperationKind;
  switch (kind) {
    case add:
    case sub:
    case mul:
    case add_n:
    case OperationKind::div:
    case pow:
    case maximum:
    case minimum:
    case bitwise_or:
    case bitwise_xor:
    case less:
    case less_or_equal:
    case equal:
    case prelu:
    case requantize:
    case dequantize:
    case relu:
    case relu6:
    case relu_n1_to_1:
    case leaky_relu:
    case hard_swish:
    case logistic:
    case tanh:
    case clip:
    case cast:
    case exp:
    case abs:
    case neg:
    case OperationKind::log:
    case OperationKind::sqrt:
    case rsqrt:
    case OperationKind::erf:
    case elu:
    case OperationKind::floor:
    case round_half_even:
    case OperationKind::truncate:
    case pwl:
    case concat: return Form::of_codes;
    case mean:
    case reduce_sum: return Form::of_rows;
    default: return Form::other;
  }
}

std::vector<std::int64_t> every(const IntegerRange& range) {
  std::vector<std::int64_t> codes(static_cast<std::size_t>(range.max - range.min + 1));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = range.min + static_cast<std::int64_t>(i);
  return codes;
}

std::vector<std::int64_t> codes_in(const Tensor& constant) {
  std::set<std::int64_t> codes;
  for (std::int64_t i = 0; i < constant.element_count(); ++i) codes.insert(constant.integer_at(i));
  return {codes.begin(), codes.end()};
}

Tensor tensor_of(ElementType type, Shape shape, std::span<const std::int64_t> codes) {
  Tensor tensor(type, std::move(shape));
  store(codes, tensor);
  return tensor;
}

std::vector<std::int64_t> finished(const LastChain& last) {
  std::vector<std::int64_t> outputs(last.sums.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = finish(last.chain, last.sums[i], last.at(i));
  return outputs;
}

/// A layer of its own with other shapes, on both sides.
class Reshaped {
 public:
  Reshaped(const LayerOnBoth& layer, CodeRoute route)
      : route_(route),
        a_(extract_operation(layer.a.model(), layer.index)),
        b_(extract_operation(layer.b.model(), layer.b.index())),
        backend_a_(layer.a.backend()),
        backend_b_(layer.b.backend()) {
    for (Backend* const backend : {&backend_a_, &backend_b_}) backend->elsewhere = {};
  }

  [[nodiscard]] const Model& model() const { return a_; }
  [[nodiscard]] const Operation& operation() const { return a_.operations[0]; }

  template <class Change>
  void change(Change&& change) {
    for (Model* const model : {&a_, &b_}) change(*model);
  }

  /// Whether a delegate leaves the operation as it is now, on either side.
  [[nodiscard]] std::array<bool, 2> left() const {
    return {is_left(a_, a_.operations[0], backend_a_), is_left(b_, b_.operations[0], backend_b_)};
  }

  void run(std::span<const Tensor> inputs, EveryCode& found) const {
    if (route_ == CodeRoute::definition) {
      found.last_a = last_chain(a_, 0, backend_a_, places_of(a_, a_.operations[0], inputs));
      found.last_b = last_chain(b_, 0, backend_b_, places_of(b_, b_.operations[0], inputs));
    }
    found.a = found.last_a ? finished(*found.last_a) : layer_codes(a_, backend_a_, inputs);
    found.b = found.last_b ? finished(*found.last_b) : layer_codes(b_, backend_b_, inputs);
  }

 private:
  CodeRoute route_;
  Model a_, b_;
  Backend backend_a_, backend_b_;
};

ModelTensor& tensor_at(Model& model, std::int32_t index) { return model.tensors[static_cast<std::size_t>(index)]; }

EveryCode open_because(std::string reason) { return {.open = std::move(reason)}; }

/// One code of each of the operation's tensors in every place; constants give the codes that they hold.
class Places {
 public:
  Places(const LayerOnBoth& layer, CodeRoute route) : layer_(layer), alone_(layer, route) {
    for (std::size_t i = 0; i < layer.operation().inputs.size(); ++i) add(i);
  }

  [[nodiscard]] EveryCode compare() {
    if (!open_.empty()) return open_because(open_);
    const bool concatenates = layer_.operation().kind == OperationKind::concat;
    std::int64_t cases = concatenates ? 0 : 1;
    for (const auto& codes : codes_) {
      const auto count = static_cast<std::int64_t>(codes.size());
      if (concatenates) cases = std::max(cases, count);
      else if (cases > most_cases / count) return open_because("there are more than 2^24 combinations of codes");
      else cases *= count;
    }
    return concatenates ? compare_beside(cases) : compare_combined();
  }

 private:
  void add(std::size_t position) {
    const std::int32_t index = alone_.operation().inputs[position];
    if (index == absent_tensor || std::ranges::find(tensors_, index) != tensors_.end()) return;
    const ModelTensor& tensor = alone_.model().tensor(index);
    if (tensor.quantization.per_channel()) open_ = "its data have a scale per channel";
    if (!is_integer(tensor.type) || size_of(tensor.type) > 2) open_ = "its data are " + std::string(name_of(tensor.type));
    if (layer_.operation().kind == OperationKind::pwl && position > 0) return;  // the table
    if (!open_.empty()) return;
    tensors_.push_back(index);
    codes_.push_back(tensor.constant ? codes_in(*tensor.constant) : every(layer_.codes(position)));
    is_data_.push_back(!tensor.constant);
  }

  void set_shapes(const std::vector<Shape>& shapes, const Shape& output) {
    alone_.change([&](Model& model) {
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        tensor_at(model, tensors_[i]).shape = shapes[i];
        if (tensor_at(model, tensors_[i]).constant)
          tensor_at(model, tensors_[i]).constant = tensor_of(tensor_at(model, tensors_[i]).type, shapes[i], codes_[i]);
      }
      tensor_at(model, model.operations[0].outputs[0]).shape = output;
    });
  }

  [[nodiscard]] std::vector<Tensor> data() const {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const ModelTensor& tensor = alone_.model().tensor(tensors_[i]);
      if (is_data_[i]) inputs.push_back(tensor_of(tensor.type, tensor.shape, codes_[i]));
    }
    return inputs;
  }

  [[nodiscard]] std::vector<std::int64_t> data_inputs() const {
    std::vector<std::int64_t> places;
    std::int64_t next = 0;
    for (const bool is_data : is_data_) places.push_back(is_data ? next++ : -1);
    return places;
  }

  /// Two data tensors as large as all pairs; else every tensor along an axis of its own, so that broadcasting makes the pairs: of prelu the second one lies
  /// along the channels.
  EveryCode compare_combined() {
    if (tensors_.size() > 2) return open_because("it has more than two inputs");
    const bool in_pairs = tensors_.size() == 2;
    const bool side_by_side = in_pairs && is_data_[0] && is_data_[1];
    const auto rows = static_cast<std::int64_t>(codes_[0].size()), columns = in_pairs ? static_cast<std::int64_t>(codes_[1].size()) : 1;
    const Shape all{1, 1, rows, columns};
    EveryCode found{.by = in_pairs ? DecidedBy::pairs : DecidedBy::codes, .columns = columns, .data_inputs = data_inputs()};
    found.codes = [codes = codes_, is_data = is_data_, columns](std::size_t at) {
      const auto of_row = static_cast<std::size_t>(columns);
      std::vector<std::int64_t> one;
      for (std::size_t i = 0; i < codes.size(); ++i)
        if (is_data[i]) one.push_back(codes[i][i == 0 ? at / of_row : at % of_row]);
      return one;
    };
    if (side_by_side) pair_up();
    set_shapes(side_by_side ? std::vector{all, all} : std::vector{Shape{1, 1, rows, 1}, Shape{1, 1, 1, columns}}, all);
    alone_.run(data(), found);
    return found;
  }

  void pair_up() {
    std::vector<std::int64_t> a, b;
    for (const std::int64_t x : codes_[0]) {
      a.insert(a.end(), codes_[1].size(), x);
      b.insert(b.end(), codes_[1].begin(), codes_[1].end());
    }
    codes_ = {std::move(a), std::move(b)};
  }

  /// Of a concatenation: the inputs side by side, each with all its codes.
  EveryCode compare_beside(std::int64_t rows) {
    const auto inputs = static_cast<std::int64_t>(layer_.operation().inputs.size());
    if (static_cast<std::size_t>(inputs) != tensors_.size()) return open_because("a tensor is concatenated with itself");
    for (auto& codes : codes_) {
      const std::int64_t last = codes.back();
      codes.resize(static_cast<std::size_t>(rows), last);
    }
    set_shapes(std::vector<Shape>(tensors_.size(), Shape{1, 1, rows, 1}), Shape{1, 1, rows, inputs});
    alone_.change([](Model& model) { std::get<ConcatAttributes>(model.operations[0].attributes).axis = 3; });
    EveryCode found{.by = DecidedBy::codes, .columns = inputs, .data_inputs = data_inputs()};
    found.codes = [codes = codes_, is_data = is_data_](std::size_t at) {
      std::vector<std::int64_t> one;
      for (std::size_t i = 0; i < codes.size(); ++i)
        if (is_data[i]) one.push_back(codes[i][at / codes.size()]);
      return one;
    };
    alone_.run(data(), found);
    return found;
  }

  const LayerOnBoth& layer_;
  Reshaped alone_;
  std::string open_;
  std::vector<std::int32_t> tensors_;             ///< each once
  std::vector<std::vector<std::int64_t>> codes_;  ///< of each
  std::vector<bool> is_data_;
};

const SumArithmetic& row_rule(const LayerSide& side) {
  return side.operation.kind == OperationKind::mean ? mean_arithmetic_of(side.model(), side.operation, side.backend()).sum
                                                    : side.backend().reduce_sum;
}

/// A row of `count` codes whose sum is `count * codes.min + above`.
void fill_row(std::span<std::int64_t> row, const IntegerRange& codes, std::int64_t above) {
  for (std::int64_t& code : row) {
    const std::int64_t more = std::min(above, codes.max - codes.min);
    code = codes.min + more;
    above -= more;
  }
}

/// Every sum that a row can have: what a mean makes of a row depends on nothing else where its sum is one of integers.
EveryCode compare_rows(const LayerOnBoth& layer, CodeRoute route) {
  for (const LayerSide* const side : {&layer.a, &layer.b}) {
    const SumArithmetic& rule = row_rule(*side);
    if (computes_in_float32(side->operation, side->backend()) || !exists(rule))
      return open_because("one side does not add up integers here");
    if (!rule.operand.chain.empty()) return open_because("one side scales the codes before it adds them up");
    if (rule.accumulator.bits < 32) return open_because("the sums of one side have fewer than 32 bits");
  }
  const std::int32_t in = layer.operation().inputs[0], out = layer.operation().outputs[0];
  const ModelTensor& tensor = layer.a.model().tensor(in);
  if (!is_integer(tensor.type) || size_of(tensor.type) > 2 || tensor.quantization.per_channel())
    return open_because("its data are not codes of one scale");
  const IntegerRange codes = layer.codes(0);
  const std::int64_t count = tensor.shape.element_count() / layer.a.model().tensor(out).shape.element_count();
  const std::int64_t sums = count * (codes.max - codes.min) + 1;
  if (sums > most_cases / count) return open_because("its rows have more than 2^24 codes together");
  // What a delegate leaves for its axes is a row of two dimensions; what it takes is one of an image.
  const std::array left{is_left(layer.a.model(), layer.a.operation, layer.a.backend()),
                        is_left(layer.b.model(), layer.b.operation, layer.b.backend())};
  const bool of_image = !left[0] && !left[1];
  const Shape row_shape = of_image ? Shape{sums, 1, count, 1} : Shape{sums, count};
  Reshaped alone(layer, route);
  alone.change([&](Model& model) {
    auto& attributes = std::get<MeanAttributes>(model.operations[0].attributes);
    attributes = {.axes = of_image ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1}, .keep_dims = true};
    tensor_at(model, model.operations[0].inputs[0]).shape = row_shape;
    tensor_at(model, model.operations[0].outputs[0]).shape = of_image ? Shape{sums, 1, 1, 1} : Shape{sums, 1};
  });
  if (alone.left() != left) return open_because("which kernel computes it goes by axes that a row by itself does not have");
  const auto filled = [codes, count](std::int64_t sum) {
    std::vector<std::int64_t> row(static_cast<std::size_t>(count));
    fill_row(row, codes, sum);
    return row;
  };
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(sums * count));
  for (std::int64_t s = 0; s < sums; ++s) {
    const std::vector<std::int64_t> row = filled(s);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  EveryCode found{.by = DecidedBy::window_sums, .terms = count};
  found.codes = [filled](std::size_t at) { return filled(static_cast<std::int64_t>(at)); };
  const std::vector<Tensor> inputs{tensor_of(tensor.type, row_shape, rows)};
  alone.run(inputs, found);
  return found;
}

}  // namespace

std::optional<EveryCode> compare_every_code(const LayerOnBoth& layer, CodeRoute route) {
  const Form form = form_of(layer.operation().kind);
  if (form == Form::other) return std::nullopt;
  try {
    return form == Form::of_codes ? Places(layer, route).compare() : compare_rows(layer, route);
  } catch (const MemoryRefused&) {
    throw;
  } catch (const Error&) {
    return open_because("a side does not compute it by itself");
  }
}

}  // namespace lastbit
