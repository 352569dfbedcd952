// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/shrink/crop.hpp"
#include "analysis/shrink/ddmin.hpp"
#include "analysis/shrink/reduce.hpp"

namespace lastbit {
namespace {

using enum OperationKind;

/// One element of an input or a constant.
struct Element {
  std::int32_t tensor = 0;
  std::int64_t at = 0;
};

std::int64_t zero_of(const LayerCase& layer, const Element& element) {
  const ModelTensor& tensor = layer.tensor(element.tensor);
  if (!tensor.quantization.per_channel()) return tensor.quantization.zero_point();
  const auto channel = coordinates(tensor.shape, element.at)[static_cast<std::size_t>(tensor.quantization.axis)];
  return tensor.quantization.zero_point(static_cast<std::size_t>(channel));
}

/// The distance of an integer from its zero point; of a float, its value truncated away from zero.
std::int64_t distance_of(const LayerCase& layer, const Element& element) {
  const Tensor& values = *layer.values(element.tensor);
  if (is_integer(values.type())) return values.integer_at(element.at) - zero_of(layer, element);
  return visit_element_type(values.type(), [&]<class T>() -> std::int64_t {
    double value = 0;
    if constexpr (std::is_arithmetic_v<T>) value = static_cast<double>(values.values<T>()[static_cast<std::size_t>(element.at)]);
    else value = static_cast<double>(values.values<T>()[static_cast<std::size_t>(element.at)]);
    if (!std::isfinite(value) || std::abs(value) > 1e9) return value < 0 ? -1000000000 : 1000000000;
    return static_cast<std::int64_t>(value < 0 ? std::floor(value) : std::ceil(value));
  });
}

/// False where the type cannot hold it exactly.
bool set_distance(LayerCase& layer, const Element& element, std::int64_t distance) {
  Tensor& values = *layer.values(element.tensor);
  const std::int64_t value = is_integer(values.type()) ? distance + zero_of(layer, element) : distance;
  return visit_element_type(values.type(), [&]<class T>() {
    if constexpr (std::is_same_v<T, Float16>) {
      constexpr Float16 one{0x3C00}, minus_one{0xBC00};
      if (value < -1 || value > 1) return false;
      values.values<T>()[static_cast<std::size_t>(element.at)] = value == 0 ? Float16{} : value > 0 ? one : minus_one;
      return true;
    } else {
      const T narrowed = static_cast<T>(value);
      values.values<T>()[static_cast<std::size_t>(element.at)] = narrowed;
      return static_cast<std::int64_t>(narrowed) == value;
    }
  });
}

std::vector<Element> nonzero_elements(const LayerCase& layer) {
  std::vector<Element> found;
  for (std::int32_t tensor = 0; tensor < static_cast<std::int32_t>(layer.layer.tensors.size()); ++tensor) {
    const Tensor* const values = layer.values(tensor);
    for (std::int64_t at = 0; values != nullptr && at < values->element_count(); ++at)
      if (distance_of(layer, {tensor, at}) != 0) found.push_back({tensor, at});
  }
  return found;
}

bool accept(LayerCase& best, LayerCase candidate, Oracle& oracle) {
  if (!oracle.holds(candidate)) return false;
  best = std::move(candidate);
  return true;
}

/// From the least to the greatest: 0, powers of two, half, one less.
std::vector<std::int64_t> nearer(std::int64_t distance) {
  std::vector<std::int64_t> result{0};
  const std::int64_t sign = distance < 0 ? -1 : 1, size = std::abs(distance);
  for (std::int64_t power = 1; power < size; power *= 2) result.push_back(sign * power);
  if (size > 2) result.insert(result.end(), {sign * (size / 2), sign * (size - 1)});
  return result;
}

bool move_nearer(LayerCase& best, const Element& element, Oracle& oracle) {
  for (const std::int64_t distance : nearer(distance_of(best, element))) {
    LayerCase candidate = best;
    if (set_distance(candidate, element, distance) && accept(best, std::move(candidate), oracle)) return true;
  }
  return false;
}

void drop_optional_input(LayerCase& best, std::size_t position, Oracle& oracle) {
  if (!is_sum_of_taps(best.operation().kind) || !best.has_input(position)) return;
  LayerCase candidate = best;
  candidate.operation().inputs[position] = absent_tensor;
  accept(best, std::move(candidate), oracle);
}

/// Scales that are 32-bit floats, as most files have them: all, or tensor by tensor.
void round_scales(LayerCase& best, Oracle& oracle) {
  const auto round = [](ModelTensor& tensor) {
    const std::vector<double> before = tensor.quantization.scales;
    for (double& scale : tensor.quantization.scales) scale = static_cast<double>(static_cast<float>(scale));
    return tensor.quantization.scales != before;
  };
  LayerCase all = best;
  bool changed = false;
  for (ModelTensor& tensor : all.layer.tensors) changed = round(tensor) || changed;
  if (!changed || accept(best, std::move(all), oracle)) return;
  for (std::size_t i = 0; i < best.layer.tensors.size(); ++i) {
    LayerCase candidate = best;
    if (round(candidate.layer.tensors[i])) accept(best, std::move(candidate), oracle);
  }
}

void drop_activation(LayerCase& best, Oracle& oracle) {
  OutputBounds* const bounds = bounds_of(best.operation());
  if (bounds == nullptr || *bounds == OutputBounds{}) return;
  LayerCase candidate = best;
  *bounds_of(candidate.operation()) = {};
  accept(best, std::move(candidate), oracle);
}

// A single tap.

bool has_one_tap(const LayerCase& layer) {
  return is_sum_of_taps(layer.operation().kind) && layer.input_shape(0).element_count() == 1 && layer.input_shape(1).element_count() == 1 &&
         layer.output_shape().element_count() == 1 && is_integer(layer.tensor(layer.input_tensor(0)).type) &&
         layer.values(layer.input_tensor(1)) != nullptr && !layer.has_input(multiplier_input);
}

/// Inputs as distances from the zero point, smallest first: as many as an 8-bit type has.
std::vector<std::int64_t> small_inputs(const LayerCase& layer) {
  const ModelTensor& input = layer.tensor(layer.input_tensor(0));
  const IntegerRange range = range_of(input.type);
  const std::int64_t zero = input.quantization.zero_point();
  std::vector<std::int64_t> result;
  for (std::int64_t distance = -255; distance <= 255; ++distance)
    if (distance + zero >= range.min && distance + zero <= range.max) result.push_back(distance);
  std::stable_sort(result.begin(), result.end(), [](auto a, auto b) { return std::abs(a) < std::abs(b); });
  return result;
}

/// The layer at as many places as there are inputs, to see at once where the backends differ.
LayerCase at_every_input(const LayerCase& tap, const std::vector<std::int64_t>& inputs) {
  LayerCase wide = tap;
  const auto count = static_cast<std::int64_t>(inputs.size());
  const Shape shape = tap.operation().kind == fully_connected ? Shape{count, 1} : Shape{1, 1, count, 1};
  pick(wide, wide.input_tensor(0), shape, std::vector<std::int64_t>(inputs.size(), 0));
  pick(wide, wide.output_tensor(), shape, {});
  for (std::int64_t i = 0; i < count; ++i) (void)set_distance(wide, {wide.input_tensor(0), i}, inputs[static_cast<std::size_t>(i)]);
  return wide;
}

/// The first inputs for which this layer of one tap, with its weight and bias, still holds.
bool try_inputs(LayerCase& best, const LayerCase& tap, const std::vector<std::int64_t>& inputs, Oracle& oracle) {
  constexpr int most_confirmed = 8;  // of one weight; the next ones mostly have the same fault
  const auto outputs = oracle.run(at_every_input(tap, inputs));
  int confirmed = 0;
  for (std::size_t i = 0; outputs && i < inputs.size() && confirmed < most_confirmed; ++i) {
    if (!outputs->differ_at(static_cast<std::int64_t>(i))) continue;
    ++confirmed;
    LayerCase candidate = tap;
    if (set_distance(candidate, {tap.input_tensor(0), 0}, inputs[i]) && accept(best, std::move(candidate), oracle)) return true;
  }
  return false;
}

bool try_products(LayerCase& best, Oracle& oracle) {
  LayerCase tap = best;
  if (tap.has_input(bias_input)) tap.operation().inputs[bias_input] = absent_tensor;
  const std::vector<std::int64_t> inputs = small_inputs(tap);
  for (std::int64_t size = 1; size <= 127; ++size) {
    for (const std::int64_t weight : {size, -size})
      if (set_distance(tap, {tap.input_tensor(1), 0}, weight) && try_inputs(best, tap, inputs, oracle)) return true;
  }
  return false;
}

/// Weight 1, and the bias nearest to 0 that does.
bool try_biases(LayerCase& best, Oracle& oracle) {
  constexpr std::int64_t farthest = 128;  // steps of a whole range of inputs
  if (!best.has_input(bias_input) || best.values(best.input_tensor(bias_input)) == nullptr) return false;
  LayerCase tap = best;
  const std::vector<std::int64_t> inputs = small_inputs(tap);
  if (!set_distance(tap, {tap.input_tensor(1), 0}, 1)) return false;
  for (std::int64_t step = 0; step < farthest; ++step) {
    for (const std::int64_t bias : {step * 256, -step * 256})
      if (set_distance(tap, {tap.input_tensor(bias_input), 0}, bias) && try_inputs(best, tap, inputs, oracle)) return true;
  }
  return false;
}

}  // namespace

void zero_elements(LayerCase& layer, Oracle& oracle) {
  const LayerCase base = layer;
  const std::vector<Element> elements = nonzero_elements(base);
  const auto holds = [&](const std::vector<std::int64_t>& kept) {
    LayerCase candidate = base;
    std::size_t next = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (next < kept.size() && kept[next] == static_cast<std::int64_t>(i)) ++next;
      else (void)set_distance(candidate, elements[i], 0);
    }
    return accept(layer, std::move(candidate), oracle);
  };
  if (elements.size() < 2 || holds({})) return;
  (void)ddmin(counting(static_cast<std::int64_t>(elements.size())), holds);
}

void strengthen_taps(LayerCase& layer, Oracle& oracle) {
  if (!is_sum_of_taps(layer.operation().kind) || layer.values(layer.input_tensor(1)) == nullptr || size_of(layer).multiply_accumulates < 2)
    return;
  LayerCase strong = layer;
  for (const std::int32_t tensor : {layer.input_tensor(0), layer.input_tensor(1)}) {
    if (!is_integer(layer.tensor(tensor).type)) return;
    const IntegerRange range = range_of(layer.tensor(tensor).type);
    for (std::int64_t at = 0; at < layer.values(tensor)->element_count(); ++at) {
      const Element element{tensor, at};
      const std::int64_t distance = distance_of(layer, element);
      if (distance != 0) (void)set_distance(strong, element, (distance < 0 ? range.min : range.max) - zero_of(layer, element));
    }
  }
  if (!oracle.holds(strong)) return;
  drop_parts(strong, oracle);
  if (size_of(strong).multiply_accumulates < size_of(layer).multiply_accumulates) layer = std::move(strong);
}

void simplify_tap(LayerCase& layer, Oracle& oracle) {
  if (has_one_tap(layer) && !try_products(layer, oracle)) (void)try_biases(layer, oracle);
}

void simplify_values(LayerCase& layer, Oracle& oracle) {
  constexpr int most_rounds = 8;
  constexpr std::size_t most_elements = 256;  // where so many matter, their sizes are no one's concern
  round_scales(layer, oracle);
  drop_activation(layer, oracle);
  drop_optional_input(layer, multiplier_input, oracle);
  drop_optional_input(layer, bias_input, oracle);
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<Element> elements = nonzero_elements(layer);
    if (elements.size() > most_elements) return;
    bool moved = false;
    for (const Element& element : elements) moved = move_nearer(layer, element, oracle) || moved;
    if (!moved) return;
  }
}

}  // namespace lastbit
