// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/fuzz_against/network_maker.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"

namespace lastbit {
namespace {

using Kind = OperationKind;

/// One more operation such that the whole still runs, or none.
void append_one(NetworkMaker& maker, const std::vector<OperationKind>& operations, const Backend& backend, Random& random) {
  constexpr int attempts = 6;
  for (int i = 0; i < attempts; ++i) {
    const OperationKind kind = random.of(operations);
    if (!maker.takes(kind)) continue;
    NetworkMaker::Mark mark = maker.mark();
    try {
      maker.append(kind);
      if (check(maker.network(), backend).empty()) return;
    } catch (const Error&) {  // windows that fit nowhere
    }
    maker.go_back(std::move(mark));
  }
}

}  // namespace

std::string_view name_of(FuzzFormat format) { return format == FuzzFormat::tflite ? "tflite" : "onnx"; }

std::optional<FuzzFormat> fuzz_format_from(std::string_view name) {
  for (const FuzzFormat format : {FuzzFormat::tflite, FuzzFormat::onnx})
    if (name == name_of(format)) return format;
  return std::nullopt;
}

FuzzFormat usual_format(const Device& device) {
  const Backend& backend = device.backend;
  return backend.fusion == Fusion::every ? FuzzFormat::tflite : FuzzFormat::onnx;
}

std::vector<OperationKind> fuzzed_operations(FuzzFormat format) {
  constexpr Kind both[] = {Kind::conv2d,
                           Kind::depthwise_conv2d,
                           Kind::transposed_conv2d,
                           Kind::fully_connected,
                           Kind::matmul,
                           Kind::max_pool2d,
                           Kind::average_pool2d,
                           Kind::mean,
                           Kind::add,
                           Kind::sub,
                           Kind::mul,
                           Kind::concat,
                           Kind::pad,
                           Kind::requantize,
                           Kind::relu,
                           Kind::relu6,
                           Kind::leaky_relu,
                           Kind::hard_swish,
                           Kind::logistic,
                           Kind::tanh,
                           Kind::softmax,
                           Kind::resize};
  constexpr Kind tflite_alone[] = {Kind::relu_n1_to_1, Kind::maximum,    Kind::minimum, Kind::reduce_sum,
                                   Kind::reduce_max,   Kind::reduce_min, Kind::abs,     Kind::argmax};
  constexpr Kind onnx_alone[] = {Kind::global_average_pool};
  std::vector<Kind> kinds;
  for (const Kind kind : both) kinds.push_back(kind);
  if (format == FuzzFormat::tflite)
    for (const Kind kind : tflite_alone) kinds.push_back(kind);
  else
    for (const Kind kind : onnx_alone) kinds.push_back(kind);
  return kinds;
}

Model random_network(FuzzFormat format, const std::vector<OperationKind>& operations, const Device& device, std::uint64_t seed,
                     std::uint64_t index) {
  const Backend& backend = device.backend;
  Random random(seed, 2 * index);
  constexpr int attempts = 20;
  for (int attempt = 1;; ++attempt) {
    const OperationKind first = random.of(operations);
    NetworkMaker maker(format, random);
    try {
      maker.begin(first);
      maker.append(first);
      (void)maker.network();
    } catch (const Error&) {
      if (attempt == attempts) throw;
      continue;
    }
    for (std::int64_t more = random.of<std::int64_t>({0, 0, 0, 1, 1, 2, 3}); more > 0; --more)
      append_one(maker, operations, backend, random);
    return maker.network();
  }
}

std::vector<Tensor> random_inputs(const Model& network, std::uint64_t seed, std::uint64_t index, std::uint64_t sample) {
  Random random(seed + (sample + 1) * 0xD6E8FEB86659FD93U, 2 * index + 1);
  std::vector<Tensor> inputs;
  for (const std::int32_t input : network.inputs) {
    const ModelTensor& tensor = network.tensor(input);
    inputs.push_back(random_codes(tensor.type, tensor.shape, tensor.quantization.zero_point(), random));
  }
  return inputs;
}

}  // namespace lastbit
