// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// identify on operations other than convolutions: every built-in device is found from tensors and scales alone, and so is one that no sheet
// describes.
#include <map>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

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

constexpr OperationKind kinds[] = {OperationKind::add, sub,   mul,        add_n,      average_pool2d, mean, concat,
                                   requantize,         relu6, leaky_relu, hard_swish, logistic};

/// The layer as the device computes it; nothing where it cannot, whatever its scales.
std::optional<IdentifyPair> answered_by(const Backend& device, OperationKind kind, unsigned seed) {
  for (const bool plain : {false, true}) {
    IdentifyPair pair = Layers(seed, device.coding == Coding::symmetric, plain).pair(kind);
    if (!check(pair.layer, device).empty()) continue;
    pair.output = *run(pair.layer, device, pair.inputs).tensors[static_cast<std::size_t>(pair.layer.outputs[0])];
    return pair;
  }
  return std::nullopt;
}

TEST_CASE("identify: built-in devices are found from its sums, products, pools and functions") {
  std::map<std::string, int> found;
  for (const char* const name :
       {"tflite_double", "xnnpack", "onnxruntime", "vipnano_v8", "bernoulli2", "n2d2_fixed_mult16", "gemmini", "max78000"}) {
    const SpecSheet sheet = find_backend(name);
    for (const OperationKind kind : kinds) {
      std::vector<IdentifyPair> pairs;
      if (auto pair = answered_by(sheet.backend, kind, 1)) pairs.push_back(std::move(*pair));
      if (pairs.empty()) continue;
      INFO(sheet.name << ", " << name_of(kind));
      const Identification identified = identify(pairs);
      REQUIRE(identified.operations.size() == 1);
      const OperationIdentification& one = identified.operations[0];
      CHECK(one.exact());
      CHECK(std::ranges::find(one.best().backends, sheet.name) != one.best().backends.end());
      ++found[std::string(name_of(kind))];
      // What is saved is read back, and computes the same.
      const SpecSheet saved = backend_from_json(backend_to_json(identified_backend(identified, "mine")), "test");
      const IdentifyPair& pair = pairs[0];
      REQUIRE(check(pair.layer, saved.backend).empty());
      CHECK(*run(pair.layer, saved.backend, pair.inputs).tensors[static_cast<std::size_t>(pair.layer.outputs[0])] == pair.output);
    }
  }
  for (const OperationKind kind : kinds) CHECK(found[std::string(name_of(kind))] > 0);
}

/// A device that differs from a built-in one in a few rules of the operation, drawn at random.
Backend hidden_device(const Backend& builtin, const std::string& prefix, int changes, std::mt19937& random) {
  Backend hidden = builtin;
  while (changes > 0) {
    std::vector<std::pair<std::string, std::string>> steps;
    for (const RuleText& rule : list_rules(hidden)) {
      if (!rule.path.starts_with(prefix + ".") || rule.path.ends_with("size") || rule.path.ends_with("kind")) continue;
      for (const std::string& value : alternatives(hidden, rule.path)) steps.emplace_back(rule.path, value);
    }
    const auto& [path, value] = steps[random() % steps.size()];
    set_rule(hidden, path, value);
    --changes;
  }
  return hidden;
}

TEST_CASE("identify: a device that differs from every sheet in two rules of an operation is found") {
  std::mt19937 random(11);
  int tried = 0;
  for (const char* const name : {"tflite_double", "tflite_single", "xnnpack", "vipnano_v8", "bernoulli2"}) {
    const Backend& builtin = find_backend(name).backend;
    for (const OperationKind kind : {OperationKind::add, mul, average_pool2d, mean, requantize}) {
      for (int trial = 0; trial < 3; ++trial) {
        const auto like = answered_by(builtin, kind, 1);
        if (!like) continue;
        const Backend hidden = hidden_device(builtin, rule_prefix(like->layer, like->layer.operations[0], builtin), 2, random);
        std::vector<IdentifyPair> pairs;
        for (unsigned seed = 1; seed <= 2; ++seed) {
          if (auto pair = answered_by(hidden, kind, seed)) pairs.push_back(std::move(*pair));
        }
        if (pairs.empty()) continue;
        const Identification identified = identify(pairs);
        INFO(name << ", " << name_of(kind) << ", trial " << trial);
        CHECK(identified.exact());
        ++tried;
      }
    }
  }
  CHECK(tried >= 60);
}

}  // namespace
}  // namespace lastbit
