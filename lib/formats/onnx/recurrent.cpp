// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// LSTM: an lstm for each direction, over the sequence turned round for the reverse one.
#include <algorithm>
#include <array>

#include "formats/onnx/operators.hpp"

namespace lastbit::onnx_format {
namespace {

/// Inputs of the operator.
constexpr std::size_t weights_at = 1, recurrence_at = 2, bias_at = 3, lengths_at = 4, hidden_at = 5, cell_at = 6, peepholes_at = 7;
constexpr std::size_t gates = 4;
/// Gates here are input, forget, cell, output; in the file input, output, forget, cell.
constexpr std::array<std::int64_t, gates> place_of_gate{0, 2, 3, 1};

struct LstmSizes {
  std::int64_t directions, steps, batch, inputs, cells;
};

/// Values [begin, begin + count) of a constant.
std::vector<float> part(const Tensor& values, std::int64_t begin, std::int64_t count) {
  const auto from = values.values<float>().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  return {from.begin(), from.end()};
}

class Direction {
 public:
  Direction(const NodeReader& node, const LstmSizes& sizes, std::int64_t number, bool reversed)
      : node_(node), graph_(node.graph()), sizes_(sizes), number_(number), reversed_(reversed) {}

  /// The outputs of all steps [steps, batch, cells], the last hidden state and the last cell state [batch, cells].
  [[nodiscard]] std::array<std::int32_t, 3> emit() {
    std::vector<std::int32_t> inputs{in_order(node_.plain()), state(hidden_at), state(cell_at)};
    for (const std::int64_t gate : place_of_gate) inputs.push_back(matrix(weights_at, gate, sizes_.inputs));
    for (const std::int64_t gate : place_of_gate) inputs.push_back(matrix(recurrence_at, gate, sizes_.cells));
    for (const std::int64_t gate : place_of_gate) inputs.push_back(bias(gate));
    const Shape all{sizes_.steps, sizes_.batch, sizes_.cells}, last{sizes_.batch, sizes_.cells};
    const std::array outputs{make("steps", all), make("hidden state", last), make("cell state", last)};
    LstmAttributes attributes;
    attributes.time_major = true;
    graph_.emit(OperationKind::lstm, std::move(inputs), {outputs.begin(), outputs.end()}, attributes);
    return {in_order(outputs[0]), outputs[1], outputs[2]};
  }

 private:
  [[nodiscard]] std::string label(const std::string& what) const {
    const auto& outputs = node_.source().output();
    return *std::ranges::find_if(outputs, [](const std::string& name) { return !name.empty(); }) + " (direction " +
           std::to_string(number_) + ", " + what + ")";
  }
  [[nodiscard]] std::int32_t make(const std::string& what, Shape shape) {
    return graph_.add_tensor(label(what), ElementType::float32, std::move(shape));
  }
  [[nodiscard]] std::int32_t constant(const std::string& what, Shape shape, const std::vector<float>& values) {
    return graph_.add_constant(label(what), Tensor::from<float>(std::move(shape), values));
  }

  /// A sequence in this direction, or back.
  [[nodiscard]] std::int32_t in_order(std::int32_t sequence) {
    if (!reversed_) return sequence;
    const Shape shape = graph_.tensor(sequence).shape;
    const std::int32_t turned = make("turned round", shape);
    graph_.emit(OperationKind::strided_slice, {sequence}, {turned}, SliceAttributes{.begin = {shape[0] - 1, 0, 0}, .strides = {-1, 1, 1}});
    return turned;
  }

  [[nodiscard]] std::int32_t state(std::size_t position) {
    const Shape shape{sizes_.batch, sizes_.cells};
    if (!node_.has_input(position)) return constant("no state", shape, std::vector<float>(static_cast<std::size_t>(shape.element_count())));
    const std::int32_t own = make("state", {1, shape[0], shape[1]});
    graph_.emit(OperationKind::slice, {node_.plain(position)}, {own}, SliceAttributes{.begin = {number_, 0, 0}, .strides = {}});
    return graph_.reshaped(own, shape, label("state"));
  }

  [[nodiscard]] std::int32_t matrix(std::size_t position, std::int64_t gate, std::int64_t columns) {
    const std::int64_t count = sizes_.cells * columns, begin = (number_ * static_cast<std::int64_t>(gates) + gate) * count;
    return constant("weights", {sizes_.cells, columns}, part(node_.constant(position), begin, count));
  }

  /// Of the inputs and of the states, together.
  [[nodiscard]] std::int32_t bias(std::int64_t gate) {
    std::vector<float> sum(static_cast<std::size_t>(sizes_.cells));
    for (std::int64_t half = 0; node_.has_input(bias_at) && half < 2; ++half) {
      const std::int64_t begin = ((number_ * 2 + half) * static_cast<std::int64_t>(gates) + gate) * sizes_.cells;
      const auto values = part(node_.constant(bias_at), begin, sizes_.cells);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    return constant("bias", {sizes_.cells}, sum);
  }

  const NodeReader& node_;
  Graph& graph_;
  const LstmSizes& sizes_;
  std::int64_t number_;
  bool reversed_;
};

LstmSizes sizes_of(const NodeReader& node) {
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") node.malformed("direction '" + direction + "'");
  const Shape &in = node.shape(), &recurrence = node.shape(recurrence_at);
  if (in.rank() != 3 || recurrence.rank() != 3) node.malformed("X is " + in.text() + ", R is " + recurrence.text());
  const LstmSizes sizes{direction == "bidirectional" ? 2 : 1, in[0], in[1], in[2], recurrence[2]};
  const auto rows = static_cast<std::int64_t>(gates) * sizes.cells;
  const auto require = [&](std::size_t position, const Shape& shape) {
    if (node.has_input(position) && node.shape(position) != shape)
      node.malformed("input " + std::to_string(position) + " is " + node.shape(position).text() + ", not " + shape.text());
    if (node.has_input(position) && node.input(position).type != ElementType::float32)
      node.unsupported("input " + std::to_string(position) + " of " + std::string(name_of(node.input(position).type)));
  };
  require(weights_at, {sizes.directions, rows, sizes.inputs});
  require(recurrence_at, {sizes.directions, rows, sizes.cells});
  require(bias_at, {sizes.directions, 2 * rows});
  require(hidden_at, {sizes.directions, sizes.batch, sizes.cells});
  require(cell_at, {sizes.directions, sizes.batch, sizes.cells});
  return sizes;
}

void require_plain_lstm(const NodeReader& node, const LstmSizes& sizes) {
  node.refuse("input_forget", "input_forget");
  node.refuse("layout", "layout 1");
  for (const char* const attribute : {"clip", "activations", "activation_alpha", "activation_beta"})
    if (node.has(attribute)) node.unsupported(attribute);
  if (node.has_input(peepholes_at)) node.unsupported("a peephole");
  if (!node.has_input(lengths_at)) return;
  for (const std::int64_t length : node.constant_integers(lengths_at))
    if (length != sizes.steps) node.unsupported("a sequence shorter than the others");
}

/// One direction's part each, joined along the axis of directions.
void emit_output(const NodeReader& node, std::size_t position, const std::vector<std::int32_t>& parts, const Shape& part,
                 std::int64_t axis) {
  if (!node.has_output(position)) return;
  const NodeReader output = node.only(position);
  std::vector<std::int64_t> sizes(part.sizes().begin(), part.sizes().end());
  sizes[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(parts.size());
  output.define(Shape(std::move(sizes)));
  if (parts.size() == 1) return output.emit_plain(OperationKind::reshape, {parts[0]});
  std::vector<std::int32_t> directions;
  for (const std::int32_t index : parts) directions.push_back(node.graph().reshaped(index, part, output.output().name + " (direction)"));
  output.emit_plain(OperationKind::concat, std::move(directions), ConcatAttributes{axis});
}

void read_lstm(const NodeReader& node) {
  node.require_inputs(3, 8);
  const LstmSizes sizes = sizes_of(node);
  require_plain_lstm(node, sizes);
  std::array<std::vector<std::int32_t>, 3> outputs;
  for (std::int64_t number = 0; number < sizes.directions; ++number) {
    const bool reversed = number == 1 || node.text("direction", "forward") == "reverse";
    const auto found = Direction(node, sizes, number, reversed).emit();
    for (std::size_t i = 0; i < found.size(); ++i) outputs[i].push_back(found[i]);
  }
  emit_output(node, 0, outputs[0], {sizes.steps, 1, sizes.batch, sizes.cells}, 1);
  for (std::size_t i = 1; i < outputs.size(); ++i) emit_output(node, i, outputs[i], {1, sizes.batch, sizes.cells}, 0);
}

constexpr Operator recurrent_table[] = {{"LSTM", read_lstm, Folding::never, 1, {}, 7}};

}  // namespace

std::span<const Operator> recurrent_operators() { return recurrent_table; }

}  // namespace lastbit::onnx_format
