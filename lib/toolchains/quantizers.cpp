// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/error.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit {

#define LASTBIT_QUANTIZER(name) Quantizer name##_quantizer();
#include "quantizers.inc"
#undef LASTBIT_QUANTIZER

const std::vector<Quantizer>& quantizers() {
#define LASTBIT_QUANTIZER(name) name##_quantizer(),
  static const std::vector<Quantizer> all{
#include "quantizers.inc"
  };
#undef LASTBIT_QUANTIZER
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
