// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of any format that was read can be run on ten backends, or is refused before any arithmetic.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/onnx.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/registry.hpp"
#include "reader.hpp"

namespace {

using namespace lastbit;

/// Small enough for thousands of runs per second.
bool is_small(const Model& model) {
  return model.operations.size() <= 4 && std::all_of(model.tensors.begin(), model.tensors.end(),
                                                     [](const ModelTensor& tensor) { return tensor.shape.element_count() <= 1024; });
}

/// Every bit pattern of a byte occurs; bools stay bools.
Tensor varied(const ModelTensor& description) {
  Tensor tensor(description.type, description.shape);
  std::uint8_t next = 0x55;
  for (std::byte& byte : tensor.bytes()) {
    next = static_cast<std::uint8_t>((next * 137 + 71) % 256);
    byte = static_cast<std::byte>(description.type == ElementType::boolean ? next & 1 : next);
  }
  if (description.type == ElementType::float32) {
    constexpr float special[] = {NAN, HUGE_VALF, -HUGE_VALF, 0x1p-149F, 1e38F, 0.5F, -0.0F};
    for (std::size_t i = 0; i < tensor.values<float>().size(); i += 2) tensor.values<float>()[i] = special[i / 2 % std::size(special)];
  }
  return tensor;
}

/// By what the bytes begin with: JSON, a FlatBuffer of TFLite's, or else ONNX.
Model read_any(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with('{')) return parse_json_model(text, "/nonexistent", "input.json");
  if (text.size() > 8 && text.substr(4, 4) == "TFL3") return parse_tflite(bytes, "input.tflite");
  return parse_onnx(bytes, "input.onnx");
}

constexpr std::string_view backends[] = {"tflite_double",     "xnnpack", "onnxruntime", "onnxruntime_unfused", "vipnano_v8",
                                         "n2d2_fixed_mult16", "gna3_1",  "bernoulli2",  "ascend310",           "float"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_value_or_error([&] {
    const Model model = read_any(std::as_bytes(std::span(data, size)));
    if (!is_small(model)) return;
    std::vector<Tensor> inputs;
    for (const std::int32_t input : model.inputs) inputs.push_back(varied(model.tensor(input)));
    for (const std::string_view name : backends) {
      fuzz::expect_value_or_error([&] {
        const Trace trace = run(model, find_backend(name).backend, inputs, {.count_events = true});
        for (const std::int32_t output : model.outputs) {
          const auto& tensor = trace.tensors[static_cast<std::size_t>(output)];
          if (tensor && tensor->element_count() != model.tensor(output).shape.element_count()) std::abort();
        }
      });
    }
  });
}
