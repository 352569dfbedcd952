// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/converted_input.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/operands.hpp"
#include "engine/with_integers.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/error.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

/// No code stands for infinity or NaN.
void require_finite(const TensorView& given, const std::string& name) {
  const auto values = given.values<float>();
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  throw Error(
      ErrorCode::bad_input, "input '" + name + "'",
      "value " + std::to_string(bad - values.begin()) + " is " + (std::isnan(*bad) ? "NaN" : "infinite") + " and cannot be quantised");
}

Tensor halves_of(const TensorView& real, const Float16Rules& conversion) {
  Tensor halves(ElementType::float16, real.shape());
  std::ranges::transform(real.values<float>(), halves.values<Float16>().begin(),
                         [&](float value) { return to_float16(value, conversion); });
  return halves;
}

}  // namespace

Tensor in_form(const Tensor& given, ElementType wanted, const ModelTensor& coded, const Backend& reader) {
  if (given.type() == wanted) return given;
  Tensor real = dequantized(given, coded.quantization);
  if (wanted == ElementType::float16) return halves_of(real, reader.float16.conversion);
  if (!is_integer(wanted)) return real;
  const std::string where = "tensor '" + coded.name + "'";
  const QuantizeArithmetic& rule = quantization_by(reader, where);
  const ChannelIndex channel_of(coded);
  const IntegerRange range = range_of(wanted);
  Tensor codes(wanted, given.shape());
  with_integers(codes, [&]<class T>() {
    for (std::size_t i = 0; i < codes.values<T>().size(); ++i) {
      const std::size_t channel = channel_of(i);
      codes.values<T>()[i] = static_cast<T>(quantize(rule, real.values<float>()[i], static_cast<float>(coded.quantization.scale(channel)),
                                                     coded.quantization.zero_point(channel), range));
    }
  });
  return codes;
}

void quantize_by(const QuantizeArithmetic& rule, const TensorView& real, const Quantization& quantization, Tensor& codes) {
  const auto scale = static_cast<float>(quantization.scale());
  const IntegerRange range = range_of(codes.type());
  with_integers(codes, [&]<class T>() {
    std::ranges::transform(real.values<float>(), codes.values<T>().begin(),
                           [&](float value) { return static_cast<T>(quantize(rule, value, scale, quantization.zero_point(), range)); });
  });
}

Tensor dequantized_by(const DequantizeArithmetic& rule, const Tensor& codes, const Quantization& quantization) {
  Tensor real(ElementType::float32, codes.shape());
  with_integers(codes, [&]<class T>() {
    std::ranges::transform(codes.values<T>(), real.values<float>().begin(), [&](T code) {
      return dequantize(rule, static_cast<std::int64_t>(code) - quantization.zero_point(), quantization.scale());
    });
  });
  return real;
}

std::optional<Tensor> converted_input(const Model& user, const Model& model, const Backend& backend, std::int32_t index,
                                      const TensorView& given) {
  const ModelTensor &wanted = model.tensor(index), &original = user.tensor(index);
  if (given.type() == wanted.type) return std::nullopt;
  if (backend.domain == Domain::real && given.type() == original.type) return dequantized(given, original.quantization);
  const bool is_coded = backend.domain != Domain::real && is_integer(wanted.type) && wanted.quantization.present();
  if (is_coded && given.type() == ElementType::float32) {
    require_finite(given, wanted.name);
    Tensor codes(wanted.type, given.shape());
    quantize_by(quantization_by(backend, "input '" + wanted.name + "'"), given, wanted.quantization, codes);
    return codes;
  }
  const bool takes_float32 = wanted.type == ElementType::float16 && backend.float16.method != Float16Method::absent;
  if (backend.domain != Domain::real && given.type() == ElementType::float32 && takes_float32)
    return halves_of(given, backend.float16.conversion);
  throw Error(ErrorCode::type_mismatch, "input '" + wanted.name + "'",
              "element type " + std::string(name_of(given.type())) + "; " + std::string(name_of(original.type)) + " is needed" +
                  (is_coded ? ", or float32 to be quantised" : ""));
}

}  // namespace lastbit
