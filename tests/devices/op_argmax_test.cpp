// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/op/argmax.hpp"

#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/one_operation.hpp"

namespace lastbit {
namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

std::vector<std::int64_t> indices(ArgmaxMethod method, RunningMaximum running, const Rows& rows,
                                  SingleChannel single = SingleChannel::zero) {
  Argmax argmax({.method = method, .running_maximum = running, .single_channel = single}, -128, 0);
  std::vector<std::int64_t> found;
  for (const auto& row : rows) found.push_back(argmax(row));
  return found;
}

TEST_CASE("argmax: the first or the last of equal maxima; of nothing but the lowest value, index 0") {
  const Rows rows{{1, 5, 5, 2}, {-128, -128, -128, -128}, {-3, -2, -1, -4}};
  CHECK(indices(ArgmaxMethod::first_maximum, RunningMaximum::per_position, rows) == std::vector<std::int64_t>{1, 0, 2});
  CHECK(indices(ArgmaxMethod::last_maximum, RunningMaximum::per_position, rows) == std::vector<std::int64_t>{2, 3, 2});
}

TEST_CASE("argmax: a maximum carried over answers for later positions that lie below it") {
  const Rows rows{{1, 7, 3}, {6, 0, 0}, {0, 0, 7}, {0, 0, 8}};
  const auto carried = RunningMaximum::carried_over;
  CHECK(indices(ArgmaxMethod::first_maximum, RunningMaximum::per_position, rows) == std::vector<std::int64_t>{1, 0, 2, 2});
  CHECK(indices(ArgmaxMethod::first_maximum, carried, rows) == std::vector<std::int64_t>{1, 1, 1, 2});
  CHECK(indices(ArgmaxMethod::last_maximum, carried, rows) == std::vector<std::int64_t>{1, 1, 2, 2});
}

TEST_CASE("argmax: a single channel is index 0, or whether it lies in the upper half") {
  const Rows rows{{5}, {0}, {-5}};
  CHECK(indices(ArgmaxMethod::first_maximum, RunningMaximum::per_position, rows) == std::vector<std::int64_t>{0, 0, 0});
  CHECK(indices(ArgmaxMethod::first_maximum, RunningMaximum::per_position, rows, SingleChannel::upper_half) ==
        std::vector<std::int64_t>{1, 0, 0});
}

TEST_CASE("argmax in a model: any axis, integers or reals, and absent where the device has none") {
  Tensor input(ElementType::uint8, {2, 3});
  const std::vector<std::uint8_t> values{1, 9, 3, 4, 5, 200};
  std::copy(values.begin(), values.end(), input.values<std::uint8_t>().begin());
  Backend backend = find_backend("n2d2_single_shift").backend;
  backend.argmax.running_maximum = RunningMaximum::per_position;
  const auto found = [&](std::int64_t axis, const Shape& shape, const Backend& on) {
    const Model model = test::one_operation(OperationKind::argmax, ArgmaxAttributes{axis}, {input}, {shape}, ElementType::int32);
    return *run(model, on, {{input}}).tensors[1];
  };
  CHECK(test::values_of<std::int32_t>(found(1, {2}, backend)) == std::vector<std::int32_t>{1, 2});
  CHECK(test::values_of<std::int32_t>(found(0, {3}, backend)) == std::vector<std::int32_t>{1, 0, 1});
  CHECK(test::values_of<float>(found(1, {2}, find_backend("float").backend)) == std::vector<float>{1, 2});
  CHECK_THROWS(found(1, {2}, find_backend("vipnano_v8").backend));
}

}  // namespace
}  // namespace lastbit
