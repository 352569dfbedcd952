// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// logistic, tanh, softmax (op/function.hpp), and pwl, a piecewise-linear function of sums (arith/pwl.hpp), whose segments gna::table designs.
// Two forms of each, as in core/products.hpp.
#pragma once

#include "lastbit/arith/pwl.hpp"
#include "lastbit/backends/gna_tables.hpp"
#include "lastbit/core/golden.hpp"
#include "lastbit/core/rule.hpp"
#include "lastbit/op/function.hpp"

namespace lastbit {

/// Of softmax: scale and zero point of the output, and what the input is multiplied by.
struct SoftmaxOptions {
  double scale = 0;  ///< must be stated
  std::int64_t zero_point = 0;
  double beta = 1;
};

namespace core {

template <Code T>
[[nodiscard]] constexpr FunctionCodes function_codes(double scale, std::int64_t zero_point) {
  return {element_type_of<T>, {least_code<T>, largest_code<T>}, scale, zero_point};
}

/// Throws where the device does not compute the layer; `given`: what the function gives, whatever the output says.
constexpr void require_no_refusal(FunctionRefusal refusal, std::string_view operation, const GivenCodes& given) {
  require(refusal != FunctionRefusal::absent, operation, "the device has no such function");
  require(refusal != FunctionRefusal::input_type && refusal != FunctionRefusal::output_type, operation,
          "the device has no arithmetic for these types");
  require(refusal != FunctionRefusal::input_codes, operation, "the device's input has scale 2^-12 and zero point 0");
  require(refusal != FunctionRefusal::output_scale, operation, "the device gives scale 1/256");
  if (refusal == FunctionRefusal::output_codes)
    refuse(operation, "the device gives scale 1/" + std::to_string(static_cast<std::int64_t>(1 / given.scale)) + " and zero point " +
                          std::to_string(given.zero_point));
}

/// Throws for a layer that no function has.
template <Code X, Code Y, class Device>
constexpr void require_function_layer(const Device& device, std::string_view operation, const View<X>& x, const OutputOptions& out) {
  require_coding<X>(device.backend(), operation, x.zero_point());
  require_coding<Y>(device.backend(), operation, out.zero_point);
  require_scale(out, operation);
  require(!x.per_channel(), operation, "a function's input has one scale");
  require(out.activation == Activation::none, operation, "no activation stands behind a function");
}

/// value(code) of every code: of 8 bits once for each that there is.
template <Code Y, Code X, class Value>
[[nodiscard]] constexpr Array<Y> each_code(const View<X>& x, const OutputOptions& out, Value&& value) {
  Array<Y> y{std::vector<Y>(x.values().size(), Y{0}), x.shape(), out.scale, out.zero_point};
  const auto of = [&value](X code) { return static_cast<Y>(value(std::int64_t{code})); };
  if constexpr (sizeof(X) == 1) {
    if (y.values.size() > 256) {
      std::array<Y, 256> table{};
      for (std::int64_t code = least_code<X>; code <= largest_code<X>; ++code)
        table[static_cast<std::uint8_t>(code)] = of(static_cast<X>(code));
      std::transform(x.values().begin(), x.values().end(), y.values.begin(),
                     [&](X code) { return table[static_cast<std::uint8_t>(code)]; });
      return y;
    }
  }
  std::transform(x.values().begin(), x.values().end(), y.values.begin(), of);
  return y;
}

template <Sigmoid function, class Device, Code X>
[[nodiscard]] constexpr Array<X> sigmoid(const Device& device, const View<X>& x, const OutputOptions& out) {
  constexpr bool is_logistic = function == Sigmoid::logistic;
  constexpr std::string_view operation = is_logistic ? "logistic" : "tanh";
  require_function_layer<X, X>(device, operation, x, out);
  const Backend& backend = device.backend();
  const bool left = backend.delegated.data != DelegatedData::absent && sizeof(X) != 1;
  const FunctionArithmetic& rule =
      is_logistic ? (left ? backend.left.logistic : backend.logistic) : (left ? backend.left.tanh : backend.tanh);
  const FunctionCodes from = function_codes<X>(x.scale(), x.zero_point()), to = function_codes<X>(out.scale, out.zero_point);
  require_no_refusal(refusal_of_sigmoid<function>(rule, from, to), operation, codes_of_sigmoid<function>(from.type));
  return each_code<X>(x, out, SigmoidOfCodes<function>(rule, from, to));
}

template <Code Y, class Device, Code X>
[[nodiscard]] constexpr Array<Y> shares(const Device& device, const View<X>& x, const SoftmaxOptions& how) {
  constexpr std::string_view operation = "softmax";
  const bool is_widened =
      sizeof(X) == 1 && sizeof(Y) == 2 && how.zero_point == least_code<Y>;  // the one zero point of 16-bit codes besides 0
  require_function_layer<X, Y>(device, operation, x, {how.scale, is_widened ? 0 : how.zero_point});
  const OutputOptions out{how.scale, how.zero_point};
  if (!(how.beta > 0 && how.beta <= 1e6)) throw Error(ErrorCode::bad_attribute, "softmax", "beta is not between 0 and 1e6");
  if (x.shape().rank() == 0) throw Error(ErrorCode::shape_mismatch, "softmax", "a scalar has no last axis");
  const FunctionArithmetic& rule = device.backend().softmax;
  const FunctionCodes from = function_codes<X>(x.scale(), x.zero_point()), to = function_codes<Y>(out.scale, out.zero_point);
  require_no_refusal(refusal_of_softmax(rule, from, to), operation, codes_of_softmax(from.type, to));
  const auto columns = static_cast<std::size_t>(x.shape().back());
  Array<Y> y{std::vector<Y>(x.values().size(), Y{0}), x.shape(), out.scale, out.zero_point};
  with_softmax<X, Y>(rule, how.beta, columns, from, to, [&](const auto& row) {
    for (std::size_t at = 0; at < y.values.size(); at += columns)
      row(x.values().subspan(at, columns), std::span<Y>(y.values).subspan(at, columns));
  });
  return y;
}

/// Throws Error(bad_attribute) for segments that no device holds.
constexpr void require_segments(std::span<const PwlSegment> segments) {
  const auto fail = [](const char* what) { throw Error(ErrorCode::bad_attribute, "pwl", what); };
  if (segments.empty() || segments.size() > gna::most_segments) fail("1 to 128 segments are needed");
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i > 0 && segments[i].x_base <= segments[i - 1].x_base) fail("a segment does not begin behind the one before it");
    if (segments[i].shift % 8 != 0 || segments[i].shift < 8 || segments[i].shift > 32) fail("a shift is none of 8, 16, 24, 32");
    if ((segments[i].x_base & 3) != 0) fail("a base is no multiple of 4: the device stores the shift in its two low bits");
  }
}

template <Code Y, class Device>
[[nodiscard]] constexpr Array<Y> piecewise(const Device& device, const View<std::int32_t>& x, std::span<const PwlSegment> segments,
                                           const OutputOptions& out) {
  constexpr std::string_view operation = "pwl";
  const PwlArithmetic& rule = device.backend().pwl;
  require_function_layer<std::int32_t, Y>(device, operation, x, out);
  require(rule.method != PwlMethod::absent, operation, "the device has no piecewise-linear function");
  require(x.zero_point() == 0 && out.zero_point == 0, operation, "sums and what becomes of them have zero point 0");
  require_segments(segments);
  const PwlTable table(std::vector<PwlSegment>(segments.begin(), segments.end()));
  return each_code<Y>(x, out, [&](std::int64_t sum) { return narrow(table(sum), 8 * static_cast<int>(sizeof(Y)), rule.output_overflow); });
}

}  // namespace core

/// 1 / (1 + exp(-x)). Many devices give codes of one scale and zero point, and refuse another.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> logistic(const View<X>& x, const OutputOptions& out) {
  return core::sigmoid<Sigmoid::logistic>(core::KnownDevice<device>{}, x, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> logistic(const Backend& device, const View<X>& x, const OutputOptions& out) {
  return core::sigmoid<Sigmoid::logistic>(core::GivenDevice{&device}, x, out);
}

/// The hyperbolic tangent, likewise.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> tanh(const View<X>& x, const OutputOptions& out) {
  return core::sigmoid<Sigmoid::tanh>(core::KnownDevice<device>{}, x, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> tanh(const Backend& device, const View<X>& x, const OutputOptions& out) {
  return core::sigmoid<Sigmoid::tanh>(core::GivenDevice{&device}, x, out);
}

/// exp(beta * x) of every value by the sum of these along the last axis; int16 codes of int8 ones: softmax<std::int16_t>(device, x, …).
template <const Backend& device, Code X>
requires(sizeof(X) <= 2) [[nodiscard]] constexpr Array<X> softmax(const View<X>& x, const SoftmaxOptions& how) {
  return core::shares<X>(core::KnownDevice<device>{}, x, how);
}
template <Code X>
requires(sizeof(X) <= 2) [[nodiscard]] constexpr Array<X> softmax(const Backend& device, const View<X>& x, const SoftmaxOptions& how) {
  return core::shares<X>(core::GivenDevice{&device}, x, how);
}
template <Code Y, Code X>
requires(sizeof(X) <= 2 && (std::is_same_v<X, Y> || (sizeof(X) == 1 && std::is_same_v<Y, std::int16_t>)))
    [[nodiscard]] constexpr Array<Y> softmax(const Backend& device, const View<X>& x, const SoftmaxOptions& how) {
  return core::shares<Y>(core::GivenDevice{&device}, x, how);
}

/// A piecewise-linear function of sums, as int16 codes, or others: pwl<gna3_0, std::int8_t>(sums, segments, …).
template <const Backend& device, Code Y = std::int16_t>
requires std::is_signed_v<Y>
[[nodiscard]] constexpr Array<Y> pwl(const View<std::int32_t>& x, std::span<const PwlSegment> segments, const OutputOptions& out) {
  return core::piecewise<Y>(core::KnownDevice<device>{}, x, segments, out);
}
template <Code Y = std::int16_t>
requires std::is_signed_v<Y>
[[nodiscard]] constexpr Array<Y> pwl(const Backend& device, const View<std::int32_t>& x, std::span<const PwlSegment> segments,
                                     const OutputOptions& out) {
  return core::piecewise<Y>(core::GivenDevice{&device}, x, segments, out);
}

namespace golden {
namespace detail {

template <Code X, class Function>
[[nodiscard]] Array<double> each_value(const View<X>& x, const OutputOptions& out, Function&& function) {
  Array<double> y = real(x);
  for (double& value : y.values) value = bounded<X>(function(value), out);
  return y;
}

}  // namespace detail

template <Code X>
[[nodiscard]] Array<double> logistic(const View<X>& x, const OutputOptions& out = {}) {
  return detail::each_value(x, out, [](double value) { return 1 / (1 + std::exp(-value)); });
}
template <Code X>
[[nodiscard]] Array<double> tanh(const View<X>& x, const OutputOptions& out = {}) {
  return detail::each_value(x, out, [](double value) { return std::tanh(value); });
}
template <Code X>
[[nodiscard]] Array<double> softmax(const View<X>& x, const SoftmaxOptions& how = {}) {
  Array<double> y = real(x);
  const auto columns = static_cast<std::ptrdiff_t>(x.shape().back());
  for (auto row = y.values.begin(); row != y.values.end(); row += columns) {
    const double top = *std::max_element(row, row + columns);
    double sum = 0;
    std::for_each(row, row + columns, [&](double& value) { sum += value = std::exp(how.beta * (value - top)); });
    std::for_each(row, row + columns, [&](double& value) { value = detail::bounded<X>(value / sum, {how.scale, how.zero_point}); });
  }
  return y;
}
/// The segments' lines themselves, which nothing cuts: their values are codes of out.scale.
template <Code Y = std::int16_t>
[[nodiscard]] constexpr Array<double> pwl(const View<std::int32_t>& x, std::span<const PwlSegment> segments, const OutputOptions& out) {
  core::require_scale(out, "pwl");
  core::require_segments(segments);
  Array<double> y{std::vector<double>(x.values().size(), 0.0), x.shape()};
  std::transform(x.values().begin(), x.values().end(), y.values.begin(), [&](std::int64_t sum) {
    sum = std::max<std::int64_t>(sum, segments[0].x_base);
    const auto behind = std::find_if(segments.begin(), segments.end(), [&](const PwlSegment& segment) { return segment.x_base > sum; });
    const PwlSegment& line = *(behind - 1);
    const double rise = static_cast<double>((sum - line.x_base) * line.slope) / static_cast<double>(std::int64_t{1} << line.shift);
    return detail::bounded<Y>(out.scale * (line.y_base + rise), out);
  });
  return y;
}

}  // namespace golden
}  // namespace lastbit
