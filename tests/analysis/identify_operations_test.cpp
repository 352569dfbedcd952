// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// identify on operations other than convolutions: every built-in device is found from tensors and scales alone, and so is one that no sheet
// describes.
#include <map>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/answered_layer.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

using namespace test;
using enum OperationKind;

constexpr OperationKind kinds[] = {OperationKind::add, sub,   mul,        add_n,      average_pool2d, mean, concat,
                                   requantize,         relu6, leaky_relu, hard_swish, logistic};

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

template <class T, class Draw>
Tensor drawn(ElementType type, const Shape& shape, Draw draw) {
  Tensor tensor(type, shape);
  for (T& value : tensor.values<T>()) value = draw();
  return tensor;
}

/// A layer of blocks, all of it data, as the device computes it.
IdentifyPair blocks_of(OperationKind kind, BlockFormat format, const Backend& device, unsigned seed) {
  std::mt19937 random(seed);
  const auto code = [&] { return static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127); };
  const auto nibble = [&] { return static_cast<std::uint8_t>(random() % 16); };
  const auto scale = [&] { return Float16{static_cast<std::uint16_t>(0x2000 + random() % 0x2000)}; };
  const auto real = [&] { return static_cast<float>(random() % 65536) / 1024.0F - 31; };
  const bool is_q4 = format == BlockFormat::q4_0;
  const Shape codes{4, 9, block_length}, scales{4, 9};
  std::vector<Tensor> inputs;
  if (kind == block_quantize) {
    inputs.push_back(drawn<float>(ElementType::float32, {4, 9 * block_length}, real));
  } else {
    inputs = {drawn<std::int8_t>(ElementType::int8, codes, code), drawn<Float16>(ElementType::float16, scales, scale)};
    inputs.push_back(is_q4 ? drawn<std::uint8_t>(ElementType::uint8, codes, nibble) : drawn<std::int8_t>(ElementType::int8, codes, code));
    inputs.push_back(drawn<Float16>(ElementType::float16, scales, scale));
  }
  ModelBuilder builder;
  std::vector<std::int32_t> indices, outputs;
  for (const Tensor& input : inputs) indices.push_back(builder.input({"x" + std::to_string(indices.size()), input.type(), input.shape()}));
  if (kind == block_quantize)
    outputs = {builder.tensor({"q", codes_of(format).type, codes}), builder.tensor({"d", ElementType::float16, scales})};
  else outputs = {builder.tensor({"y", ElementType::float32, {4, 4}})};
  builder.operation(kind, "layer", indices, outputs, BlockAttributes{format});
  IdentifyPair pair{"blocks", builder.finished(outputs), inputs, {}};
  pair.output = *run(pair.layer, device, inputs).tensors[static_cast<std::size_t>(outputs[0])];
  return pair;
}

TEST_CASE("identify: codes in blocks, of floats or floats themselves") {
  for (const char* const name : {"ggml", "ggml_avx2", "ggml_neon"}) {
    const Backend& device = find_backend(name).backend;
    for (const OperationKind kind : {block_quantize, block_matmul}) {
      for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0}) {
        INFO(name << ", " << name_of(kind) << ", " << name_of(format));
        const std::vector<IdentifyPair> pairs{blocks_of(kind, format, device, 3)};
        const Identification identified = identify(pairs);
        REQUIRE(identified.operations.size() == 1);
        CHECK(identified.operations[0].exact());
        CHECK(std::ranges::find(identified.operations[0].best().backends, name) != identified.operations[0].best().backends.end());
      }
    }
  }
  Backend hidden = find_backend("ggml").backend;
  set_rule(hidden, "block_matmul.q8_0.product", "input_scale_first");
  set_rule(hidden, "block_matmul.q8_0.addition", "fused");
  const std::vector<IdentifyPair> pairs{blocks_of(block_matmul, BlockFormat::q8_0, hidden, 5)};
  const Identification identified = identify(pairs);
  REQUIRE(identified.operations.size() == 1);
  CHECK(identified.operations[0].exact());
  CHECK(identified.operations[0].best().backends.empty());
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

/// For each of five devices and five operations.
void check_hidden_devices(int trials) {
  std::mt19937 random(11);
  int tried = 0;
  for (const char* const name : {"tflite_double", "tflite_single", "xnnpack", "vipnano_v8", "bernoulli2"}) {
    const Backend& builtin = find_backend(name).backend;
    for (const OperationKind kind : {OperationKind::add, mul, average_pool2d, mean, requantize}) {
      for (int trial = 0; trial < trials; ++trial) {
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
  CHECK(tried >= 20 * trials);
}

TEST_CASE("identify: a device that differs from every sheet in two rules of an operation is found") { check_hidden_devices(1); }
TEST_CASE("identify: more devices that differ from every sheet in two rules of an operation are found", "[.every]") {
  check_hidden_devices(6);
}

}  // namespace
}  // namespace lastbit
