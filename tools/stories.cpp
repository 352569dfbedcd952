// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

namespace lastbit::tool {

const std::vector<Story>& stories() {
  static const std::vector<Story> all{
      {"digits", "a network that reads handwritten digits, on every backend", story_digits},
      {"gna-concat", "Intel GNA: a concat and a convolution are each right alone, and wrong together", story_gna_concat},
      {"vipnano-conv", "VeriSilicon VIPNano: a single convolution differs by one, and twenty of them by much", story_vipnano_conv},
  };
  return all;
}

}  // namespace lastbit::tool
