// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/operation_memory.hpp"

#include <algorithm>

#include "engine/float16/prepare.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_layer.hpp"
#include "engine/ops/layer_parts.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

using enum OperationKind;

constexpr double table_bytes = 24 * 1024;  // of an operation: chains, tables by 8-bit codes
constexpr double block_bytes = 96 * 1024;  // of a thread: values that are worked on at a time

/// Elements of an operation's tensors.
struct Counts {
  double inputs = 0, constants = 0, outputs = 0, broadcast = 0;

  Counts(const Model& model, const Operation& operation) {
    for (const std::int32_t index : operation.outputs) outputs += count(model, index);
    for (const std::int32_t index : operation.inputs) {
      if (index == absent_tensor) continue;
      const double values = count(model, index);
      (model.tensor(index).constant ? constants : inputs) += values;
      if (values != outputs) broadcast += outputs;
    }
  }
  [[nodiscard]] double all() const { return inputs + constants + outputs; }

 private:
  static double count(const Model& model, std::int32_t index) { return static_cast<double>(model.tensor(index).shape.element_count()); }
};

bool is_conv(OperationKind kind) { return is_conv_layer(kind) || kind == matmul || kind == fused_conv2d; }

const AccumulatorRule* accumulator_of(const Model& model, const Operation& operation, const Backend& backend) {
  if (operation.kind == matmul) {
    const MatmulArithmetic* const arithmetic = matmul_arithmetic_of(model, operation, backend.matmul).second;
    return arithmetic == nullptr ? nullptr : &arithmetic->sum.accumulator;
  }
  const ConvByType& rules = operation.kind == depthwise_conv2d    ? backend.depthwise_conv
                            : operation.kind == transposed_conv2d ? backend.transposed_conv
                            : operation.kind == fully_connected   ? backend.fully_connected
                                                                  : backend.conv;
  const ConvArithmetic* const arithmetic = conv_arithmetic_of(model, operation, rules).second;
  return arithmetic == nullptr ? nullptr : &arithmetic->sum.accumulator;
}

double largest_magnitude(const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  return 2 * static_cast<double>(std::max(range.max, -range.min));  // a zero point lies in the range
}

/// Whatever the weights are, the sums stay in 32 bits and their order is free.
bool fits_32_bits(const Model& model, const Operation& operation, const Backend& backend, const ConvShape& shape) {
  const AccumulatorRule* const rule = accumulator_of(model, operation, backend);
  const bool plain = operation.kind != fused_conv2d && rule != nullptr && rule->bits >= 32 && !has_partial_sums(*rule);
  if (!plain || operation.inputs.size() > multiplier_input) return false;
  double largest = 0;
  const ModelTensor* const bias = input_tensor(model, operation, bias_input);
  if (bias != nullptr && !(bias->constant && is_integer(bias->type))) return false;
  for (std::int64_t i = 0; bias != nullptr && i < bias->shape.element_count(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(bias->constant->integer_at(i))));
  const double terms = static_cast<double>(shape.taps()) * largest_magnitude(model.tensor(operation.inputs[0])) *
                       largest_magnitude(model.tensor(operation.inputs[1]));
  return terms + largest < 0x1p31;
}

OperationMemory of_integer_sums(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor &input = model.tensor(operation.inputs[0]), &weights = model.tensor(operation.inputs[1]);
  if (!is_integer(input.type) || !is_integer(weights.type)) return {};
  const ConvShape shape = operation.kind == fused_conv2d ? fused_shape(model, operation) : sum_shape_of(model, operation);
  const Direction direction = operation.kind == transposed_conv2d ? Direction::transposed : Direction::forward;
  const bool bytes = size_of(input.type) == 1 && size_of(weights.type) == 1 && operation.kind != matmul;
  OperationMemory memory = memory_of(forward_geometry(shape, direction), {bytes, fits_32_bits(model, operation, backend, shape)});
  const Counts counts(model, operation);
  const auto sums = static_cast<double>(shape.out_count());
  if (operation.kind == fused_conv2d) memory.run += 32 * (sums + counts.outputs);
  if (operation.kind == matmul) {  // its weights are data: centred, turned and packed anew
    memory.run += memory.prepared + 16 * counts.all();
    memory.prepared = 16 * counts.outputs;
  }
  memory.prepared += table_bytes + 64 * static_cast<double>(shape.out_channels);  // scales in every encoding
  memory.thread += block_bytes;
  return memory;
}

/// What an operation holds of each value of its inputs and its outputs while it works, in bytes: where those of no block suffice, as with most.
struct PerValue {
  double inputs = 0, outputs = 0;
};

PerValue held_per_value(OperationKind kind) {
  switch (kind) {
    case concat:
    case bitwise_or:
    case bitwise_xor: return {4, 0};
    case softmax: return {16, 0};
    case argmax:
    case argmin:
    case l2_normalization:
    case dynamic_quantize: return {16, 16};
    case mean:
    case reduce_sum:
    case global_average_pool: return {0, 64};
    case resize: return {0, 32};
    case pwl:
    case sum_pool2d: return {24, 32};
    case recurrent: return {16, 64};
    case leaky_relu:
    case prelu:
    case svdf:
    case lstm: return {64, 64};
    case detection_postprocess: return {32, 32};
    case block_matmul: return {1, 0};
    default: return {};
  }
}

OperationMemory of_values(const Model& model, const Operation& operation) {
  const Counts counts(model, operation);
  const PerValue held = held_per_value(operation.kind);
  const double broadcast = operation.kind == concat ? 0 : 8 * counts.broadcast;
  const double runs =
      operation.kind == mean || operation.kind == reduce_sum ? 16 * counts.inputs : 0;  // where each begins, twice while they are found
  const double tables =
      operation.kind == lstm ? 8 * table_bytes : table_bytes;  // a chain for each product of a gate, and how it is counted
  return {tables + 16 * counts.constants + runs + broadcast, held.inputs * counts.inputs + held.outputs * counts.outputs, block_bytes};
}

/// Blocks of windows and of the matrix library; sums in double precision.
OperationMemory of_real(const Model& model, const Operation& operation) {
  const Counts counts(model, operation);
  constexpr double windows = 4 * 65536, blocks = 4 * 1024 * 1024;
  OperationMemory memory{table_bytes, 0, block_bytes};
  if (is_movement(operation.kind)) return memory;
  if (!is_conv(operation.kind) || operation.kind == fused_conv2d) {
    const bool only_sums = operation.kind == mean || operation.kind == reduce_sum || operation.kind == global_average_pool;
    const bool orders = operation.kind == detection_postprocess || operation.kind == top_k;  // lists, and room to sort them
    memory.run = 16 * counts.outputs + (only_sums ? 0 : orders ? 32 * counts.inputs : 8 * counts.inputs);
    return memory;
  }
  const ConvShape shape = sum_shape_of(model, operation);
  const double terms = static_cast<double>(shape.taps());
  const double columns = static_cast<double>(shape.out_channels * shape.kernel_height * shape.kernel_width);
  memory.run =
      windows + 4 * std::max(terms, columns) + std::min(blocks, 8 * counts.all() + 8 * terms) + 8 * static_cast<double>(shape.out_channels);
  if (operation.kind == transposed_conv2d) memory.run += 8 * counts.outputs;
  return memory;
}

/// Codes of the data as int16; sums of a pixel.
OperationMemory of_hybrid(const Model& model, const Operation& operation) {
  const Counts counts(model, operation);
  const auto channels = static_cast<double>(sum_shape_of(model, operation).out_channels);
  return {table_bytes + 8 * channels, 2 * counts.inputs + 4 * counts.outputs, block_bytes + 8 * channels};
}

/// Between dequantize and quantize: the operation's tensors in float32 while it runs, its constants as codes and in float32.
OperationMemory of_dequantized(const Model& model, const Operation& operation) {
  const Counts counts(model, operation);
  OperationMemory memory = of_real(model, operation);
  memory.prepared += 16 * counts.constants;
  memory.run += sizeof(float) * (counts.inputs + counts.outputs);
  return memory;
}

/// Factors of products as the machine's steps take them; of means, the terms of each.
OperationMemory of_float16(const Model& model, const Operation& operation) {
  const Counts counts(model, operation);
  OperationMemory memory{table_bytes, 0, block_bytes};
  if (is_conv(operation.kind) && operation.kind != fused_conv2d) {
    const ConvShape shape = sum_shape_of(model, operation);
    memory.run = 8 * (counts.inputs + 2 * counts.constants) + 64 * static_cast<double>(shape.taps() * shape.groups);
  } else if (operation.kind == mean || operation.kind == global_average_pool) {
    memory.run = 8 * counts.inputs + 48 * counts.outputs;
  } else if (operation.kind == quantize || operation.kind == softmax) {
    memory.run = 16 * counts.inputs;
  } else if (operation.kind == add || operation.kind == sub || operation.kind == mul || operation.kind == add_n ||
             operation.kind == prelu) {
    memory.run = 4 * counts.broadcast;
  }
  return memory;
}

}  // namespace

OperationMemory memory_of(const Model& model, const Operation& operation, const Backend& backend) {
  if (backend.domain == Domain::real) return of_real(model, operation);
  if (is_movement(operation.kind)) return of_values(model, operation);
  if (is_float16_operation(model, operation, backend)) return of_float16(model, operation);
  const ElementType type = model.tensor(operation.outputs[0]).type, from = model.tensor(operation.inputs[0]).type;
  if (is_hybrid(model, operation)) return of_hybrid(model, operation);
  if (type == ElementType::float32 && from == ElementType::float32) return of_real(model, operation);
  if (computes_in_float32(operation, backend)) return of_dequantized(model, operation);
  return is_conv(operation.kind) ? of_integer_sums(model, operation, backend) : of_values(model, operation);
}

}  // namespace lastbit
