// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer's output in another scale: the same accumulators, finished with other operands.
#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/advise/census.hpp"
#include "engine/operands.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {
namespace {

/// Operations whose output may have to have the quantisation of their input.
bool may_copy_quantization(OperationKind kind) {
  using enum OperationKind;
  return is_movement(kind) || kind == max_pool2d || kind == average_pool2d || kind == global_average_pool || kind == mean ||
         kind == concat || kind == relu || kind == relu6 || kind == relu_n1_to_1 || kind == clip || kind == sum_pool2d || kind == resize ||
         kind == maximum || kind == minimum || kind == reduce_max || kind == reduce_min;
}

/// Tensors that hold codes of one quantisation because they are copied from one another.
std::set<std::int32_t> tied_tensors(const Model& model, std::int32_t start) {
  const Quantization& quantization = model.tensor(start).quantization;
  std::set<std::int32_t> tied{start};
  for (bool grows = true; grows;) {
    const std::size_t before = tied.size();
    for (const Operation& operation : model.operations) {
      if (!may_copy_quantization(operation.kind)) continue;
      std::vector<std::int32_t> of_operation = operation.outputs;
      for (const std::int32_t input : operation.inputs) {
        if (input != absent_tensor && !model.tensor(input).constant) of_operation.push_back(input);
      }
      if (std::ranges::none_of(of_operation, [&](std::int32_t index) { return tied.contains(index); })) continue;
      for (const std::int32_t index : of_operation) {
        if (model.tensor(index).quantization == quantization) tied.insert(index);
      }
    }
    grows = tied.size() > before;
  }
  return tied;
}

std::int64_t rescaled_code(std::int64_t code, std::int64_t zero_point, double factor, const IntegerRange& range) {
  return std::clamp(zero_point + static_cast<std::int64_t>(std::llround(static_cast<double>(code - zero_point) / factor)), range.min,
                    range.max);
}

/// A bias of its own for a layer whose input counts in another scale.
void rescale_bias(Model& model, Operation& operation, double factor) {
  const bool takes_bias =
      is_conv_layer(operation.kind) && operation.inputs.size() > bias_input && operation.inputs[bias_input] != absent_tensor;
  if (!takes_bias || !model.tensor(operation.inputs[bias_input]).constant) return;
  ModelTensor bias = model.tensor(operation.inputs[bias_input]);
  if (!is_integer(bias.type)) return;
  const IntegerRange range = range_of(bias.type);
  for (double& scale : bias.quantization.scales) scale *= factor;
  visit_element_type(bias.type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (T& value : bias.constant->values<T>()) value = static_cast<T>(rescaled_code(value, 0, factor, range));
    }
  });
  operation.inputs[bias_input] = static_cast<std::int32_t>(model.tensors.size());
  bias.name += " of " + operation.name;
  model.tensors.push_back(std::move(bias));
}

/// Bounds and padding in codes of a tensor whose scale changed keep their real values.
void rescale_codes(const Model& model, Operation& operation, double factor) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const IntegerRange range = range_of(output.type);
  const auto move = [&](std::int64_t& code) { code = rescaled_code(code, output.quantization.zero_point(), factor, range); };
  std::visit(
      [&]<class T>(T& attributes) {
        if constexpr (requires { attributes.bounds; }) {
          if (attributes.bounds.clamp) move(attributes.bounds.clamp->min), move(attributes.bounds.clamp->max);
        } else if constexpr (std::is_same_v<T, PadAttributes>) {
          if (attributes.value) move(*attributes.value);
        }
      },
      operation.attributes);
}

std::vector<float> reals_of(std::span<const std::int64_t> codes, const Quantization& quantization) {
  std::vector<float> values;
  for (const std::int64_t code : codes)
    values.push_back(static_cast<float>(quantization.scale() * static_cast<double>(code - quantization.zero_point())));
  return values;
}

/// One layer, its accumulators on both sides and its values in float.
class Sweep {
 public:
  Sweep(const Model& model, std::size_t operation, const Backend& a, const Backend& b, std::span<const Tensor> inputs)
      : layer_(extract_operation(model, operation)),
        a_(a),
        b_(b),
        of_a_(layer_sums(layer_, 0, a, inputs)),
        of_b_(layer_sums(layer_, 0, b, inputs)) {
    if (!possible()) return;
    const Side real(layer_, float_golden);
    for (const Tensor& input : inputs) {
      const Tensor output = output_of(layer_, real, input);
      truth_.insert(truth_.end(), output.values<float>().begin(), output.values<float>().end());
      float_outputs_.push_back(output);
    }
  }

  [[nodiscard]] bool possible() const { return of_b_ && (of_a_ || a_.domain == Domain::real); }

  [[nodiscard]] std::optional<ScaleTrial> at(double factor) const {
    const Model changed = with_output_scale(layer_, 0, factor);
    if (!check(changed, b_).empty() || !check(changed, a_).empty()) return std::nullopt;
    const Operation& operation = changed.operations[0];
    const Quantization& quantization = changed.tensor(operation.outputs[0]).quantization;
    const auto operands_b = conv_layer(changed, operation, b_).operands;
    const auto operands_a = of_a_ ? conv_layer(changed, operation, a_).operands : std::vector<RescaleOperands>{};
    const Side side_b(changed, b_);
    ScaleTrial figures{.factor = factor};
    std::vector<float> mine;
    for (std::size_t s = 0; s < float_outputs_.size(); ++s) {
      const std::vector<std::int64_t> codes = finished(*of_b_, s, operands_b);
      const std::vector<std::int64_t> wanted =
          of_a_ ? finished(*of_a_, s, operands_a) : codes_of(side_b.in_form(float_outputs_[s], operation.outputs[0]));
      figures.values += static_cast<std::int64_t>(codes.size());
      for (std::size_t i = 0; i < codes.size(); ++i) figures.differing += codes[i] != wanted[i] ? 1 : 0;
      const std::vector<float> reals = reals_of(codes, quantization);
      mine.insert(mine.end(), reals.begin(), reals.end());
    }
    const ElementMetrics metrics = element_metrics(mine, truth_);
    figures.sqnr_db = metrics.sqnr_db;
    figures.cosine = metrics.cosine;
    return figures;
  }

 private:
  static std::vector<std::int64_t> codes_of(const Tensor& tensor) {
    std::vector<std::int64_t> codes;
    for (std::int64_t i = 0; i < tensor.element_count(); ++i) codes.push_back(tensor.integer_at(i));
    return codes;
  }

  Model layer_;
  const Backend& a_;
  const Backend& b_;
  std::optional<LayerSums> of_a_, of_b_;
  std::vector<Tensor> float_outputs_;
  std::vector<float> truth_;
};

}  // namespace

Model with_output_scale(const Model& model, std::size_t operation, double factor) {
  Model changed = model;
  const std::set<std::int32_t> tied = tied_tensors(model, model.operations[operation].outputs[0]);
  for (const std::int32_t index : tied) {
    for (double& scale : changed.tensors[static_cast<std::size_t>(index)].quantization.scales) scale *= factor;
  }
  for (Operation& at : changed.operations) {
    if (!at.inputs.empty() && tied.contains(at.inputs[0])) rescale_bias(changed, at, factor);
    if (tied.contains(at.outputs[0])) rescale_codes(changed, at, factor);
  }
  return changed;
}

std::vector<ScaleTrial> scale_sweep(const Model& model, std::size_t operation, const Backend& a, const Backend& b,
                                    std::span<const Tensor> inputs, std::span<const double> factors) {
  std::vector<ScaleTrial> tried;
  const Sweep sweep(model, operation, a, b, inputs);
  if (!sweep.possible()) return tried;
  for (const double factor : factors) {
    if (const auto figures = sweep.at(factor)) tried.push_back(*figures);
  }
  return tried;
}

}  // namespace lastbit
