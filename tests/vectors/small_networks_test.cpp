// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The small networks of our own, every tensor of which the vendors' programs recorded (docs/vectors.md): each is computed exactly, and any
// other value of the rules listed here changes a recorded value.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lastbit/emulator.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/rule_changes.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;
namespace fs = std::filesystem;

/// What one program recorded of one network: [samples, values of the tensors, one after the other].
struct Recording {
  std::string network, device;  ///< the device: a backend, perhaps with a setting behind it
  Model model;
  std::vector<Tensor> inputs;
  std::vector<std::size_t> tensors;
  Tensor values;
};

std::size_t index_of(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.tensors, name, &ModelTensor::name);
  REQUIRE(found != model.tensors.end());
  return static_cast<std::size_t>(found - model.tensors.begin());
}

std::string file_name(std::string device) {
  for (char& c : device)
    if (c == ' ' || c == '=') c = '_';
  return device + ".npy";
}

/// BACKEND, or BACKEND RULE=VALUE.
Backend backend_of(const std::string& device) {
  const std::size_t space = device.find(' '), equals = device.find('=');
  Backend backend = find_backend(device.substr(0, space)).backend;
  if (space != std::string::npos) set_rule(backend, device.substr(space + 1, equals - space - 1), device.substr(equals + 1));
  return backend;
}

std::vector<Recording> recordings() {
  const fs::path root = source_directory() / "tests" / "vectors" / "networks";
  std::ifstream file(root / "networks.json");
  const auto list = nlohmann::json::parse(file);
  std::vector<Recording> found;
  for (const auto& network : list["networks"]) {
    const auto name = network["name"].get<std::string>();
    const fs::path folder = root / name;
    for (const auto& backend : network["backends"]) {
      const auto device = backend.get<std::string>();
      Recording one{.network = name,
                    .device = device,
                    .model = read_model(folder / network["model"].get<std::string>()),
                    .inputs = {read_npy(folder / "input.npy")},
                    .tensors = {},
                    .values = read_npy(folder / file_name(device))};
      for (const auto& tensor : network["tensors"]) one.tensors.push_back(index_of(one.model, tensor.get<std::string>()));
      found.push_back(std::move(one));
    }
  }
  return found;
}

/// Values of one tensor that differ from the recorded ones, of which those begin at `first` in each sample.
std::size_t differing(const Tensor& recorded, std::int64_t first, const Tensor& computed) {
  const std::int64_t samples = recorded.shape()[0], width = recorded.shape()[1], size = computed.element_count() / samples;
  REQUIRE(first + size <= width);
  std::size_t count = 0;
  for (std::int64_t i = 0; i < computed.element_count(); ++i)
    count += computed.integer_at(i) != recorded.integer_at(i / size * width + first + i % size) ? 1U : 0U;
  return count;
}

/// Of each tensor, how many values differ.
std::vector<std::size_t> differences(const Recording& recording, const Backend& backend) {
  const Trace trace = run(recording.model, backend, recording.inputs, {.keep_all = true});
  std::vector<std::size_t> counts;
  std::int64_t first = 0;
  for (const std::size_t index : recording.tensors) {
    const auto& computed = trace.tensors.at(index);
    REQUIRE(computed.has_value());
    counts.push_back(differing(recording.values, first, *computed));
    first += computed->element_count() / recording.values.shape()[0];
  }
  REQUIRE(first == recording.values.shape()[1]);
  return counts;
}

/// Rules, as patterns, of which any other value (or those values) changes a recorded value of some network.
struct Decided {
  std::string backend;
  Texts rules;
  Texts values{"*"};
};

const Texts no_tie{"floor", "ceil", "toward_zero", "to_odd"};  // where no value is a tie
const std::vector<Decided> decided{
    // The last rounding of two, by its ties too.
    {"tflite_double",
     {"conv.i8.output.chain.2.rounding", "conv.i16_bias32.output.chain.2.rounding", "depthwise_conv.i8.output.chain.2.rounding",
      "fully_connected.i8.output.chain.2.rounding", "matmul.i8.output.chain.2.rounding", "mean.output.chain.2.rounding",
      "mul.chain.2.rounding", "requantize.chain.2.rounding", "svdf.state_i8.chain.2.rounding", "lstm.gate_i8.output.chain.2.rounding"}},
    {"tflite_double",
     {"add.*8.output.chain.2.rounding", "sub.i8.output.chain.2.rounding", "sub.i16.output.chain.2.rounding",
      "lstm.output.chain.2.rounding"},
     no_tie},
    // The first one of two, or the only one.
    {"tflite_double",
     {"conv.i*.output.chain.1.rounding", "depthwise_conv.i8.output.chain.1.rounding", "fully_connected.i8.output.chain.1.rounding",
      "matmul.i8.output.chain.1.rounding", "mean.output.chain.1.rounding", "mul.chain.1.rounding", "requantize.chain.1.rounding",
      "softmax.input.chain.1.rounding", "*relu.rescale.chain.1.rounding", "lstm.gate_i*.output.chain.1.rounding",
      "*.i16_bias64.output.chain.0.rounding", "lstm.gate_i16.output.chain.0.rounding"},
     no_tie},
    {"tflite_single",
     {"*.i8.output.chain.1.rounding", "*.i16_bias*.output.chain.1.rounding", "add.i16.output.chain.1.rounding",
      "mean.output.chain.1.rounding", "mul.chain.1.rounding", "requantize.chain.1.rounding", "softmax.input.chain.1.rounding",
      "*relu*.chain.1.rounding", "svdf.*.chain.1.rounding", "lstm.*.chain.1.rounding"},
     no_tie},
    {"onnxruntime",
     {"conv.i8.output.chain.0.rounding", "depthwise_conv.i8.output.chain.0.rounding", "fully_connected.i8.output.chain.0.rounding",
      "global_average_pool.output.chain.0.rounding", "average_pool.in_float.rounding", "add.in_float.rounding", "mul.chain.0.rounding",
      "quantize.rounding", "leaky_relu.rounding", "logistic.rounding", "softmax.rounding"},
     no_tie},
    {"xnnpack",
     {"conv.i8.output.chain.0.rounding", "depthwise_conv.i8.output.chain.0.rounding", "fully_connected.i8.output.chain.0.rounding",
      "mean.output.chain.0.rounding", "mul.chain.0.rounding", "add.i8.output.chain.0.rounding", "sub.i8.output.chain.0.rounding",
      "logistic.rounding"},
     no_tie},
    {"xnnpack", {"requantize.chain.1.rounding"}},
    // How many bits a sum is multiplied by, how it is divided by a count, what counts.
    {"tflite_double",
     {"conv.i8.output.chain.1.bits", "conv.i16_bias32.output.chain.1.bits", "conv.i16_bias64.output.chain.0.bits",
      "lstm.gate_i8.*.chain.1.bits", "mean.count", "average_pool.padding", "average_pool.*.rounding"}},
    {"tflite_single", {"average_pool.padding", "average_pool.*.rounding", "mean.count"}},
    // Zero points, and by what method a function is computed.
    {"tflite_double",
     {"conv.i8.centring", "*_conv.i8.centring", "fully_connected.i8.centring", "matmul.i8.centring", "average_pool.centring",
      "mean.centring", "add.i8.centring", "sub.i8.centring", "lstm.gate_i8.centring"}},
    {"tflite_double", {"leaky_relu.method", "prelu.method", "hard_swish.method", "logistic.method", "tanh.method"}},
    // The table made in double is read of 16-bit data alone; softmax has 8 bits here.
    {"tflite_double", {"softmax.method"}, {"absent", "rescaled", "float_*", "table_entry"}},
    // Where pixels lie, in what arithmetic, and how many bits their weights have.
    {"tflite_double", {"resize.method", "resize.coordinates", "resize.grid", "resize.fraction_bits", "resize.rounding"}},
    {"tflite_double", {"resize.grid_rounding"}, no_tie},
    {"tflite_single", {"resize.rounding"}, no_tie},
    {"xnnpack", {"resize.coordinates", "resize.grid", "resize.fraction_bits"}},
    {"xnnpack", {"resize.grid_rounding", "resize.rounding"}, no_tie},
    // Values that are compared, and sums of whole axes.
    {"tflite_double", {"argmax.method", "argmax.running_maximum", "abs.method", "reduce_sum.centring"}},
    {"tflite_double", {"reduce_sum.output.chain.1.rounding", "abs.rescale.chain.1.rounding"}, no_tie},
    // Tables by the inverse scale differ from it near ties alone, of which these networks have none.
    {"onnxruntime", {"leaky_relu.method"}, {"absent", "rescaled", "fixed_point", "float_ratio", "float_table_8bit", "table_entry"}},
    {"onnxruntime", {"softmax.method", "*pool.output_scale", "global_average_pool.centring", "conv.i8.centring"}},
};

/// Whether a recording of that backend shows it. A change that the device's own checks refuse does not go unnoticed.
bool noticed(const std::vector<Recording>& all, const std::string& device, const Backend& changed) {
  return std::ranges::any_of(all, [&](const Recording& one) {
    if (one.device != device) return false;
    if (!check(one.model, changed).empty()) return true;
    return std::ranges::any_of(differences(one, changed), [](std::size_t count) { return count != 0; });
  });
}

bool fits(const Texts& patterns, const std::string& text) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, text); });
}

/// How many changes of the listed rules there are.
std::size_t check_decided(const std::vector<Recording>& all, const Decided& one) {
  const Backend backend = find_backend(one.backend).backend;
  std::size_t changes = 0;
  for (const RuleText& rule : list_rules(backend)) {
    if (!fits(one.rules, rule.path)) continue;
    for (const std::string& value : candidates(rule.value)) {
      if (!fits(one.values, value) || !accepts(backend, rule.path, value)) continue;
      Backend changed = backend;
      set_rule(changed, rule.path, value);
      INFO(one.backend << ": " << rule.path << " = " << value << " instead of " << rule.value);
      CHECK(noticed(all, one.backend, changed));
      ++changes;
    }
  }
  return changes;
}

}  // namespace

TEST_CASE("every recorded tensor of the small networks is computed exactly") {
  const auto all = recordings();
  CHECK(all.size() == 41);
  for (const Recording& recording : all) {
    INFO(recording.network << " on " << recording.device);
    const auto counts = differences(recording, backend_of(recording.device));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      INFO(recording.model.tensors[recording.tensors[i]].name);
      CHECK(counts[i] == 0);
    }
  }
}

TEST_CASE("the small networks notice any other value of the listed rules") {
  const auto all = recordings();
  for (const Decided& one : decided) CHECK(check_decided(all, one) >= one.rules.size());
}
