// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

namespace lastbit::tool {

const std::vector<Story>& stories() {
  static const std::vector<Story> all{
      {"digits", "a network that reads handwritten digits, on every backend", nullptr, print_digits},
      {"gna-concat", "Intel GNA: a concat and a convolution are each right alone, and wrong together", gna_concat_figures},
      {"vipnano-conv", "VeriSilicon VIPNano: a single convolution differs by one, and twenty of them by much", vipnano_conv_figures},
      {"bpu-pool-exp", "Horizon BPU: a pool at cosine 0.84, and an exponential that answers with a constant", bpu_pool_exp_figures},
      {"ascend-addn", "Huawei Ascend: a detector in float16 finds nothing, and a sum of feature maps is 65504 everywhere",
       ascend_addn_figures},
      {"n2d2-shift", "N2D2: the shifts of an export, what each way of scaling costs, and where the simulator parts from it",
       n2d2_shift_figures},
  };
  return all;
}

}  // namespace lastbit::tool
