// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float32/prepare.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/converted_input.hpp"
#include "engine/float/real.hpp"
#include "engine/operands.hpp"
#include "engine/resize_axes.hpp"
#include "lastbit/arith/float32_exponential.hpp"
#include "lastbit/arith/float32_function.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

template <class Function>
Executor map(Function function) {
  return [function](const Execution& run) {
    std::ranges::transform(run.inputs[0]->values<float>(), run.outputs[0].values<float>().begin(), function);
  };
}

/// An operation alone, on real numbers; its constants are those of the file in float32.
struct RealOperation {
  Model codes, real;
  Executor executor;

  [[nodiscard]] const Operation& operation() const { return real.operations.front(); }
  /// The tensor of the file at an input.
  [[nodiscard]] const ModelTensor& of_codes(std::size_t input) const { return codes.tensor(codes.operations.front().inputs[input]); }
};

/// A bias counts in the product of its layer's two scales, in float32, as exporters write it.
void dequantize_bias(RealOperation& alone) {
  const Operation& operation = alone.codes.operations.front();
  if (operation.inputs.size() <= bias_input || operation.inputs[bias_input] == absent_tensor || operation.kind == OperationKind::add_n)
    return;
  const ModelTensor& bias = alone.of_codes(bias_input);
  if (bias.quantization.present() || !bias.constant || !is_integer(bias.type)) return;
  const ModelTensor& input = alone.of_codes(0);
  const auto in = static_cast<float>(input.merged.value_or(input.quantization).scale());  // merged: as the file states it (held_codes.hpp)
  const Quantization& weights = alone.of_codes(1).quantization;
  const auto index = static_cast<std::size_t>(alone.operation().inputs[bias_input]);
  const std::span<float> values = alone.real.tensors[index].constant.edit().values<float>();
  for (std::size_t c = 0; c < values.size(); ++c)
    values[c] = static_cast<float>(bias.constant->integer_at(static_cast<std::int64_t>(c))) * (in * static_cast<float>(weights.scale(c)));
}

}  // namespace

Executor prepare_ordered_softmax(const Model& model, const Operation& operation) {
  const auto length = static_cast<std::size_t>(model.tensor(operation.inputs[0]).shape.back());
  return [length, beta = static_cast<float>(std::get<SoftmaxAttributes>(operation.attributes).beta)](const Execution& run) {
    const std::span<const float> input = run.inputs[0]->values<float>();
    const std::span<float> output = run.outputs[0].values<float>();
    std::vector<float> scaled(length);
    for (std::size_t row = 0; row < input.size(); row += length) {
      std::ranges::transform(input.subspan(row, length), scaled.begin(), [beta](float value) { return value * beta; });
      softmax_row_by_lanes(scaled, output.subspan(row, length));
    }
  };
}

Executor prepare_float32(const Model& model, const Operation& operation, const Backend& backend) {
  using enum OperationKind;
  const auto* const resized = std::get_if<ResizeAttributes>(&operation.attributes);
  if (resized != nullptr && resized->mode == ResizeMode::nearest) return prepare_nearest_resize(model, operation, backend.resize.nearest);
  if (backend.float32 == Float32Operations::golden) return prepare_real(model, operation);
  switch (operation.kind) {
    case conv2d:
    case depthwise_conv2d: return prepare_ordered_convolution(model, operation);
    case transposed_conv2d: return prepare_ordered_transposed(model, operation);
    case fully_connected: return prepare_ordered_fully_connected(model, operation);
    case matmul: return prepare_ordered_matmul(model, operation);
    case average_pool2d:
    case global_average_pool: return prepare_ordered_average_pool(model, operation);
    case mean: return prepare_ordered_mean(model, operation);
    case softmax: return prepare_ordered_softmax(model, operation);
    case OperationKind::exp: return map(exp_by_polynomial);
    case hard_swish: return map(hard_swish_by_steps);
    case logistic: return map(logistic_by_ratio);
    case OperationKind::tanh: return map(tanh_by_ratio);
    default: return prepare_real(model, operation);
  }
}

Executor prepare_dequantized(const Model& model, const Operation& operation, const Backend& backend) {
  const bool able = backend.float32 != Float32Operations::absent && backend.dequantize.arithmetic != DequantizeProduct::absent &&
                    backend.quantize.division != ScaleDivision::absent;
  if (!able) throw_unsupported(operation, "the backend lacks float32 operations, dequantize or quantize, between which this one is stated");
  auto alone = std::make_shared<RealOperation>();
  alone->codes = extract_operation(model, static_cast<std::size_t>(&operation - model.operations.data()));
  alone->real = dequantized(alone->codes);
  dequantize_bias(*alone);
  alone->executor = prepare_float32(alone->real, alone->operation(), backend);
  return [alone = std::shared_ptr<const RealOperation>(std::move(alone)), to_real = backend.dequantize,
          to_codes = backend.quantize](const Execution& run) {
    std::vector<Tensor> reals;
    std::vector<const Tensor*> inputs;
    reals.reserve(run.inputs.size());
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      const std::int32_t index = alone->operation().inputs[i];
      const bool given = index != absent_tensor && !alone->real.tensor(index).constant;
      if (given) reals.push_back(dequantized_by(to_real, *run.inputs[i], alone->of_codes(i).quantization));
      inputs.push_back(index == absent_tensor ? nullptr : given ? &reals.back() : &*alone->real.tensor(index).constant);
    }
    std::vector<Tensor> outputs;
    for (const Tensor& output : run.outputs) outputs.emplace_back(ElementType::float32, output.shape());
    alone->executor({inputs, outputs});
    for (std::size_t i = 0; i < outputs.size(); ++i)
      quantize_by(to_codes, outputs[i], alone->codes.tensor(alone->codes.operations.front().outputs[i]).quantization, run.outputs[i]);
  };
}

}  // namespace lastbit
