// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every kind of operation that has a bound in float16, on inputs at the ends of their ranges and between them: no value is ever beyond the bound, in
// exact arithmetic and on the device; and where all the data can reach an end, they do.
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analysis/prove/real_range.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/float16_network.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"

using namespace lastbit;

namespace {

using enum OperationKind;

/// How near to both ends of the bound data come that lie at the ends of their ranges.
enum class Reach { both_ends, no_end };

/// A network of one operation.
struct Layer {
  OperationKind kind;
  std::vector<Shape> inputs;  ///< data
  Shape output;
  Attributes attributes{};
  std::vector<Shape> weights{};
  Reach reach = Reach::both_ends;
};

Conv2dAttributes conv_of(std::int64_t stride, PaddingMode mode, Activation activation = Activation::none) {
  Conv2dAttributes how;
  how.stride = {stride, stride};
  how.padding.mode = mode;
  how.bounds.activation = activation;
  return how;
}
Pool2dAttributes pool_of(Extent2d filter, std::int64_t stride, PaddingMode mode) {
  Pool2dAttributes how;
  how.filter = filter, how.stride = {stride, stride};
  how.padding.mode = mode;
  return how;
}
ElementwiseAttributes bounded_by(Activation activation) { return {.bounds = {.activation = activation}}; }
ClipAttributes clip_to(double low, double high) {
  ClipAttributes how;
  how.bounds.real_clamp = {static_cast<float>(low), static_cast<float>(high)};
  return how;
}

/// Sizes are unlike on every axis.
std::vector<Layer> layers() {
  const Shape image{1, 5, 4, 3}, row{1, 7}, wide{2, 7};
  return {
      {conv2d, {image}, {1, 5, 4, 2}, conv_of(1, PaddingMode::same), {{2, 3, 3, 3}, {2}}, Reach::no_end},
      {conv2d, {image}, {1, 2, 2, 2}, conv_of(2, PaddingMode::valid, Activation::relu), {{2, 2, 1, 3}, {2}}, Reach::no_end},
      {conv2d, {image}, {1, 5, 4, 2}, conv_of(1, PaddingMode::same, Activation::absolute), {{2, 1, 1, 3}}, Reach::no_end},
      {depthwise_conv2d, {image}, {1, 5, 4, 3}, conv_of(1, PaddingMode::same), {{1, 3, 2, 3}, {3}}, Reach::no_end},
      {fully_connected, {row}, {1, 4}, FullyConnectedAttributes{}, {{4, 7}, {4}}, Reach::no_end},
      {matmul, {{2, 7}, {7, 3}}, {2, 3}, MatmulAttributes{}, {}, Reach::no_end},
      {matmul, {{7, 2}, {7, 3}}, {2, 3}, MatmulAttributes{.transpose_a = true}, {}, Reach::no_end},
      {add, {row, row}, row, ElementwiseAttributes{}},
      {add, {row, row}, row, bounded_by(Activation::relu6), {}, Reach::no_end},
      {sub, {row, row}, row, ElementwiseAttributes{}},
      {mul, {row, row}, row, ElementwiseAttributes{}},
      {add_n, {row, row, row}, row, ElementwiseAttributes{}},
      {average_pool2d, {image}, {1, 4, 3, 3}, pool_of({2, 2}, 1, PaddingMode::valid), {}, Reach::no_end},
      {average_pool2d, {image}, {1, 3, 2, 3}, pool_of({3, 2}, 2, PaddingMode::same), {}, Reach::no_end},
      {global_average_pool, {image}, {1, 1, 1, 3}, Pool2dAttributes{}, {}, Reach::no_end},
      {mean, {image}, {1, 3}, MeanAttributes{.axes = {1, 2}}, {}, Reach::no_end},
      {max_pool2d, {image}, {1, 4, 3, 3}, pool_of({2, 2}, 1, PaddingMode::valid)},
      {concat, {row, wide}, {3, 7}, ConcatAttributes{.axis = 0}},
      {pad, {{1, 3, 3, 2}}, {1, 4, 6, 2}, PadAttributes{.paddings = {{0, 0}, {0, 1}, {2, 1}, {0, 0}}, .value = {}, .real_value = -9.5}},
      {reshape, {row}, {7, 1}},
      {clip, {row}, row, clip_to(-2.5, 1.5)},
      {relu, {row}, row},
      {relu6, {row}, row},
      {relu_n1_to_1, {row}, row},
      {logistic, {row}, row, {}, {}, Reach::no_end},
      {OperationKind::tanh, {row}, row, {}, {}, Reach::no_end},
      {hard_swish, {row}, row, {}, {}, Reach::no_end},
      {leaky_relu, {row}, row, LeakyReluAttributes{.alpha = 0.25}, {}, Reach::no_end},
      {leaky_relu, {row}, row, LeakyReluAttributes{.alpha = -1.5}, {}, Reach::no_end},
      {OperationKind::exp, {row}, row, {}, {}, Reach::no_end},
      {softmax, {row}, row, SoftmaxAttributes{}, {}, Reach::no_end},
      {softmax, {row}, row, SoftmaxAttributes{.beta = 2.5}, {}, Reach::no_end},
  };
}

test::Network network_of(const Layer& layer, std::mt19937& random) {
  test::Network net;
  std::vector<std::int32_t> inputs;
  for (const Shape& shape : layer.inputs) inputs.push_back(net.real("x" + std::to_string(inputs.size()), shape));
  net.model.inputs = inputs;
  for (const Shape& shape : layer.weights) {
    std::vector<float> values(static_cast<std::size_t>(shape.element_count()));
    for (float& value : values) value = (static_cast<float>(random() % 2001) - 800.0F) / 1000.0F;
    inputs.push_back(net.constant<float>("w" + std::to_string(inputs.size()), shape, values));
  }
  const std::int32_t output = net.real("y", layer.output);
  if (layer.attributes.index() == 0) net.operation(layer.kind, inputs, {output});
  else net.operation(layer.kind, inputs, {output}, layer.attributes);
  net.model.outputs = {output};
  validate(net.model, "test");
  return net;
}

const std::vector<RealRange> some_ranges{{2, 5},    {-5, -2},      {-3, 7},         {-7, 3}, {0.25, 0.5}, {-0.5, 0.25},
                                         {-12, 13}, {-0.125, 300}, {-30000, 40000}, {0, 0},  {-11, -0.5}, {20000, 60000}};

RealRanges ranges_of(const test::Network& net, std::size_t first) {
  RealRanges ranges(net.model.tensors.size());
  for (std::size_t i = 0; i < net.model.inputs.size(); ++i)
    ranges[static_cast<std::size_t>(net.model.inputs[i])] = some_ranges[(first + 5 * i) % some_ranges.size()];
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    if (!net.model.tensors[t].constant) continue;
    const auto values = net.model.tensors[t].constant->values<float>();
    ranges[t] = RealRange{*std::ranges::min_element(values), *std::ranges::max_element(values)};
  }
  return ranges;
}

/// Every value at an end, or one in four between them; of `all` every value of an input at the same one.
Tensor data_within(const Shape& shape, const RealRange& range, bool all, std::mt19937& random) {
  Tensor tensor(ElementType::float32, shape);
  const auto ends = random();
  for (float& value : tensor.values<float>()) {
    const auto drawn = random();
    const double share = static_cast<double>(drawn % 1001) / 1000;
    if (!all && drawn % 4 == 0) value = static_cast<float>(range.min + share * (range.max - range.min));
    else value = static_cast<float>(((all ? ends : drawn) / 16) % 2 == 0 ? range.min : range.max);
  }
  return tensor;
}

std::vector<double> reals_of(const Tensor& tensor) {
  std::vector<double> values;
  if (tensor.type() == ElementType::float16)
    for (const Float16 value : tensor.values<Float16>()) values.push_back(static_cast<double>(static_cast<float>(value)));
  else
    for (const float value : tensor.values<float>()) values.push_back(static_cast<double>(value));
  return values;
}

/// What was seen of a layer whose inputs have these ranges.
struct Seen {
  RealRange exact{INFINITY, -INFINITY};
  std::int64_t left = 0;  ///< values that left float16
};

Seen check_within(const test::Network& net, const SpecSheet& sheet, const RealRanges& ranges, const RealResult& bound,
                  std::mt19937& random) {
  const Model device = float16_network(net.model, OperationSet(net.model.operations.size()), sheet.backend.float16.conversion);
  const Backend exact = find_backend("float").backend;
  const bool stays = std::max(bound.output->magnitude(), bound.inside) <= largest_float16;
  Seen seen;
  for (int repeat = 0; repeat < 24; ++repeat) {
    std::vector<Tensor> inputs;
    for (const std::int32_t input : net.model.inputs)
      inputs.push_back(data_within(net.model.tensor(input).shape, *ranges[static_cast<std::size_t>(input)], repeat < 16, random));
    const auto output = static_cast<std::size_t>(net.model.outputs[0]);
    for (const double value : reals_of(*run(net.model, exact, inputs).tensors[output])) {
      if (std::isinf(value)) continue;  // beyond float32
      REQUIRE(value >= bound.output->min);
      REQUIRE(value <= bound.output->max);
      seen.exact = {std::min(seen.exact.min, value), std::max(seen.exact.max, value)};
    }
    const Trace trace = run(device, sheet.backend, inputs, {.keep_all = true, .count_events = true});
    std::int64_t left = 0;
    for (const Events& events : trace.events) left += events.saturated_outputs;
    seen.left += left;
    if (!stays) continue;
    REQUIRE(left == 0);
    for (std::size_t t = 0; t < device.tensors.size(); ++t) {
      if (!device.tensors[t].name.starts_with("y") || !trace.tensors[t]) continue;
      for (const double value : reals_of(*trace.tensors[t])) {
        REQUIRE(value >= bound.output->min);
        REQUIRE(value <= bound.output->max);
      }
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("prove: no value of any kind of operation is beyond its bound, on any device of float16") {
  std::set<OperationKind> leaving;
  std::int64_t proven = 0, devices = 0;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.float16.method == Float16Method::absent) continue;
    ++devices;
    for (const Layer& layer : layers()) {
      std::mt19937 random(7);
      const test::Network net = network_of(layer, random);
      for (std::size_t first = 0; first < some_ranges.size(); ++first) {
        const RealRanges ranges = ranges_of(net, first);
        const RealRange& x = *ranges[static_cast<std::size_t>(net.model.inputs[0])];
        INFO(sheet.name << ", " << name_of(layer.kind) << " of [" << x.min << ", " << x.max << "]");
        const RealResult bound = real_range_after(net.model, net.model.operations[0], sheet.backend.float16, ranges);
        REQUIRE(bound.output);
        const Seen seen = check_within(net, sheet, ranges, bound, random);
        proven += std::max(bound.output->magnitude(), bound.inside) <= largest_float16 ? 1 : 0;
        if (seen.left > 0) leaving.insert(layer.kind);
        if (layer.reach == Reach::no_end) continue;
        const double slack = 0.01 * (bound.output->magnitude() + 0.01);
        CHECK(seen.exact.min <= bound.output->min + slack);
        CHECK(seen.exact.max >= bound.output->max - slack);
      }
    }
  }
  CHECK(devices >= 4);
  CHECK(proven > 200 * devices);
  CHECK(leaving.size() >= 8);  // or nothing would have been asked of `inside`
}
