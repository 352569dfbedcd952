// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/dumped_codes.hpp"

#include <cmath>

#include "engine/finisher.hpp"
#include "lastbit/error.hpp"

namespace lastbit {

Tensor codes_from_floats(const Tensor& values, const ModelTensor& described) {
  const double scale = described.quantization.scale();
  const auto zero_point = static_cast<double>(described.quantization.zero_point());
  const IntegerRange range = range_of(described.type);
  const auto floats = values.values<float>();
  std::vector<std::int64_t> codes(floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const double code = static_cast<double>(floats[i]) / scale + zero_point, whole = std::nearbyint(code);
    const bool fits = std::abs(code - whole) < 0.01 && whole >= static_cast<double>(range.min) && whole <= static_cast<double>(range.max);
    if (!fits) {
      throw Error(ErrorCode::bad_input, described.name,
                  "value " + std::to_string(floats[i]) + " at index " + std::to_string(i) + " of the dump is no code of scale " +
                      std::to_string(scale));
    }
    codes[i] = static_cast<std::int64_t>(whole);
  }
  Tensor tensor(described.type, values.shape());
  store(codes, tensor);
  return tensor;
}

}  // namespace lastbit
