// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected and matmul as layers: which tensors, which arithmetic, which scales.
#include "emulator/broadcast.hpp"
#include "emulator/finisher.hpp"
#include "emulator/geometry.hpp"
#include "emulator/operands.hpp"
#include "emulator/ops/convolution.hpp"
#include "emulator/ops/lowering.hpp"
#include "emulator/ops/prepare.hpp"
#include "lastbit/op/conv2d.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

const ConvByType& arithmetic_of(const Backend& backend, OperationKind kind) {
  switch (kind) {
    case OperationKind::depthwise_conv2d: return backend.depthwise_conv;
    case OperationKind::transposed_conv2d: return backend.transposed_conv;
    case OperationKind::fully_connected: return backend.fully_connected;
    case OperationKind::matmul: return backend.matmul;
    default: return backend.conv;
  }
}

const ConvArithmetic& select(const Model& model, const Operation& operation, const ConvByType& by_type) {
  const ConvArithmetic& chosen = *conv_arithmetic_of(model, operation, by_type).second;
  if (!chosen.rescale.chain.empty()) return chosen;
  throw_unsupported(operation,
                    "the backend has no arithmetic for " + std::string(name_of(model.tensor(operation.inputs[0]).type)) + " data");
}

const ModelTensor* input_tensor(const Model& model, const Operation& operation, std::size_t position) {
  if (position >= operation.inputs.size() || operation.inputs[position] == absent_tensor) return nullptr;
  return &model.tensor(operation.inputs[position]);
}

void require_integer_data(const Operation& operation, const ModelTensor& tensor) {
  if (!is_integer(tensor.type) || size_of(tensor.type) > 2 || tensor.type == ElementType::uint16) {
    throw_unsupported(operation,
                      "tensor '" + tensor.name + "' is " + std::string(name_of(tensor.type)) + "; int8, uint8 or int16 is needed");
  }
  if (tensor.type == ElementType::int16 && tensor.quantization.zero_point() != 0) {
    throw_unsupported(operation, "tensor '" + tensor.name + "' has zero point " + std::to_string(tensor.quantization.zero_point()) +
                                     "; 16-bit data needs 0");
  }
}

/// The largest magnitude of a value minus its zero point.
std::int64_t largest_centred(const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  const std::int64_t zero = tensor.quantization.zero_point();
  return std::max(range.max - zero, zero - range.min);
}

OutputBounds output_bounds(const Operation& operation) {
  if (const auto* conv = std::get_if<Conv2dAttributes>(&operation.attributes)) return conv->bounds;
  if (const auto* dense = std::get_if<FullyConnectedAttributes>(&operation.attributes)) return dense->bounds;
  return std::get<MatmulAttributes>(operation.attributes).bounds;
}

/// int32 without a scale, or with one per channel: the scales that a dequantize operation behind it applies.
bool delivers_accumulators(const ModelTensor& output) {
  return output.type == ElementType::int32 && (!output.quantization.present() || output.quantization.per_channel());
}

/// The chain with the operands of every output channel.
Finisher make_finisher(const Operation& operation, const ConvArithmetic& arithmetic, const ModelTensor& input, const Quantization& weights,
                       const ModelTensor& output, int accumulator_bits) {
  const OutputBounds bounds = output_bounds(operation);
  std::vector<RescaleOperands> operands;
  for (std::size_t o = 0; o < std::max<std::size_t>(1, weights.scales.size()); ++o) {
    const ScaleEncoding& encoding = arithmetic.rescale.scale;
    const double real = effective_scale(encoding.arithmetic, input.quantization.scale(), weights.scale(o), output.quantization.scale());
    operands.push_back(operands_for(encode(encoding, real), output, bounds_of(bounds, output)));
    operands.back().rectifier = rectifier_of(bounds.activation);
  }
  return Finisher(output_chain(operation, arithmetic.rescale.chain), std::move(operands), accumulator_bits);
}

ConvShape shape_of(const Model& model, const Operation& operation) {
  if (operation.kind != OperationKind::fully_connected) return conv_shape_of(model, operation);
  const Shape& weights = model.tensor(operation.inputs[1]).shape;
  const std::int64_t rows = model.tensor(operation.inputs[0]).shape.element_count() / weights[1];
  return {.in_width = rows, .in_channels = weights[1], .out_width = rows, .out_channels = weights[0]};
}

/// Depthwise weights [1, kh, kw, channels] as [channels, kh, kw, 1].
std::vector<std::int16_t> channels_first(const std::vector<std::int16_t>& weights, std::size_t channels) {
  std::vector<std::int16_t> out(weights.size());
  const std::size_t taps = weights.size() / channels;
  for (std::size_t t = 0; t < taps; ++t) {
    for (std::size_t c = 0; c < channels; ++c) out[c * taps + t] = weights[t * channels + c];
  }
  return out;
}

/// Weights minus zero points in the order of ConvShape.
std::vector<std::int16_t> centred_weights(const Operation& operation, const ModelTensor& info, const Tensor& weights,
                                          std::int64_t out_channels) {
  std::vector<std::int16_t> values(static_cast<std::size_t>(weights.element_count()));
  const bool depthwise = operation.kind == OperationKind::depthwise_conv2d;
  centre(weights, info.quantization.zero_points, depthwise ? 1 : values.size() / static_cast<std::size_t>(out_channels), values);
  return depthwise ? channels_first(values, static_cast<std::size_t>(out_channels)) : values;
}

void run_rows(const Convolution& convolution, const Finisher& finisher, bool raw, const Quantization& quantization, const Execution& run) {
  const ConvShape& shape = convolution.shape();
  std::vector<std::int16_t> input(static_cast<std::size_t>(run.inputs[0]->element_count()));
  centre(*run.inputs[0], quantization.zero_points, input.size(), input);
  std::vector<std::int64_t> row(static_cast<std::size_t>(shape.out_width * shape.out_channels));
  std::size_t offset = 0;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.out_height; ++y, offset += row.size()) {
      convolution.accumulate_row(input, n, y, row, run.events);
      if (!raw) finisher(row, run.events);
      store(row, run.outputs[0], offset);
    }
  }
}

}  // namespace

Executor prepare_convolution(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  const ModelTensor* const bias = input_tensor(model, operation, 2);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  require_integer_data(operation, input);
  require_integer_data(operation, weights);
  if (!weights.constant || (bias != nullptr && !bias->constant)) {
    throw_unsupported(operation, "weights and bias must be constants of the model");
  }
  const ConvShape shape = shape_of(model, operation);
  LoweredLayer lowered =
      lower_per_channel(select(model, operation, arithmetic_of(backend, operation.kind)),
                        {centred_weights(operation, weights, *weights.constant, shape.out_channels),
                         bias == nullptr ? std::vector<std::int64_t>{} : centred(*bias->constant, 0), weights.quantization},
                        input.quantization.scale());
  for (auto& value : lowered.values.bias) value = stored_bias(value, lowered.arithmetic.bias_bits, lowered.arithmetic.bias_rounding);
  const Direction direction = operation.kind == OperationKind::transposed_conv2d ? Direction::transposed : Direction::forward;
  Convolution convolution(shape, direction, lowered.arithmetic, std::move(lowered.values.weights), std::move(lowered.values.bias),
                          largest_centred(input));
  const bool raw = delivers_accumulators(output);
  Finisher finisher;
  if (!raw)
    finisher = make_finisher(operation, lowered.arithmetic, input, lowered.values.quantization, output, convolution.accumulator_bits());
  return [convolution = std::move(convolution), finisher = std::move(finisher), raw,
          quantization = input.quantization](const Execution& run) { run_rows(convolution, finisher, raw, quantization, run); };
}

namespace {

/// Rows of a matrix [rows, columns] of int16 values, or of its transpose.
std::vector<std::int16_t> matrix(std::span<const std::int16_t> values, std::int64_t rows, std::int64_t columns, bool transpose) {
  std::vector<std::int16_t> out(values.begin(), values.end());
  if (!transpose) return out;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      out[static_cast<std::size_t>(c * rows + r)] = values[static_cast<std::size_t>(r * columns + c)];
  }
  return out;
}

struct MatmulShape {
  std::int64_t rows, terms, columns;
  std::vector<std::int64_t> a_offsets, b_offsets;  ///< of each matrix of the batch
};

MatmulShape matmul_shape(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<MatmulAttributes>(operation.attributes);
  const Shape& a = model.tensor(operation.inputs[0]).shape;
  const Shape& b = model.tensor(operation.inputs[1]).shape;
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  MatmulShape shape{out[out.rank() - 2], a[a.rank() - (attributes.transpose_a ? 2U : 1U)], out.back(), {}, {}};
  const Shape batch(std::vector<std::int64_t>(out.sizes().begin(), out.sizes().end() - 2));
  const auto leading = [](const Shape& s) { return Shape(std::vector<std::int64_t>(s.sizes().begin(), s.sizes().end() - 2)); };
  shape.a_offsets = broadcast_offsets(leading(a), batch);
  shape.b_offsets = broadcast_offsets(leading(b), batch);
  for (auto& offset : shape.a_offsets) offset *= shape.rows * shape.terms;
  for (auto& offset : shape.b_offsets) offset *= shape.terms * shape.columns;
  return shape;
}

void require_per_column(const Operation& operation, const ModelTensor& b, bool transposed) {
  const auto rank = static_cast<std::int64_t>(b.shape.rank());
  const bool per_channel = b.quantization.per_channel() || b.quantization.zero_points.size() > 1;
  if (!per_channel || b.quantization.axis == rank - (transposed ? 2 : 1)) return;
  throw_unsupported(operation,
                    "the scales of '" + b.name + "' lie along axis " + std::to_string(b.quantization.axis) + ", not along its columns");
}

}  // namespace

Executor prepare_matmul(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& a = model.tensor(operation.inputs[0]);
  const ModelTensor& b = model.tensor(operation.inputs[1]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  require_integer_data(operation, a);
  require_integer_data(operation, b);
  const ConvArithmetic arithmetic = select(model, operation, backend.matmul);
  const bool raw = delivers_accumulators(output);
  // Scales and zero points of b go with its columns: neighbours in memory, or whole rows where b is stored transposed.
  const bool b_transposed = std::get<MatmulAttributes>(operation.attributes).transpose_b;
  const auto column_size = static_cast<std::size_t>(b_transposed ? b.shape.back() : 1);
  require_per_column(operation, b, b_transposed);
  const Finisher finisher = raw ? Finisher() : make_finisher(operation, arithmetic, a, b.quantization, output, arithmetic.accumulator.bits);
  return [=, attributes = std::get<MatmulAttributes>(operation.attributes), shape = matmul_shape(model, operation),
          a_quantization = a.quantization, b_quantization = b.quantization, largest = largest_centred(a)](const Execution& run) {
    std::vector<std::int16_t> left(static_cast<std::size_t>(run.inputs[0]->element_count()));
    std::vector<std::int16_t> right(static_cast<std::size_t>(run.inputs[1]->element_count()));
    centre(*run.inputs[0], a_quantization.zero_points, left.size(), left);
    centre(*run.inputs[1], b_quantization.zero_points, column_size, right);
    const ConvShape conv{.in_width = shape.rows, .in_channels = shape.terms, .out_width = shape.rows, .out_channels = shape.columns};
    std::vector<std::int64_t> row(static_cast<std::size_t>(shape.rows * shape.columns));
    for (std::size_t i = 0; i < shape.a_offsets.size(); ++i) {
      const auto part = [](const std::vector<std::int16_t>& from, std::int64_t offset, std::int64_t count) {
        return std::span(from).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
      };
      // The convolution wants the input as [rows, terms] and the weights as [columns, terms].
      const auto input = matrix(part(left, shape.a_offsets[i], shape.rows * shape.terms), shape.terms, shape.rows, attributes.transpose_a);
      auto weights =
          matrix(part(right, shape.b_offsets[i], shape.terms * shape.columns), shape.terms, shape.columns, !attributes.transpose_b);
      Convolution(conv, Direction::forward, arithmetic, std::move(weights), {}, largest).accumulate_row(input, 0, 0, row, run.events);
      if (!raw) finisher(row, run.events);
      store(row, run.outputs[0], i * row.size());
    }
  };
}

}  // namespace lastbit
