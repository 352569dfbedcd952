// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/float16.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/prove/real_range.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/error.hpp"
#include "lastbit/float16_network.hpp"

namespace lastbit {
namespace {

/// Every sample of the inputs by itself, as float32.
std::vector<std::vector<Tensor>> real_samples(const Model& model, std::span<const Tensor> inputs) {
  if (inputs.size() != model.inputs.size())
    throw Error(ErrorCode::bad_input, "prove", "a float network is proven for the range of its inputs: they are needed");
  std::vector<std::vector<Tensor>> samples;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ModelTensor& wanted = model.tensor(model.inputs[i]);
    const Tensor all = is_integer(inputs[i].type()) ? dequantized(inputs[i], wanted.quantization) : inputs[i];
    const std::int64_t size = wanted.shape.element_count(), count = all.element_count() / size;
    if (all.type() != ElementType::float32 || count * size != all.element_count() || count == 0)
      throw Error(ErrorCode::shape_mismatch, "input '" + wanted.name + "'",
                  std::string(name_of(all.type())) + " " + all.shape().text() + "; float32 " + wanted.shape.text() +
                      ", or a leading dimension of samples more, is needed");
    if (i == 0) samples.resize(static_cast<std::size_t>(count));
    if (samples.size() != static_cast<std::size_t>(count))
      throw Error(ErrorCode::shape_mismatch, "input '" + wanted.name + "'", "as many samples as of the first input are needed");
    for (std::int64_t s = 0; s < count; ++s)
      samples[static_cast<std::size_t>(s)].push_back(Tensor::from<float>(
          wanted.shape, all.values<float>().subspan(static_cast<std::size_t>(s * size), static_cast<std::size_t>(size))));
  }
  return samples;
}

RealRange range_on_data(const TensorStatistics& seen) { return {seen.min, seen.max}; }

RealRanges known_ranges(const Model& model, const Calibration& calibration) {
  RealRanges ranges(model.tensors.size());
  const auto know = [&](std::size_t t) { ranges[t] = range_on_data(calibration.tensors[t]); };
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    if (model.tensors[t].constant) know(t);
  }
  for (const std::int32_t input : model.inputs) know(static_cast<std::size_t>(input));
  return ranges;
}

class Float16Prover {
 public:
  Float16Prover(const Model& model, const Backend& backend, const Calibration& calibration, InputRange range)
      : model_(model), backend_(backend), calibration_(calibration), range_(range), ranges_(known_ranges(model, calibration)) {}

  Float16Proof prove() {
    for (const std::int32_t input : model_.inputs) add(input, nullptr, magnitude_of(input), std::nullopt);
    for (const Operation& operation : model_.operations) {
      for (const std::int32_t input : operation.inputs) {
        if (input != absent_tensor && model_.tensor(input).constant) add(input, nullptr, magnitude_of(input), std::nullopt);
      }
      const RealResult result = real_range_after(model_, operation, backend_.float16, ranges_);
      for (const std::int32_t output : operation.outputs) {
        ranges_[static_cast<std::size_t>(output)] = result.output;
        add(output, &operation, magnitude_of(output), result.inside > 0 ? std::optional(result.inside) : std::nullopt);
        if (range_ == InputRange::data)
          ranges_[static_cast<std::size_t>(output)] = range_on_data(calibration_.tensors[static_cast<std::size_t>(output)]);
      }
    }
    return std::move(proof_);
  }

 private:
  [[nodiscard]] std::optional<double> magnitude_of(std::int32_t tensor) const {
    const auto& range = ranges_[static_cast<std::size_t>(tensor)];
    return range ? std::optional(range->magnitude()) : std::nullopt;
  }

  void add(std::int32_t tensor, const Operation* operation, std::optional<double> bound, std::optional<double> inside) {
    const TensorStatistics& seen = calibration_.tensors[static_cast<std::size_t>(tensor)];
    const double largest = seen.non_finite > 0 ? INFINITY : seen.largest_magnitude();
    const std::size_t place = proof_.tensors.size();
    if (largest >= first_beyond_float16 && !proof_.first_on_data) proof_.first_on_data = place;
    const bool stays = bound && std::max(*bound, inside.value_or(0)) <= largest_float16;
    if (!stays && !proof_.first_by_bound) proof_.first_by_bound = place;
    const bool constant = model_.tensor(tensor).constant.has_value();
    const std::string kind = operation != nullptr ? std::string(name_of(operation->kind)) : constant ? "constant" : "input";
    proof_.tensors.push_back(
        {model_.tensor(tensor).name, operation != nullptr ? operation->name : "", kind, constant, largest, bound, inside});
  }

  const Model& model_;
  const Backend& backend_;
  const Calibration& calibration_;
  InputRange range_;
  RealRanges ranges_;
  Float16Proof proof_;
};

std::vector<std::string> names_of(const Model& model, const OperationSet& set) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i]) names.push_back(model.operations[i].name);
  }
  return names;
}

std::vector<std::string> names_of(const Model& model, std::span<const std::size_t> operations) {
  std::vector<std::string> names;
  for (const std::size_t operation : operations) names.push_back(model.operations[operation].name);
  return names;
}

std::int64_t left_float16(const Model& model, const Backend& backend, std::span<const std::vector<Tensor>> samples) {
  const Model device = float16_network(model, without_float16(model, backend), backend.float16.conversion);
  const Emulator emulator(device, backend);
  std::int64_t left = 0;
  for (const std::vector<Tensor>& sample : samples) {
    for (const Events& events : emulator.run(sample, {.count_events = true}).events) left += events.saturated_outputs;
  }
  return left;
}

void add_rescaling(Float16Proof& proof, const Model& model, const Backend& backend, const Calibration& calibration,
                   std::span<const std::vector<Tensor>> samples) {
  const Rescaling rescaling = find_rescaling(model, calibration);
  for (const RescalingPair& pair : rescaling.pairs) {
    Float16Proof::Rescale& named = proof.rescale.emplace_back();
    for (const std::int32_t tensor : pair.tensors) named.tensors.push_back(model.tensor(tensor).name);
    named.before = names_of(model, pair.producers);
    named.behind = names_of(model, pair.consumers);
    named.bits = pair.exponent;
  }
  for (const UnscalableTensor& tensor : rescaling.refused) proof.unscalable.push_back(model.tensor(tensor.tensor).name);
  if (!rescaling.pairs.empty()) proof.left_after_rescaling = left_float16(rescaled(model, rescaling), backend, samples);
}

}  // namespace

bool is_float16_question(const Model& model, const Backend& backend) {
  if (backend.float16.method == Float16Method::absent) return false;
  const auto is_real_tensor = [](const ModelTensor& tensor) { return is_real(tensor.type); };
  return std::ranges::any_of(model.tensors, is_real_tensor) || !check(model, backend).empty();
}

ProveReport prove_float16(const Model& model, const SpecSheet& sheet, std::span<const Tensor> inputs, const ProveOptions& options) {
  if (options.bits) throw Error(ErrorCode::bad_input, "prove", "--bits asks about integer accumulators; this network runs in float16");
  const std::vector<std::vector<Tensor>> samples = real_samples(model, inputs);
  const Model real = float_network(model);
  const Calibration calibration = calibrate(real, samples, 1, options.threads);
  ProveReport report;
  report.model = model.name;
  report.backend = sheet.name;
  report.range = options.range;
  report.samples = static_cast<std::int64_t>(samples.size());
  report.float16 = Float16Prover(real, sheet.backend, calibration, options.range).prove();
  const OperationSet kept = smallest_float32_set(real, sheet.backend, calibration, samples);
  report.float16->keep = names_of(real, kept);
  report.assumptions = assumptions_of(float16_network(real, kept, sheet.backend.float16.conversion), sheet);
  if (report.float16->first_on_data) add_rescaling(*report.float16, real, sheet.backend, calibration, samples);
  report.float16->missing = names_of(real, without_float16(real, sheet.backend));
  return report;
}

}  // namespace lastbit
