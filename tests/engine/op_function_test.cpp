// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions of one value.
#include <algorithm>
#include <cmath>

#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

using Kind = OperationKind;

/// Every code of a type through logistic or tanh, to the output that the kernels fix.
template <class T>
std::vector<std::int64_t> answers(Kind kind, const Quantization& input, const char* backend) {
  const auto low = static_cast<std::int64_t>(std::numeric_limits<T>::min()),
             high = static_cast<std::int64_t>(std::numeric_limits<T>::max());
  const bool is_wide = sizeof(T) == 2;
  const double scale = is_wide ? 1.0 / 32768 : kind == Kind::tanh ? 1.0 / 128 : 1.0 / 256;
  const std::int64_t zero = is_wide ? 0 : kind == Kind::tanh ? (low + high + 1) / 2 : low;
  ModelBuilder builder;
  const Shape shape{1, high - low + 1};
  const auto x = builder.input({"x", element_type_of<T>, shape, input});
  const Model model = builder.finished({builder.operation(kind, {x}, {"y", element_type_of<T>, shape, {{scale}, {zero}, 0}})});
  Tensor codes(element_type_of<T>, shape);
  for (std::int64_t code = low; code <= high; ++code) codes.values<T>()[static_cast<std::size_t>(code - low)] = static_cast<T>(code);
  const Trace trace = run(model, find_backend(backend).backend, std::vector<Tensor>{codes});
  const Tensor& output = *trace.tensors[static_cast<std::size_t>(model.outputs[0])];
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < output.element_count(); ++i) values.push_back(output.integer_at(i));
  return values;
}

/// TensorFlow Lite's table: the function of the dequantised code in float, times the inverse of the scale, rounded half away, plus the zero point.
template <class T>
std::vector<std::int64_t> table(Kind kind, const Quantization& input) {
  const auto low = static_cast<std::int64_t>(std::numeric_limits<T>::min()),
             high = static_cast<std::int64_t>(std::numeric_limits<T>::max());
  const std::int64_t zero = kind == Kind::tanh ? (low + high + 1) / 2 : low;
  std::vector<std::int64_t> values;
  for (std::int64_t code = low; code <= high; ++code) {
    const float x = static_cast<float>(input.scale()) * static_cast<float>(code - input.zero_point());
    const auto rounded = [](double value) { return static_cast<float>(value); };
    const float y = kind == Kind::tanh ? rounded(std::tanh(double{x})) * 128.0F : 1.0F / (1.0F + rounded(std::exp(-double{x}))) * 256.0F;
    values.push_back(std::clamp(static_cast<std::int64_t>(std::round(y)) + zero, low, high));
  }
  return values;
}

}  // namespace

TEST_CASE("TensorFlow Lite's own logistic and tanh of 8 bits are tables of the float functions, TFLite Micro's are not") {
  for (const Kind kind : {Kind::logistic, Kind::tanh}) {
    INFO(name_of(kind));
    std::int64_t elsewhere = 0;
    for (const double scale : {0.05, 0.0241, 0.11, 0.0078125, 0.013, 0.0177, 0.031, 0.0625, 0.083, 0.0043}) {
      INFO(scale);
      const Quantization with_sign{{double{static_cast<float>(scale)}}, {7}, 0},
          without_sign{{double{static_cast<float>(scale)}}, {120}, 0};
      for (const char* backend : {"tflite_builtin_double", "tflite_builtin_single"}) {
        CHECK(answers<std::int8_t>(kind, with_sign, backend) == table<std::int8_t>(kind, with_sign));
        CHECK(answers<std::uint8_t>(kind, without_sign, backend) == table<std::uint8_t>(kind, without_sign));
      }
      elsewhere += answers<std::int8_t>(kind, with_sign, "tflite_double") != table<std::int8_t>(kind, with_sign);
    }
    if (kind == Kind::logistic) CHECK(elsewhere > 0);  // tanh in fixed point gives the same codes at these scales
    const Quantization wide{{1.0 / 4096}, {0}, 0};
    CHECK(answers<std::int16_t>(kind, wide, "tflite_builtin_double") == answers<std::int16_t>(kind, wide, "tflite_double"));
  }
}
