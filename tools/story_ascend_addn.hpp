// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures of the Ascend story: a sum of feature maps that float16 cannot hold.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit::tool::ascend_addn {

/// The published range of the AddN output.
inline constexpr double smallest_value = 70683, largest_value = 109508;

/// Three feature maps of an image of 25 x 40 pixels, their sum AddN, a scale, and the scores of four classes. The image is chosen so that the
/// sum has 1000 values of the published range, as the vendor's analyser was run on.
struct Network {
  Model model;
  std::vector<Tensor> inputs;
};
[[nodiscard]] Network read_network(const std::filesystem::path& data);

/// The network on a device, with operations kept in float32 as the quantiser's option says.
struct DeviceFigures {
  std::string backend;
  std::string kept;               ///< names of the operations that stayed float32
  std::vector<float> sums;        ///< what AddN delivers
  ElementMetrics metrics;         ///< of these against float32
  std::int64_t same_class = 0;    ///< pixels whose largest score is that of the float network
  std::int64_t left_float16 = 0;  ///< results that left float16, over all operations
};
[[nodiscard]] DeviceFigures run_on(const Network& network, const std::string& backend, const std::string& keep);

/// One tensor of the network, in the order of computation.
struct HeadroomFigures {
  std::string name;
  double largest = 0;
  double bits = 0;  ///< log2(65504 / largest)
};
[[nodiscard]] std::vector<HeadroomFigures> headroom(const Network& network);
/// The operation whose output is the first to leave float16.
[[nodiscard]] std::string first_leaving(const Network& network);

/// The smallest cosine that a constant can have to values between a and b, both positive.
[[nodiscard]] double smallest_cosine(double a, double b);

/// AddN of three numbers on a device, a rule changed or not.
struct OrderFigures {
  std::string terms, rules;
  float sum = 0;
};
[[nodiscard]] std::vector<OrderFigures> orders();

}  // namespace lastbit::tool::ascend_addn
