// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "toolchains/quantizers.hpp"

#include "lastbit/error.hpp"

namespace lastbit {

const std::vector<Quantizer>& quantizers() {
  static const std::vector<Quantizer> all{int8_quantizer(),   n2d2_quantizer(),   bernoulli2_quantizer(), gna2_quantizer(),
                                          gna3_0_quantizer(), gna3_1_quantizer(), float16_quantizer()};
  return all;
}

const Quantizer& find_quantizer(std::string_view name) {
  std::string known;
  for (const Quantizer& quantizer : quantizers()) {
    if (quantizer.name == name) return quantizer;
    known += (known.empty() ? "" : ", ") + quantizer.name;
  }
  throw Error(ErrorCode::bad_input, "quantizer", "unknown quantiser '" + std::string(name) + "'; known: " + known);
}

}  // namespace lastbit
