// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tensor may be scaled where everything that writes and reads it either passes the factor on (relu, pools, sums, movements) or has constants
// that take it. Factors are powers of two: of the real values nothing changes but those in between.
#include "analysis/advise/float16_rescaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/advise/search.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit {
namespace {

constexpr double comfortable = largest_float16 / 2;  ///< a bit to spare
constexpr int histogram_bins = 64;
constexpr int most_rounds = 8;

bool is_homogeneous(const OutputBounds& bounds) {
  return !bounds.real_clamp && !bounds.clamp && bounds.accumulator_clip.empty() &&
         (bounds.activation == Activation::none || bounds.activation == Activation::relu);
}

bool has_homogeneous_bounds(const Operation& operation) {
  return std::visit(
      []<class T>(const T& attributes) {
        if constexpr (requires { attributes.bounds; }) return is_homogeneous(attributes.bounds);
        else if constexpr (std::is_same_v<T, ConcatAttributes>)
          return attributes.activation == Activation::none || attributes.activation == Activation::relu;
        else if constexpr (std::is_same_v<T, PadAttributes>) return attributes.real_value.value_or(0) == 0;
        else return true;
      },
      operation.attributes);
}

bool is_constant(const Model& model, std::int32_t index) { return index == absent_tensor || model.tensor(index).constant.has_value(); }

/// f(x * s) = f(x) * s for s > 0, in all data inputs together.
bool passes_factor(const Operation& operation) {
  using enum OperationKind;
  switch (operation.kind) {
    case relu:
    case leaky_relu:
    case prelu:
    case max_pool2d:
    case average_pool2d:
    case sum_pool2d:
    case global_average_pool:
    case mean:
    case concat:
    case OperationKind::add:
    case sub:
    case add_n:
    case resize: return has_homogeneous_bounds(operation);
    default: return is_movement(operation.kind) && has_homogeneous_bounds(operation);
  }
}

/// Which input of the operation is data, if all others are constants that can take a factor.
std::optional<std::size_t> absorbing_input(const Model& model, const Operation& operation) {
  using enum OperationKind;
  const OperationKind kind = operation.kind;
  const bool sums = kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected;
  if ((!sums && kind != mul) || !has_homogeneous_bounds(operation)) return std::nullopt;
  std::optional<std::size_t> data;
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
    if (is_constant(model, operation.inputs[i])) continue;
    if (data) return std::nullopt;
    data = i;
  }
  return sums && data != std::size_t{0} ? std::nullopt : data;
}

std::string place(const Operation& operation) { return std::string(name_of(operation.kind)) + " '" + operation.name + "'"; }

/// The tensors that share a factor with one.
class Region {
 public:
  Region(const Model& model, std::int32_t start) : model_(model) {
    add(start);
    while (!open_.empty() && refusal.empty()) {
      const std::int32_t tensor = open_.back();
      open_.pop_back();
      visit(tensor);
    }
  }

  std::set<std::int32_t> tensors;
  std::set<std::size_t> producers, consumers;
  std::string refusal;

 private:
  void add(std::int32_t tensor) {
    if (is_constant(model_, tensor)) return;  // scaled with the operation that reads it
    if (tensors.insert(tensor).second) open_.push_back(tensor);
  }

  void visit(std::int32_t tensor) {
    const auto among = [&](const std::vector<std::int32_t>& list) { return std::ranges::find(list, tensor) != list.end(); };
    const bool is_state = std::ranges::any_of(model_.states, [&](const State& s) { return s.before == tensor || s.after == tensor; });
    const std::string name = "'" + model_.tensor(tensor).name + "' is ";
    if (among(model_.inputs)) refusal = name + "an input of the model";
    if (among(model_.outputs)) refusal = name + "an output of the model";
    if (is_state) refusal = name + "a state of the model";
    for (std::size_t i = 0; i < model_.operations.size() && refusal.empty(); ++i) {
      const Operation& operation = model_.operations[i];
      const bool writes = among(operation.outputs), reads = among(operation.inputs);
      if (writes || reads) pass(i, writes, reads);
    }
  }

  void pass(std::size_t position, bool writes, bool reads) {
    const Operation& operation = model_.operations[position];
    if (passes_factor(operation)) {
      for (const std::int32_t index : operation.inputs) add(index);
      for (const std::int32_t index : operation.outputs) add(index);
      return;
    }
    if (!absorbing_input(model_, operation)) {
      refusal = place(operation) + " is not linear, or has no constants that could take the factor";
      return;
    }
    if (writes) producers.insert(position);
    if (reads) consumers.insert(position);
  }

  const Model& model_;
  std::vector<std::int32_t> open_;
};

int exponent_for(double largest) {
  return largest < first_beyond_float16 ? 0 : static_cast<int>(std::ceil(std::log2(largest / comfortable)));
}

/// What the range of every tensor asks for; constants ask for their operation's output.
std::vector<int> exponents_of(const Model& model, const Calibration& calibration) {
  std::vector<int> exponents(model.tensors.size());
  for (const Operation& operation : model.operations) {
    for (const auto* list : {&operation.inputs, &operation.outputs}) {
      for (const std::int32_t index : *list) {
        if (index == absent_tensor) continue;
        const auto at = static_cast<std::size_t>(is_constant(model, index) ? operation.outputs[0] : index);
        exponents[at] = std::max(exponents[at], exponent_for(calibration.tensors[static_cast<std::size_t>(index)].largest_magnitude()));
      }
    }
  }
  return exponents;
}

void scale_constant(Model& model, std::int32_t& index, int exponent) {
  if (index == absent_tensor || exponent == 0) return;
  std::ptrdiff_t readers = 0;
  for (const Operation& operation : model.operations) readers += std::ranges::count(operation.inputs, index);
  if (readers > 1) {
    ModelTensor copy = model.tensor(index);
    copy.name += " (rescaled)";
    index = static_cast<std::int32_t>(model.tensors.size());
    model.tensors.push_back(std::move(copy));
  }
  for (float& value : model.tensors[static_cast<std::size_t>(index)].constant.edit().values<float>()) value = std::ldexp(value, exponent);
}

}  // namespace

Rescaling rescaling_for(const Model& model, const std::vector<int>& exponents) {
  Rescaling result;
  std::set<std::int32_t> done;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const auto tensor = static_cast<std::int32_t>(t);
    if (exponents[t] == 0 || done.contains(tensor)) continue;
    const Region region(model, tensor);
    if (!region.refusal.empty()) {
      result.refused.push_back({tensor, region.refusal});
      continue;
    }
    RescalingPair pair{{region.tensors.begin(), region.tensors.end()},
                       {region.producers.begin(), region.producers.end()},
                       {region.consumers.begin(), region.consumers.end()},
                       0};
    for (const std::int32_t index : pair.tensors) pair.exponent = std::max(pair.exponent, exponents[static_cast<std::size_t>(index)]);
    done.insert(region.tensors.begin(), region.tensors.end());
    result.pairs.push_back(std::move(pair));
  }
  return result;
}

Rescaling find_rescaling(const Model& model, const Calibration& calibration) {
  return rescaling_for(model, exponents_of(model, calibration));
}

Model rescaled(const Model& model, const Rescaling& rescaling) {
  Model changed = model;
  std::vector<int> exponents(model.tensors.size());
  for (const RescalingPair& pair : rescaling.pairs) {
    for (const std::int32_t tensor : pair.tensors) exponents[static_cast<std::size_t>(tensor)] = pair.exponent;
  }
  const auto exponent = [&](std::int32_t tensor) { return exponents[static_cast<std::size_t>(tensor)]; };
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    const int output = exponent(operation.outputs[0]);
    std::vector<std::int32_t>& inputs = changed.operations[i].inputs;
    if (const auto data = absorbing_input(model, operation)) {
      const int gained = exponent(operation.inputs[*data]) - output;
      for (std::size_t input = 0; input < inputs.size(); ++input) {
        if (input != *data) scale_constant(changed, inputs[input], input == bias_input ? -output : gained);
      }
    } else if (passes_factor(operation) && operation.kind != OperationKind::prelu) {
      for (std::int32_t& input : inputs) {
        if (is_constant(model, input)) scale_constant(changed, input, -output);
      }
    }
  }
  return changed;
}

namespace {

class Float16Adviser {
 public:
  Float16Adviser(const Model& model, const Backend& a, const Backend& b, std::span<const std::vector<Tensor>> samples)
      : a_(a), b_(b), samples_(samples), model_(model), calibration_(calibrate(model, samples, histogram_bins)) {}

  Float16Advice run() {
    Float16Advice advice;
    for (const TensorStatistics& statistics : calibration_.tensors) {
      const bool seen = statistics.values > 0;
      advice.headroom.push_back(seen ? float16_headroom(statistics.largest_magnitude()) : std::numeric_limits<double>::quiet_NaN());
    }
    advice.alone = figures(model_, without_float16(model_, b_));
    advice.kept = advice.alone;
    if (advice.alone.left > 0) advice.kept = figures(model_, smallest_float32_set(model_, b_, calibration_, samples_));
    advice.rescaling = find();
    const Model changed = rescaled(model_, advice.rescaling);
    const Calibration calibration = calibrate(changed, samples_, histogram_bins);
    advice.with_rescaling = figures(changed, smallest_float32_set(changed, b_, calibration, samples_));
    return advice;
  }

 private:
  [[nodiscard]] Float16Figures figures(const Model& model, const OperationSet& kept) const {
    Float16Figures result;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) result.kept.push_back(i);
    }
    for (const std::int64_t count : left(model, kept)) result.left += count;
    Judge judge(model, a_, b_, samples_);
    for (const Agreement& one : judge.judge(result.kept, samples_.size())) result.agreement.add(one);
    return result;
  }

  /// Values that left float16, by operation of the float model; casts count for what they convert.
  [[nodiscard]] std::vector<std::int64_t> left(const Model& model, const OperationSet& kept) const {
    const Model device = float16_network(model, kept, b_.float16.conversion);
    const Emulator emulator(device, b_);
    std::vector<std::int64_t> counts(model.operations.size());
    for (const std::vector<Tensor>& sample : samples_) {
      const Trace trace = emulator.run(sample, {.count_events = true});
      std::size_t at = 0;
      for (std::size_t i = 0; i < device.operations.size(); ++i) {
        counts[std::min(at, counts.size() - 1)] += trace.events[i].saturated_outputs;
        if (device.operations[i].kind != OperationKind::cast) ++at;
      }
    }
    return counts;
  }

  /// Ranges first; then operations in which values leave float16 on the way get one bit more, round by round.
  [[nodiscard]] Rescaling find() const {
    std::vector<int> exponents = exponents_of(model_, calibration_);
    Rescaling best = rescaling_for(model_, exponents);
    for (int round = 0; round < most_rounds; ++round) {
      const std::vector<std::int64_t> counts = left(rescaled(model_, best), without_float16(model_, b_));
      bool changed = false;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::int32_t output = model_.operations[i].outputs[0];
        if (counts[i] == 0 || !Region(model_, output).refusal.empty()) continue;
        exponents[static_cast<std::size_t>(output)] = exponent_now(best, output) + 1;
        changed = true;
      }
      if (!changed) break;
      best = rescaling_for(model_, exponents);
    }
    return best;
  }

  static int exponent_now(const Rescaling& rescaling, std::int32_t tensor) {
    for (const RescalingPair& pair : rescaling.pairs) {
      if (std::ranges::find(pair.tensors, tensor) != pair.tensors.end()) return pair.exponent;
    }
    return 0;
  }

  const Backend& a_;
  const Backend& b_;
  std::span<const std::vector<Tensor>> samples_;
  const Model& model_;
  Calibration calibration_;
};

}  // namespace

Float16Advice advise_float16(const Model& model, const Backend& a, const Backend& b, std::span<const std::vector<Tensor>> samples) {
  return Float16Adviser(model, a, b, samples).run();
}

}  // namespace lastbit
