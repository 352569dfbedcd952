// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The convolution of a one-layer model of int8 data by XNNPACK, one thread: what the backend `xnnpack` computes, its output too. The
// operator is made, and its weights packed, beforehand.
#pragma once

#include <memory>

#include "lastbit/model.hpp"

namespace lastbit::bench {

class XnnpackConvolution {
 public:
  /// Throws std::runtime_error where the library refuses the layer.
  XnnpackConvolution(const Model& model, const Tensor& input);
  ~XnnpackConvolution();
  void run();
  [[nodiscard]] Tensor output();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lastbit::bench
