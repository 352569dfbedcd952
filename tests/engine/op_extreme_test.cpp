// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// maximum, minimum, reduce_max, reduce_min, reduce_sum, abs, and the functions that only the golden path has.
#include <cmath>
#include <limits>

#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/layer_model.hpp"
#include "support/one_operation.hpp"
#include "support/oracle.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

const Quantization codes{{0.5}, {3}, 0};

Model network(OperationKind kind, const std::vector<Tensor>& inputs, const Shape& to, const Attributes& attributes,
              const Quantization& of_output = codes) {
  ModelBuilder builder;
  std::vector<std::int32_t> in;
  const auto quantized = [](ElementType type, const Quantization& quantization) {
    return is_integer(type) ? quantization : Quantization{};
  };
  for (const Tensor& input : inputs)
    in.push_back(builder.input({"x" + std::to_string(in.size()), input.type(), input.shape(), quantized(input.type(), codes)}));
  const ElementType type = inputs[0].type();
  return builder.finished({builder.operation(kind, in, {"y", type, to, quantized(type, of_output)}, attributes)});
}

Tensor result(const Model& model, const std::vector<Tensor>& inputs, const Backend& backend = tflite_double) {
  return *run(model, backend, inputs).tensors[static_cast<std::size_t>(model.outputs[0])];
}

TEST_CASE("maximum, minimum: codes compared with broadcasting, whatever they stand for") {
  const std::vector<Tensor> inputs{tensor_of<std::int8_t>({2, 3}, {-128, 5, 3, 127, 0, -1}), tensor_of<std::int8_t>({3}, {4, 5, -2})};
  CHECK(result(network(OperationKind::maximum, inputs, {2, 3}, {}), inputs) == tensor_of<std::int8_t>({2, 3}, {4, 5, 3, 127, 5, -1}));
  CHECK(result(network(OperationKind::minimum, inputs, {2, 3}, {}), inputs) == tensor_of<std::int8_t>({2, 3}, {-128, 5, -2, 4, 0, -2}));
}

TEST_CASE("reduce_max, reduce_min: over any axes, kept or not; codes at both ends") {
  const std::vector<Tensor> inputs{tensor_of<std::int8_t>({1, 2, 2, 2}, {-128, -128, -128, 7, -128, 127, -128, -5})};
  const auto over = [&](OperationKind kind, std::vector<std::int64_t> axes, bool keeps, const Shape& to) {
    return values_of<std::int8_t>(result(network(kind, inputs, to, MeanAttributes{std::move(axes), keeps}), inputs));
  };
  CHECK(over(OperationKind::reduce_max, {1, 2}, false, {1, 2}) == std::vector<std::int8_t>{-128, 127});
  CHECK(over(OperationKind::reduce_min, {1, 2}, true, {1, 1, 1, 2}) == std::vector<std::int8_t>{-128, -128});
  CHECK(over(OperationKind::reduce_max, {3}, false, {1, 2, 2}) == std::vector<std::int8_t>{-128, 7, 127, -5});
}

TEST_CASE("codes of two quantisations are not compared, and a device without the rule compares none") {
  const std::vector<Tensor> inputs{tensor_of<std::int8_t>({2}, {1, 2}), tensor_of<std::int8_t>({2}, {2, 1})};
  CHECK_FALSE(check(network(OperationKind::maximum, inputs, {2}, {}, {{0.25}, {3}, 0}), tflite_double).empty());
  const Model model = network(OperationKind::maximum, inputs, {2}, {});
  REQUIRE(check(model, tflite_double).empty());
  const auto problems = check(model, find_backend("vipnano_v8").backend);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message == "the backend has no such arithmetic");
}

TEST_CASE("abs: every code of 8 bits, rescaled once or not, from the definition") {
  Tensor all(ElementType::int8, {256});
  for (std::int64_t i = 0; i < 256; ++i) all.values<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  for (const auto& [numerator, denominator, zero] : {std::array<std::int64_t, 3>{1, 1, -128}, {1, 2, 5}, {4, 1, -7}, {1, 4, -128}}) {
    INFO(numerator << "/" << denominator << " and " << zero);
    const double scale = 0.5 * static_cast<double>(denominator) / static_cast<double>(numerator);
    const Tensor found = result(network(OperationKind::abs, {all}, {256}, {}, {{scale}, {zero}, 0}), {all}, tflite_single);
    for (std::int64_t code = -128; code < 128; ++code) {
      const Int128 magnitude = rounded(Int128{std::abs(code - 3)} * numerator, denominator, Rounding::half_away);
      REQUIRE(found.integer_at(code + 128) == std::clamp<Int128>(magnitude + zero, -128, 127));
    }
  }
}

TEST_CASE("reduce_sum: centred codes, rescaled once more; no count divides") {
  const std::vector<Tensor> inputs{tensor_of<std::int8_t>({1, 2, 2, 1}, {-128, 4, 3, 90})};
  const MeanAttributes image{{1, 2}, false};
  const auto sum = [&](double scale, std::int64_t zero) {
    return result(network(OperationKind::reduce_sum, inputs, {1, 1}, image, {{scale}, {zero}, 0}), inputs).integer_at(0);
  };
  CHECK(sum(0.5, 0) == -131 + 1 + 0 + 87);
  CHECK(sum(1.0, 0) == -21);  // -21.5, half up
  CHECK(sum(1.0, -120) == -128);
  const std::vector<Tensor> reals{tensor_of<float>({1, 2, 2, 1}, {1.0F, 2.5F, -1.0F, 4.0F})};
  CHECK(result(network(OperationKind::reduce_sum, reals, {1, 1}, image), reals, find_backend("float").backend).values<float>()[0] == 6.5F);
}

TEST_CASE("functions of real values: the golden path has them, devices of integers refuse them by name") {
  const struct {
    OperationKind kind;
    std::vector<float> in, out;
  } cases[] = {
      {OperationKind::abs, {-1.5F, 0.0F, 2.0F}, {1.5F, 0.0F, 2.0F}},
      {OperationKind::neg, {-1.5F, 1.0F, 2.0F}, {1.5F, -1.0F, -2.0F}},
      {OperationKind::log, {1.0F, 8.0F, 0.5F}, {0.0F, static_cast<float>(std::log(8.0)), static_cast<float>(std::log(0.5))}},
      {OperationKind::sqrt, {4.0F, 2.0F, 0.0F}, {2.0F, static_cast<float>(std::sqrt(2.0)), 0.0F}},
      {OperationKind::rsqrt, {4.0F, 2.0F, 1.0F}, {0.5F, static_cast<float>(1 / std::sqrt(2.0)), 1.0F}},
  };
  for (const auto& one : cases) {
    INFO(name_of(one.kind));
    const std::vector<Tensor> inputs{tensor_of<float>({3}, one.in)};
    CHECK(values_of<float>(result(network(one.kind, inputs, {3}, {}), inputs, find_backend("float").backend)) == one.out);
    if (one.kind == OperationKind::abs) continue;
    const auto problems = check(network(one.kind, {Tensor(ElementType::int8, {3})}, {3}, {}), tflite_double);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == "the backend has no such arithmetic");
  }
  const std::vector<Tensor> pair{tensor_of<float>({2}, {1.0F, 3.0F}), tensor_of<float>({1}, {4.0F})};
  CHECK(values_of<float>(result(network(OperationKind::div, pair, {2}, ElementwiseAttributes{}), pair, find_backend("float").backend)) ==
        std::vector<float>{0.25F, 0.75F});
  const std::vector<Tensor> nan{tensor_of<float>({2}, {std::numeric_limits<float>::quiet_NaN(), 1.0F}),
                                tensor_of<float>({2}, {1.0F, 2.0F})};
  const Tensor seen = result(network(OperationKind::maximum, nan, {2}, {}), nan, find_backend("float").backend);
  CHECK(std::isnan(seen.values<float>()[0]));
  CHECK(seen.values<float>()[1] == 2.0F);
}

}  // namespace
}  // namespace lastbit
