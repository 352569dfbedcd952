// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every recorded case below tests/vectors, on the backend it names: every value equal. A new folder needs no line here.
#include "engine/output_lines.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/verify.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

void check_all() {
  const auto report = lastbit::verify(lastbit::test::source_directory() / "tests/vectors");
  for (const auto& failure : report.failures) {
    UNSCOPED_INFO(failure.file << " " << failure.name << " " << failure.tensor << "[" << failure.index << "] expected " << failure.expected
                               << ", got " << failure.got << " " << failure.reason);
  }
  CHECK(report.failures.empty());
  CHECK(report.passed > 1400);
  CHECK(report.values > 500000);
}

}  // namespace

TEST_CASE("every recorded value is computed exactly") { check_all(); }

TEST_CASE("and where outputs of bytes are made between lines, as those of large layers are") {
  const lastbit::ScopedEagerLines eager;
  check_all();
}

TEST_CASE("the recorded cases hold as well when every sum is computed step by step") {
  // An accumulator that reports overflow instead of wrapping takes no fast route and still gives the recorded values where none overflows.
  lastbit::VerifyOptions options;
  std::size_t adjusted = 0;
  options.adjust = [&](lastbit::SpecSheet& sheet) {
    sheet.backend.fully_connected.i8.sum.accumulator.overflow = lastbit::Overflow::exact;
    ++adjusted;
  };
  const auto report = lastbit::verify(lastbit::test::source_directory() / "tests/vectors/tflite/fully_connected", options);
  CHECK(report.failures.empty());
  CHECK(adjusted > 90);
}

TEST_CASE("what was recorded of TensorFlow Lite's own kernels tells them from those of others") {
  struct Neighbour {
    const char *suite, *rule, *value;
  };
  constexpr Neighbour neighbours[]{{"conv2d", "conv.i8.output.chain.2.rounding", "half_up"},  // the optimised kernels
                                   {"depthwise_conv2d", "depthwise_conv.i8.output.chain.2.rounding", "half_up"},
                                   {"conv2d_optimized", "conv.i8.output.chain.2.rounding", "half_even"},
                                   {"requantize_optimized", "requantize.chain.2.rounding", "half_away"},
                                   {"fully_connected", "fully_connected.i16_bias32.output.by", "in*weight/out"},
                                   {"mean", "mean.output.chain.2.rounding", "half_up"},
                                   {"add", "add.i16_power_of_two.operand.chain.0.rounding", "half_up"},
                                   {"sub", "sub.i16_power_of_two.operand.chain.0.rounding", "half_up"},
                                   {"sub", "sub.i16.operand.scale.arithmetic", "f32"},  // TFLite Micro's, as the next six
                                   {"sub", "sub.i16.output.scale.arithmetic", "f32"},
                                   {"mul", "mul.scale.arithmetic", "f64"},
                                   {"softmax", "softmax.method", "fixed_point"},
                                   {"logistic", "logistic.method", "fixed_point"},
                                   {"tanh", "tanh.method", "fixed_point"},
                                   {"lstm", "lstm.method", "sigmoid_table"},
                                   {"resize_bilinear_optimized", "resize.method_uint8", "float_by_row"},
                                   {"svdf", "svdf.activation", "applied"}};
  for (const Neighbour& neighbour : neighbours) {
    INFO(neighbour.suite << ": " << neighbour.rule << " = " << neighbour.value);
    lastbit::VerifyOptions options;
    options.adjust = [&](lastbit::SpecSheet& sheet) { lastbit::set_rule(sheet.backend, neighbour.rule, neighbour.value); };
    const auto suite = lastbit::test::source_directory() / "tests/vectors/tflite_builtin" / neighbour.suite;
    CHECK(lastbit::verify(suite).failures.empty());
    CHECK_FALSE(lastbit::verify(suite, options).failures.empty());
  }
}
