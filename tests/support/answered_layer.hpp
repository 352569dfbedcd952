// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of sums, products, pools and functions, and what a device makes of them.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "lastbit/emulator.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

using enum OperationKind;

/// int8 layers whose scales no rounding can hide behind; the backend decides whether it takes zero points and scales of that kind.
class Layers {
 public:
  explicit Layers(unsigned seed, bool symmetric, bool plain) : random_(seed), symmetric_(symmetric), plain_(plain) {}

  IdentifyPair pair(OperationKind kind) {
    model_ = {};
    model_.name = std::string(name_of(kind));
    const bool pools = kind == average_pool2d;
    const std::size_t inputs = kind == OperationKind::add || kind == sub || kind == mul || kind == add_n || kind == concat ? 2 : 1;
    const Shape in{1, 9, 9, 8};
    for (std::size_t i = 0; i < inputs; ++i) add("x" + std::to_string(i), in);
    add("y", pools ? Shape{1, 5, 5, 8} : kind == mean ? Shape{1, 8} : kind == concat ? Shape{1, 9, 9, 16} : in);
    Operation operation{kind, "layer", {}, {static_cast<std::int32_t>(inputs)}, attributes(kind)};
    for (std::size_t i = 0; i < inputs; ++i) operation.inputs.push_back(static_cast<std::int32_t>(i));
    model_.inputs = operation.inputs;
    model_.outputs = operation.outputs;
    model_.operations = {operation};
    validate(model_, "test");
    IdentifyPair pair{model_.name, model_, {}, {}};
    for (std::size_t i = 0; i < inputs; ++i) pair.inputs.push_back(codes(in));
    return pair;
  }

 private:
  void add(const std::string& name, const Shape& shape) {
    std::uniform_real_distribution<double> scale(0.4, 0.9);
    std::uniform_int_distribution<std::int64_t> zero(-20, 20);
    model_.tensors.push_back(
        {name, ElementType::int8, shape, {{plain_ ? 0.5 : scale(random_)}, {symmetric_ || plain_ ? 0 : zero(random_)}, 0}, {}});
  }
  static Attributes attributes(OperationKind kind) {
    switch (kind) {
      case average_pool2d: {
        Pool2dAttributes pool;
        pool.filter = {3, 3};
        pool.stride = {2, 2};
        pool.padding.mode = PaddingMode::same;
        return pool;
      }
      case mean: return MeanAttributes{.axes = {1, 2}, .keep_dims = false};
      case concat: return ConcatAttributes{.axis = 3};
      case requantize: return RequantizeAttributes{};
      case leaky_relu: return LeakyReluAttributes{.alpha = 0.1F};
      case relu6:
      case hard_swish:
      case logistic: return std::monostate{};
      default: return ElementwiseAttributes{};
    }
  }
  Tensor codes(const Shape& shape) {
    Tensor tensor(ElementType::int8, shape);
    std::uniform_int_distribution<int> code(-128, 127);
    for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(code(random_));
    return tensor;
  }

  std::mt19937 random_;
  bool symmetric_, plain_;
  Model model_;
};

/// The layer as the device computes it; nothing where it cannot, whatever its scales.
inline std::optional<IdentifyPair> answered_by(const Backend& device, OperationKind kind, unsigned seed) {
  for (const bool plain : {false, true}) {
    IdentifyPair pair = Layers(seed, device.coding == Coding::symmetric, plain).pair(kind);
    if (!check(pair.layer, device).empty()) continue;
    pair.output = *run(pair.layer, device, pair.inputs).tensors[static_cast<std::size_t>(pair.layer.outputs[0])];
    return pair;
  }
  return std::nullopt;
}

}  // namespace lastbit::test
