// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

namespace lastbit::tool {

const std::vector<Story>& stories() {
  static const std::vector<Story> all{
      {"digits", "a network that reads handwritten digits, on every backend", story_digits},
      {"gna-concat", "Intel GNA: a concat and a convolution are each right alone, and wrong together", story_gna_concat},
      {"vipnano-conv", "VeriSilicon VIPNano: a single convolution differs by one, and twenty of them by much", story_vipnano_conv},
      {"bpu-pool-exp", "Horizon BPU: a pool at cosine 0.84, and an exponential that answers with a constant", story_bpu_pool_exp},
      {"ascend-addn", "Huawei Ascend: a detector in float16 finds nothing, and a sum of feature maps is 65504 everywhere",
       story_ascend_addn},
      {"n2d2-shift", "N2D2: the shifts of an export, what each way of scaling costs, and where the simulator parts from it",
       story_n2d2_shift},
  };
  return all;
}

}  // namespace lastbit::tool
