// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of 16-bit data, end to end, with weights under which no sum can leave the accumulator: affine, one- and two-dimensional convolution.
#include "case.hpp"
#include "peaks.hpp"
#include "word_layers.hpp"

namespace lastbit::bench {

void add_words(Cases& cases) {
  for (const WordLayer& layer : word_layers) {
    cases.push_back({"int16/" + std::string(layer.backend) + "/" + layer.name,
                     "MACs",
                     peak::word_dot_product,
                     {{"lastbit", [&layer] { return layer_trial(prepare_word_layer(layer, Sums::proven)); }}}});
  }
}

}  // namespace lastbit::bench
