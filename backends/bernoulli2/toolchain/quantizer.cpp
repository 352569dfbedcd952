// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Horizon's post-training quantisation for bernoulli2: symmetric int8, one scale per output channel for weights, one per tensor for data,
// scale = threshold / 127. What follows is documented unless said otherwise:
//   thresholds: max; max-percentile, a share of the magnitudes; KL (the divergence published for TensorRT: an assumption, Horizon does not publish
//   its own); "default" tries the three and keeps the one whose outputs have the highest cosine with the float network on the first sample;
//   a relu or clip that alone reads a convolution, fully connected layer or sum is part of it (one operation of the BPU, with one threshold: that of
//   what comes out);
//   operations beyond the operator list, softmax and those that the user names run on the CPU in float (run_on_cpu of the vendor's tool).
#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "bernoulli2/toolchain/limits.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/metrics.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "toolchains/device_model.hpp"
#include "toolchains/ranges/choices.hpp"

namespace lastbit {
namespace {

using enum OperationKind;

constexpr double largest_code = 127;
constexpr double smallest_threshold = 1e-6;  ///< of a tensor that is always 0: any scale will do

double share_of(const QuantizationRequest& request) {
  const std::string& text = request.option("percentile");
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc{} || end != text.data() + text.size() || !(share > 0 && share <= 1))
    throw Error(ErrorCode::bad_input, "option percentile=" + text, "a share above 0, at most 1");
  return share;
}

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');)
    if (!name.empty()) names.push_back(name);
  return names;
}

/// Kinds that the backend has arithmetic for; the others are float operations of the CPU.
bool has_kernel(OperationKind kind) {
  return kind != softmax && kind != prelu && kind != cast && kind != dynamic_quantize && !is_of_blocks(kind);
}

/// A transposition that the reader of an ONNX puts behind an image, for the file's own layout, runs where the image is computed: the vendor's tools
/// know of none.
void move_layout_copies(const Model& model, std::vector<bool>& cpu) {
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& copy = model.operations[i];
    if (copy.kind != transpose || !is_layout_copy(model.tensor(copy.outputs[0]).name, model.tensor(copy.inputs[0]).name)) continue;
    for (std::size_t k = 0; k < i; ++k)
      if (std::ranges::count(model.operations[k].outputs, copy.inputs[0]) > 0) cpu[i] = cpu[k];
  }
}

/// Which operations of the float network run on the CPU, one flag each.
std::vector<bool> choose_cpu(const QuantizationRequest& request, std::vector<std::string>& notes) {
  const bool moves = request.option("unsupported") == "cpu";
  std::vector<std::string> wanted = names_in(request.option("cpu"));
  std::vector<Diagnostic> problems;
  std::vector<bool> cpu;
  for (const Operation& operation : request.model.operations) {
    const std::string place = std::string(name_of(operation.kind)) + " '" + operation.name + "'";
    const auto name = std::find(wanted.begin(), wanted.end(), operation.name);
    const std::vector<std::string> limits = bernoulli2_limits(request.model, operation);
    const bool is_wanted = name != wanted.end();
    if (is_wanted) wanted.erase(name);
    const bool documented = operation.kind == softmax;
    cpu.push_back(is_wanted || documented || (moves && (!limits.empty() || !has_kernel(operation.kind))));
    if (documented && !is_wanted) notes.push_back(place + " runs on the CPU in float: the BPU has no softmax");
    for (const std::string& limit : limits) {
      if (cpu.back()) notes.push_back(place + " runs on the CPU in float: " + limit);
      else problems.push_back({ErrorCode::unsupported_operation, place, limit + " (--set unsupported=cpu moves it to the CPU)"});
    }
  }
  move_layout_copies(request.model, cpu);
  for (const std::string& name : wanted) problems.push_back({ErrorCode::bad_input, "option cpu", "no operation '" + name + "'"});
  if (!problems.empty()) throw Error(std::move(problems));
  return cpu;
}

/// The network with the places where data pass between BPU and CPU made visible as dequantize and quantize operations.
struct Partition {
  Model model;
  std::vector<bool> on_cpu;          ///< of model.operations; conversions count as the CPU's
  std::vector<std::int32_t> origin;  ///< of model.tensors: the tensor of the float network
};

class Partitioner {
 public:
  Partitioner(const Model& network, const std::vector<bool>& cpu) : network_(network), cpu_(cpu) {
    builder_.model = network;
    builder_.model.operations.clear();
    for (std::size_t t = 0; t < network.tensors.size(); ++t) parts_.origin.push_back(static_cast<std::int32_t>(t));
    real_.assign(network.tensors.size(), absent_tensor);
    coded_.assign(network.tensors.size(), absent_tensor);
  }

  Partition run() {
    mark_cpu_tensors();
    for (std::size_t i = 0; i < network_.operations.size(); ++i) {
      Operation operation = network_.operations[i];
      for (std::int32_t& input : operation.inputs) {
        if (input != absent_tensor) input = cpu_[i] ? real(input) : coded(input);
      }
      add(std::move(operation), cpu_[i]);
    }
    parts_.model = std::move(builder_.model);
    return std::move(parts_);
  }

 private:
  [[nodiscard]] bool is_constant(std::int32_t tensor) const { return network_.tensor(tensor).constant.has_value(); }
  [[nodiscard]] static std::size_t at(std::int32_t tensor) { return static_cast<std::size_t>(tensor); }

  void mark_cpu_tensors() {
    from_cpu_.assign(network_.tensors.size(), false);
    for (std::size_t i = 0; i < network_.operations.size(); ++i) {
      for (const std::int32_t output : network_.operations[i].outputs) from_cpu_[at(output)] = cpu_[i];
    }
  }

  void add(Operation operation, bool cpu) {
    builder_.model.operations.push_back(std::move(operation));
    parts_.on_cpu.push_back(cpu);
  }

  std::int32_t convert(std::int32_t tensor, OperationKind kind, const std::string& suffix) {
    const ModelTensor& own = network_.tensor(tensor);
    parts_.on_cpu.push_back(true);
    parts_.origin.push_back(tensor);
    return builder_.operation(kind, {tensor}, {own.name + suffix, own.type, own.shape, own.quantization});
  }

  /// What the CPU reads: reals.
  std::int32_t real(std::int32_t tensor) {
    if (from_cpu_[at(tensor)] || is_constant(tensor)) return tensor;
    if (real_[at(tensor)] == absent_tensor) real_[at(tensor)] = convert(tensor, dequantize, " for the CPU");
    return real_[at(tensor)];
  }
  /// What the BPU reads: codes.
  std::int32_t coded(std::int32_t tensor) {
    if (!from_cpu_[at(tensor)]) return tensor;
    if (coded_[at(tensor)] == absent_tensor) coded_[at(tensor)] = convert(tensor, quantize, " for the BPU");
    return coded_[at(tensor)];
  }

  const Model& network_;
  const std::vector<bool>& cpu_;
  std::vector<bool> from_cpu_;
  std::vector<std::int32_t> real_, coded_;  ///< copies made so far
  Partition parts_;
  ModelBuilder builder_;
};

/// One calibration method on a partitioned network.
class Bernoulli2Quantizer {
 public:
  Bernoulli2Quantizer(const QuantizationRequest& request, const Partition& parts, std::string method)
      : request_(request),
        rule_(quantization_by(request.backend, "quantize")),
        parts_(parts),
        method_(std::move(method)),
        model_(parts.model),
        groups_(model_.tensors.size()) {}

  Model run() {
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      if (!parts_.on_cpu[i] && shares_scale(model_.operations[i])) join(model_.operations[i]);
    }
    quantize_data();
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      if (parts_.on_cpu[i]) continue;
      Operation& operation = model_.operations[i];
      if (is_layer(operation)) quantize_layer(operation);
      quantize_attributes(operation, model_.tensor(operation.outputs[0]));
    }
    return std::move(model_);
  }

 private:
  [[nodiscard]] bool is_layer(const Operation& operation) const {
    return has_weights(operation.kind) && model_.tensor(operation.inputs[1]).constant.has_value();
  }

  [[nodiscard]] bool shares_scale(const Operation& operation) const {
    if (keeps_values(operation.kind) || operation.kind == resize) return true;
    if (operation.kind != average_pool2d && operation.kind != global_average_pool) return false;
    const auto& rule = operation.kind == average_pool2d ? request_.backend.average_pool : request_.backend.global_average_pool;
    return rule.output_scale == OutputScale::of_input;
  }

  void join(const Operation& operation) {
    for (const std::int32_t output : operation.outputs) groups_.join(operation.inputs[0], output);
  }

  /// What the BPU reads or writes as codes: not weights, not biases.
  [[nodiscard]] std::vector<bool> coded_tensors() const {
    std::vector<bool> coded(model_.tensors.size(), false);
    const auto mark = [&](std::int32_t tensor) {
      if (tensor != absent_tensor) coded[static_cast<std::size_t>(tensor)] = true;
    };
    for (const std::int32_t input : model_.inputs) mark(input);
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      const Operation& operation = model_.operations[i];
      if (operation.kind == quantize) mark(operation.outputs[0]);
      if (parts_.on_cpu[i]) continue;
      for (std::size_t j = 0; j < (is_layer(operation) ? 1 : operation.inputs.size()); ++j) mark(operation.inputs[j]);
      for (const std::int32_t output : operation.outputs) mark(output);
    }
    return coded;
  }

  [[nodiscard]] double threshold(std::size_t tensor) const {
    const TensorStatistics& seen = request_.statistics(parts_.origin[tensor]);
    if (!model_.tensors[tensor].constant) request_.ranges.calibrate(parts_.origin[tensor], seen);
    if (model_.tensors[tensor].constant || method_ == "max" || seen.values == 0) return seen.largest_magnitude();
    if (method_ == "percentile") return quantile(seen.magnitudes, share_of(request_));
    return kl_threshold(seen.magnitudes, 128, {.first = 127, .step = 1});
  }

  void quantize_data() {
    const std::vector<bool> coded = coded_tensors();
    GroupRanges ranges(request_.ranges, groups_, model_.tensors.size());
    for (std::size_t t = 0; t < coded.size(); ++t) {
      if (coded[t]) ranges.give(static_cast<std::int32_t>(t), parts_.origin[t], ElementType::int8, Coding::symmetric);
    }
    for (std::size_t t = 0; t < coded.size(); ++t) {
      const auto index = static_cast<std::int32_t>(t);
      if (!coded[t] || ranges.of(index).by != nullptr) continue;
      const double seen = threshold(t);
      ranges.see(index, {-seen, seen});
    }
    for (std::size_t t = 0; t < coded.size(); ++t) {
      if (coded[t]) set_data(t, ranges.of(static_cast<std::int32_t>(t)));
    }
  }

  void set_data(std::size_t tensor, const GroupRanges::Decided& decided) {
    const ClippingRange& range = decided.range;
    if (decided.codes) request_.ranges.choose(parts_.origin[tensor], *decided.codes);
    else request_.ranges.choose(parts_.origin[tensor], range);
    set_quantization(model_.tensors[tensor], ElementType::int8, decided.codes ? *decided.codes : symmetric(std::max(-range.min, range.max)),
                     rule_);
  }

  /// Scales are float32 in the vendor's tools.
  [[nodiscard]] static double scale_of(double threshold) {
    return double{static_cast<float>(std::max(threshold, smallest_threshold) / largest_code)};
  }
  [[nodiscard]] static Quantization symmetric(double threshold) { return {{scale_of(threshold)}, {0}, 0}; }

  [[nodiscard]] Quantization weight_quantization(std::int32_t tensor, std::int64_t axis) const {
    const ModelTensor& weights = model_.tensor(tensor);
    if (const TensorRange* given = request_.ranges.given(parts_.origin[static_cast<std::size_t>(tensor)]); given != nullptr)
      return given_weights(*given, weights, axis);
    Quantization scales{{}, {}, axis};
    for (const double magnitude : channel_magnitudes(*weights.constant, axis)) {
      scales.scales.push_back(scale_of(magnitude));
      scales.zero_points.push_back(0);
    }
    return scales;
  }

  void quantize_layer(const Operation& operation) {
    ModelTensor& weights = model_.tensors[static_cast<std::size_t>(operation.inputs[1])];
    const std::int64_t axis = channel_axis(operation.kind);
    set_quantization(weights, ElementType::int8, weight_quantization(operation.inputs[1], axis), rule_);
    if (operation.inputs.size() < 3 || operation.inputs[2] == absent_tensor) return;
    ModelTensor& bias = model_.tensors[static_cast<std::size_t>(operation.inputs[2])];
    bias.quantization =
        accumulator_quantization(model_.tensor(operation.inputs[0]).quantization, weights.quantization, ScaleArithmetic::f64);
    bias.constant = quantized_bias(*bias.constant, ElementType::int32, bias.quantization, Rounding::half_away);
    bias.type = ElementType::int32;
  }

  const QuantizationRequest& request_;
  const QuantizeArithmetic& rule_;
  const Partition& parts_;
  std::string method_;
  Model model_;
  TensorGroups groups_;
};

/// The mean cosine of the outputs with the float network's on the first sample.
double output_cosine(const QuantizationRequest& request, const Model& quantized) {
  const std::vector<Tensor>& sample = request.samples.front();
  const Trace real = lastbit::run(request.model, find_backend("float").backend, sample);
  const Trace device = lastbit::run(quantized, request.backend, sample);
  double sum = 0;
  for (const std::int32_t output : request.model.outputs) {
    const auto index = static_cast<std::size_t>(output);
    const Tensor codes = dequantized(*device.tensors[index], quantized.tensor(output).quantization);
    const double cosine = element_metrics(codes.values<float>(), real.tensors[index]->values<float>()).cosine;
    sum += cosine == cosine ? cosine : 0.0;  // all zeros beside values: no likeness
  }
  return sum / static_cast<double>(request.model.outputs.size());
}

/// Layers with their activations; what the user sends to the CPU by name stays as it is.
Model fused_network(const QuantizationRequest& request) {
  const std::vector<std::string> alone = names_in(request.option("cpu"));
  const auto is_alone = [&](const Operation& operation) { return std::ranges::find(alone, operation.name) != alone.end(); };
  Model model = request.model;
  fuse_activations(model, [&](const Operation& layer, const Operation& activation) -> std::optional<OutputBounds> {
    const bool is_pool = std::holds_alternative<Pool2dAttributes>(layer.attributes);
    if (is_pool || is_alone(layer) || is_alone(activation)) return std::nullopt;
    return stated_bounds(activation);
  });
  return model;
}

QuantizedNetwork quantize_fused(const QuantizationRequest& request) {
  QuantizedNetwork result;
  const std::vector<bool> cpu = choose_cpu(request, result.notes);
  const Partition parts = Partitioner(request.model, cpu).run();
  const std::string& method = request.option("calibration");
  if (method != "default") {
    result.model = Bernoulli2Quantizer(request, parts, method).run();
    return result;
  }
  result.model = Bernoulli2Quantizer(request, parts, "max").run();
  if (request.samples.empty() || !request.ranges.calibrates()) return result;  // nothing is left to choose
  double best = -2;
  std::string chosen, figures;
  for (const std::string candidate : {"max", "percentile", "kl"}) {
    const double cosine = output_cosine(request, Bernoulli2Quantizer(request, parts, candidate).run());
    figures += (figures.empty() ? "" : ", ") + candidate + " " + std::to_string(cosine);
    if (cosine <= best) continue;
    best = cosine;
    chosen = candidate;
  }
  result.model = Bernoulli2Quantizer(request, parts, chosen).run();
  result.notes.push_back("calibration " + chosen + " by the cosine of the outputs on the first sample: " + figures);
  return result;
}

QuantizedNetwork quantize_bernoulli2(const QuantizationRequest& request) {
  const Model fused = fused_network(request);
  QuantizedNetwork result = quantize_fused({fused, request.backend, request.calibration, request.options, request.samples, request.ranges});
  drop_unused_tensors(result.model);
  return result;
}

}  // namespace

Quantizer bernoulli2_quantizer() {
  return {.name = "bernoulli2",
          .title = "Horizon's post-training quantisation: symmetric int8, scale = threshold / 127, int8 weights per channel, int32 bias",
          .options = {{"calibration",
                       "default",
                       {"default", "max", "percentile", "kl"},
                       "thresholds of the data; default tries all three and keeps the best output cosine on the first sample"},
                      {"percentile", "0.99995", {}, "share of the magnitudes within the threshold, with calibration=percentile"},
                      {"cpu", "", {}, "operations to run on the CPU in float, names separated by commas"},
                      {"unsupported", "error", {"error", "cpu"}, "what becomes of operations beyond the BPU's documented limits"}},
          .quantize = quantize_bernoulli2};
}

}  // namespace lastbit
