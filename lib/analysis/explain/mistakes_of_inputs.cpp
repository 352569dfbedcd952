// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "analysis/explain/layer_values.hpp"
#include "analysis/explain/mistakes.hpp"

namespace lastbit {
namespace {

bool ends_a_fed_part(const Suspect& suspect) {
  if (!suspect.ends_its_part()) return false;
  for (std::size_t i = 0; i < suspect.inputs().size(); ++i)
    if (suspect.is_fed(i)) return true;
  return false;
}

/// One of the network's inputs, as real values and back.
class FedInput {
 public:
  FedInput(const Suspect& suspect, std::size_t input, const TryMistake& attempt)
      : suspect_(suspect),
        input_(input),
        attempt_(attempt),
        described_(suspect.model().tensor(suspect.model().inputs[input])),
        values_(suspect.inputs()[input]) {}

  [[nodiscard]] bool is_coded() const { return is_integer(described_.type) && described_.quantization.present(); }
  [[nodiscard]] bool is_real() const { return described_.type == ElementType::float32; }
  [[nodiscard]] const Tensor& values() const { return values_; }
  [[nodiscard]] const ModelTensor& described() const { return described_; }
  [[nodiscard]] std::vector<double> reals() const {
    std::vector<double> reals;
    if (is_real()) {
      const auto values = values_.values<float>();
      return {values.begin(), values.end()};
    }
    const Quantization& q = described_.quantization;
    for (const std::int64_t code : codes_of(values_)) reals.push_back(q.scale() * static_cast<double>(code - q.zero_point()));
    return reals;
  }
  void attempt_reals(const std::string& what, const std::vector<double>& reals) const {
    if (is_real()) {
      Tensor other = values_;
      std::ranges::transform(reals, other.values<float>().begin(), [](double value) { return static_cast<float>(value); });
      return attempt_values(what, other);
    }
    const Quantization& q = described_.quantization;
    std::vector<std::int64_t> codes;
    for (const double real : reals) codes.push_back(nearest_integer(real / q.scale()) + q.zero_point());
    attempt_values(what, with_codes(values_, codes));
  }
  void attempt_values(const std::string& what, const Tensor& other) const {
    if (other == values_) return;
    attempt_(what, [&](AlteredPart& part) {
      part.inputs.assign(suspect_.inputs().begin(), suspect_.inputs().end());
      part.inputs[input_] = other;
    });
  }
  /// The axis of red, green and blue: how many values lie between two of them.
  [[nodiscard]] std::optional<std::int64_t> stride_of_colours() const {
    const Shape& shape = described_.shape;
    constexpr std::int64_t colours = 3;
    if (shape.rank() >= 3 && shape.back() == colours) return 1;
    if (shape.rank() == 4 && shape[1] == colours) return shape[2] * shape[3];
    if (shape.rank() == 3 && shape[0] == colours) return shape[1] * shape[2];
    return std::nullopt;
  }

 private:
  const Suspect& suspect_;
  std::size_t input_;
  const TryMistake& attempt_;
  const ModelTensor& described_;
  const Tensor& values_;
};

void each_fed(const Suspect& suspect, const TryMistake& attempt, const std::function<void(const FedInput&)>& visit) {
  for (std::size_t i = 0; i < suspect.inputs().size(); ++i)
    if (suspect.is_fed(i)) visit(FedInput(suspect, i, attempt));
}

void exchange_colours(const Suspect& suspect, const TryMistake& attempt) {
  each_fed(suspect, attempt, [](const FedInput& input) {
    const auto stride = input.stride_of_colours();
    if (!stride) return;
    input.attempt_values("red and blue of '" + input.described().name + "' are exchanged (RGB, BGR)",
                         reordered(input.values(), [&](std::int64_t i) {
                           const std::int64_t colour = i / *stride % 3;
                           return i + (2 - 2 * colour) * *stride;
                         }));
  });
}

void quantize_input_otherwise(const Suspect& suspect, const TryMistake& attempt) {
  each_fed(suspect, attempt, [](const FedInput& input) {
    const std::string name = "'" + input.described().name + "'";
    if (!input.is_coded()) return;
    const Quantization& q = input.described().quantization;
    const std::vector<std::int64_t> codes = codes_of(input.values());
    input.attempt_reals("the input " + name + " is quantised twice", {codes.begin(), codes.end()});
    std::vector<double> reals = input.reals();
    std::vector<std::int64_t> others;
    for (const double real : reals) others.push_back(nearest_integer(real));
    input.attempt_values("the input " + name + " is not quantised: its real values are taken for codes",
                         with_codes(input.values(), others));
    for (const std::int64_t offset : {std::int64_t{128}, std::int64_t{-128}, -q.zero_point(), q.zero_point()}) {
      others = codes;
      for (std::int64_t& code : others) code += offset;
      input.attempt_values("the codes of the input " + name + " are off by " + std::to_string(offset), with_codes(input.values(), others));
    }
    others = codes;
    const IntegerRange range = range_of(input.described().type);
    const std::int64_t half = (range.max - range.min + 1) / 2;
    for (std::int64_t& code : others) code += code - range.min >= half ? -half : half;
    input.attempt_values("the sign bit of the input " + name + " is inverted", with_codes(input.values(), others));
  });
}

/// How pixels of 0 to 255 become a network's input: (pixel - mean) / deviation, of red, green and blue.
struct Preprocessing {
  std::array<double, 3> mean, deviation;
};

constexpr double whole = 255;
constexpr Preprocessing preprocessings[] = {
    {{0, 0, 0}, {whole, whole, whole}},
    {{127.5, 127.5, 127.5}, {127.5, 127.5, 127.5}},
    {{128, 128, 128}, {128, 128, 128}},
    {{127.5, 127.5, 127.5}, {128, 128, 128}},
    {{123.675, 116.28, 103.53}, {58.395, 57.12, 57.375}},
    {{0.485 * whole, 0.456 * whole, 0.406 * whole}, {0.229 * whole, 0.224 * whole, 0.225 * whole}},
    {{103.53, 116.28, 123.675}, {57.375, 57.12, 58.395}},
    {{123.68, 116.779, 103.939}, {1, 1, 1}},
    {{103.939, 116.779, 123.68}, {1, 1, 1}},
    {{104, 117, 123}, {1, 1, 1}},
    {{128, 128, 128}, {1, 1, 1}},
    {{127.5, 127.5, 127.5}, {1, 1, 1}},
    {{123.68, 116.78, 103.94}, {58.8235, 58.8235, 58.8235}},
    {{0.1307 * whole, 0.1307 * whole, 0.1307 * whole}, {0.3081 * whole, 0.3081 * whole, 0.3081 * whole}},
    {{0.4914 * whole, 0.4822 * whole, 0.4465 * whole}, {0.2470 * whole, 0.2435 * whole, 0.2616 * whole}},
    {{0.4914 * whole, 0.4822 * whole, 0.4465 * whole}, {0.2023 * whole, 0.1994 * whole, 0.2010 * whole}},
};

/// The pixels that the input was made of, if it was made so.
std::optional<std::vector<double>> pixels_of(const FedInput& input, const std::vector<double>& reals, const Preprocessing& made,
                                             const std::function<std::size_t(std::size_t)>& colour) {
  std::vector<double> pixels;
  const double step = input.is_coded() ? input.described().quantization.scale() : 0;
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const double pixel = reals[i] * made.deviation[colour(i)] + made.mean[colour(i)], slack = step * made.deviation[colour(i)] + 0.01;
    if (pixel < -slack || pixel > whole + slack) return std::nullopt;
    const double rounded = std::round(std::clamp(pixel, 0.0, whole));
    pixels.push_back(input.is_coded() || std::abs(pixel - rounded) < 0.01 ? rounded : pixel);
  }
  return pixels;
}

void forget_preprocessing(const FedInput& input) {
  const std::vector<double> reals = input.reals();
  const auto stride = input.stride_of_colours();
  const auto colour = [&](std::size_t i) { return stride ? i / static_cast<std::size_t>(*stride) % 3 : 0; };
  const auto [low, high] = std::ranges::minmax(reals);
  if (low == high) return;
  std::vector<Preprocessing> all(std::begin(preprocessings), std::end(preprocessings));
  if (input.is_coded() && size_of(input.described().type) == 1) {  // every code is a pixel
    const Quantization& q = input.described().quantization;
    const auto mean = static_cast<double>(q.zero_point() - range_of(input.described().type).min);
    const double deviation = 1 / q.scale();
    all.insert(all.begin(), Preprocessing{{mean, mean, mean}, {deviation, deviation, deviation}});
  }
  for (const Preprocessing& made : all) {
    const auto pixels = pixels_of(input, reals, made, colour);
    if (!pixels) continue;
    const auto become = [&](const std::string& what, const std::function<double(double, std::size_t)>& value) {
      std::vector<double> others;
      for (std::size_t i = 0; i < reals.size(); ++i) others.push_back(value((*pixels)[i], colour(i)));
      input.attempt_reals("the input '" + input.described().name + "' is made without " + what, others);
    };
    become("mean and deviation: pixels of 0 to 255", [](double pixel, std::size_t) { return pixel; });
    become("mean and deviation: pixels of 0 to 1", [](double pixel, std::size_t) { return pixel / whole; });
    become("its mean", [&](double pixel, std::size_t c) { return pixel / made.deviation[c]; });
    become("its deviation", [&](double pixel, std::size_t c) { return pixel - made.mean[c]; });
    become("its deviation: pixels of 0 to 1", [&](double pixel, std::size_t c) { return (pixel - made.mean[c]) / whole; });
    if (!input.is_coded()) continue;
    std::vector<std::int64_t> codes;
    for (const double pixel : *pixels) codes.push_back(nearest_integer(pixel) + (range_of(input.described().type).min < 0 ? -128 : 0));
    input.attempt_values("the input '" + input.described().name + "' is made without mean and deviation: its codes are the pixels",
                         with_codes(input.values(), codes));
  }
}

void forget_mean_and_deviation(const Suspect& suspect, const TryMistake& attempt) {
  each_fed(suspect, attempt, [](const FedInput& input) {
    if ((input.is_coded() || input.is_real()) && input.described().shape.rank() >= 3) forget_preprocessing(input);
  });
}

/// A network that begins by quantising, given codes instead of real values.
void quantize_twice(const Suspect& suspect, const TryMistake& attempt) {
  each_fed(suspect, attempt, [&](const FedInput& input) {
    for (const Operation& operation : suspect.model().operations) {
      const ModelTensor& output = suspect.model().tensor(operation.outputs[0]);
      const bool reads_it = &suspect.model().tensor(operation.inputs[0]) == &input.described();
      const Quantization& q = output.quantization;
      if (operation.kind != OperationKind::quantize || !reads_it || !input.is_real() || !q.present() || q.per_channel()) continue;
      const IntegerRange range = range_of(output.type);
      std::vector<double> codes;
      for (const double real : input.reals())
        codes.push_back(static_cast<double>(std::clamp(nearest_integer(real / q.scale()) + q.zero_point(), range.min, range.max)));
      input.attempt_reals("the input '" + input.described().name + "' is quantised twice", codes);
    }
  });
}

constexpr Mistake input_mistakes[] = {
    {"colours_exchanged", ends_a_fed_part, exchange_colours},
    {"input_quantised_otherwise", ends_a_fed_part, quantize_input_otherwise},
    {"input_quantised_otherwise", ends_a_fed_part, quantize_twice},
    {"mean_and_deviation_forgotten", ends_a_fed_part, forget_mean_and_deviation},
};

}  // namespace

std::span<const Mistake> mistakes_of_inputs() { return input_mistakes; }

}  // namespace lastbit
