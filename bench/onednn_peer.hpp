// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The convolution of a one-layer model by oneDNN, one thread: everything prepared beforehand, all memory in the layout that oneDNN prefers.
// Its arithmetic: (sum + bias) in float times a float scale per channel, rounded to even; zero points of the model are left out, which is its
// fastest form.
#pragma once

#include <functional>
#include <memory>

#include "lastbit/model.hpp"

namespace lastbit::bench {

class OnednnConvolution {
 public:
  OnednnConvolution(const Model& model, const Tensor& input);
  ~OnednnConvolution();
  void run();
  [[nodiscard]] Tensor output();  ///< NHWC

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lastbit::bench
