// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model that was read can be taken as a float network and quantised for a device that has a quantiser, or is refused in one line; what comes
// out is a sound model that the device runs. The bytes decide which device: all of them would take a tenth of a second.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "lastbit/io/json_model.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "reader.hpp"

namespace {

using namespace lastbit;

/// Small enough for many runs per second.
bool is_small(const Model& model) {
  return model.operations.size() <= 4 && std::all_of(model.tensors.begin(), model.tensors.end(),
                                                     [](const ModelTensor& tensor) { return tensor.shape.element_count() <= 256; });
}

/// Values of many magnitudes and both signs, all finite.
std::vector<Tensor> varied_sample(const Model& real, std::uint32_t seed) {
  std::vector<Tensor> sample;
  for (const std::int32_t input : real.inputs) {
    Tensor& tensor = sample.emplace_back(ElementType::float32, real.tensor(input).shape);
    for (float& value : tensor.values<float>()) {
      constexpr float magnitudes[] = {0, 1e-30F, 0.01F, 1, 6.5F, 300, 1e20F};
      seed = seed * 1664525U + 1013904223U;
      value = magnitudes[seed / 65536 % 7] * ((seed & 0x8000U) != 0 ? -1.0F : 1.0F);
    }
  }
  return sample;
}

/// Those that have a quantiser.
const std::vector<const SpecSheet*>& sheets() {
  static const std::vector<const SpecSheet*> list = [] {
    std::vector<const SpecSheet*> some;
    for (const SpecSheet& sheet : builtin_backends())
      if (!sheet.quantizer.empty()) some.push_back(&sheet);
    return some;
  }();
  return list;
}

void quantise(const Model& model, const std::vector<std::vector<Tensor>>& samples, const SpecSheet& sheet) {
  const QuantizationResult result = quantize(model, sheet, samples);
  validate(result.model, "quantised");
  if (!check(result.model, sheet.backend).empty()) std::abort();
  static_cast<void>(to_text(result.report));
  static_cast<void>(to_json(result.report));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_value_or_error([&] {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Model model = parse_json_model(text, "/nonexistent", "input.json");
    if (!is_small(model)) return;
    const Model real = float_network(model);
    const auto seed = static_cast<std::uint32_t>(size);
    quantise(real, {varied_sample(real, seed), varied_sample(real, seed + 1)},
             *sheets()[std::hash<std::string_view>{}(text) % sheets().size()]);
  });
}
