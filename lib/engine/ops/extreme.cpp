// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// maximum, minimum, reduce_max, reduce_min: codes of one quantisation compared, and picked as they are.
#include <algorithm>
#include <limits>

#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/with_integers.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

void require_rule(const Model& model, const Operation& operation, const Backend& backend) {
  if (backend.extreme == Extreme::absent) throw_unsupported(operation, "the backend has no such arithmetic");
  for (const std::int32_t input : operation.inputs)
    require_equal_quantization(operation, model.tensor(input), model.tensor(operation.outputs[0]));
}

/// pick(larger) or pick(smaller), as functions of two values.
template <class Pick>
void with_comparison(bool largest, const Pick& pick) {
  if (largest) pick([](auto a, auto b) { return std::max(a, b); });
  else pick([](auto a, auto b) { return std::min(a, b); });
}

}  // namespace

Executor prepare_extreme(const Model& model, const Operation& operation, const Backend& backend) {
  require_rule(model, operation, backend);
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const auto layout = [&](std::size_t input) { return broadcast_layout(model.tensor(operation.inputs[input]).shape, out); };
  return [largest = operation.kind == OperationKind::maximum,
          loop = StridedLoop<3>(out.sizes(), {layout(0), layout(1), row_major(out)})](const Execution& run) {
    with_integers(run.outputs[0], [&]<class T>() {
      const T *const a = run.inputs[0]->values<T>().data(), *const b = run.inputs[1]->values<T>().data();
      T* const to = run.outputs[0].values<T>().data();
      const auto& step = loop.row_strides();
      with_comparison(largest, [&](const auto& better) {
        loop.each_row([&](const std::array<std::int64_t, 3>& at) {
          for (std::int64_t i = 0; i < loop.row_length(); ++i)
            to[at[2] + i * step[2]] = better(a[at[0] + i * step[0]], b[at[1] + i * step[1]]);
        });
      });
    });
  };
}

Executor prepare_reduce_extreme(const Model& model, const Operation& operation, const Backend& backend) {
  require_rule(model, operation, backend);
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  return [largest = operation.kind == OperationKind::reduce_max,
          loop = StridedLoop<2>(in.sizes(), {row_major(in), reduced_layout(in, std::get<MeanAttributes>(operation.attributes).axes)})](
             const Execution& run) {
    with_integers(run.outputs[0], [&]<class T>() {
      const T* const from = run.inputs[0]->values<T>().data();
      const std::span<T> to = run.outputs[0].values<T>();
      std::ranges::fill(to, largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
      const auto& step = loop.row_strides();
      with_comparison(largest, [&](const auto& better) {
        loop.each_row([&](const std::array<std::int64_t, 2>& at) {
          for (std::int64_t i = 0; i < loop.row_length(); ++i) {
            T& best = to[static_cast<std::size_t>(at[1] + i * step[1])];
            best = better(best, from[at[0] + i * step[0]]);
          }
        });
      });
    });
  };
}

}  // namespace lastbit
