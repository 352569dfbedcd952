// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A device of one's own, as a file and as a constant: both are the same value. One convolution value goes through it and through the
// device it resembles.
#include <iostream>

#include "lastbit/backends/vipnano.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"

using namespace lastbit;

constexpr Backend my_npu = [] {
  Backend backend = vipnano_v8;
  backend.conv.i8.sum.accumulator.bits = 24;
  backend.conv.i8.sum.accumulator.overflow = Overflow::saturate;
  backend.conv.i8.sum.output.chain = {stage::multiply(MultiplierBits{12}, Rounding::floor), stage::shift_right(Rounding::half_up),
                                      stage::add_zero_point(), stage::clamp()};
  return backend;
}();

/// One output of a convolution: bias + sum of products, then the chain.
std::int64_t conv_value(const ConvArithmetic& rule, std::int64_t bias, std::initializer_list<std::int64_t> products) {
  Accumulator accumulator(rule.sum.accumulator, bias);
  for (const std::int64_t product : products) accumulator.add(product);
  const ScaleEncoding& encoding = rule.sum.output.scale;
  const RescaleOperands operands{
      .scale = encode(encoding, effective_scale(encoding.arithmetic, 0.5, 0.0078125, 0.25)), .zero_point = 3, .min = -128, .max = 127};
  return finish(rule.sum.output.chain, accumulator.result(), operands);
}

int main() {
  const SpecSheet sheet = find_backend("examples/own_device/my_npu.json");
  std::cout << "the file says what the constant says: " << (sheet.backend == my_npu ? "yes" : "no") << "\n\n";

  std::cout << "rules in which it differs from vipnano_v8:\n";
  for (const RuleDifference& rule : diff_backends(vipnano_v8, sheet.backend)) {
    std::cout << "  " << rule.path << ": " << rule.a << " -> " << rule.b << "\n";
  }

  // half_even sends the tie 16.5 to 16, half_up to 17; then the zero point.
  std::cout << "\nsum 1056 / 64 = 16.5, zero point 3:\n";
  const std::int64_t here = conv_value(sheet.backend.conv.i8, 160, {1000, -200, 96});
  const std::int64_t there = conv_value(vipnano_v8.conv.i8, 160, {1000, -200, 96});
  std::cout << "  my_npu      " << here << "\n  vipnano_v8  " << there << "\n";
  return sheet.backend == my_npu && here == 20 && there == 19 ? 0 : 1;
}
