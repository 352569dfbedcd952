// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// bitwise_or, bitwise_xor: codes of one type combined bit by bit, whatever they stand for.
#include <functional>

#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"

namespace lastbit {
namespace {

template <class Combine>
Executor combined(Combine combine) {
  return [combine](const Execution& run) {
    visit_element_type(run.inputs[0]->type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const auto first = run.inputs[0]->values<T>();
        std::vector<T> codes(first.begin(), first.end());
        for (const Tensor* const input : run.inputs.subspan(1)) {
          std::transform(codes.begin(), codes.end(), input->values<T>().begin(), codes.begin(),
                         [&](T a, T b) { return static_cast<T>(combine(a, b)); });
        }
        visit_element_type(run.outputs[0].type(), [&]<class Out>() {
          if constexpr (std::is_integral_v<Out> && !std::is_same_v<Out, bool>)
            std::transform(codes.begin(), codes.end(), run.outputs[0].values<Out>().begin(), [](T code) { return static_cast<Out>(code); });
        });
      }
    });
  };
}

}  // namespace

Executor prepare_bitwise(const Model&, const Operation& operation, const Backend& backend) {
  if (backend.bitwise == Bitwise::absent) throw_unsupported(operation, "the backend has no such arithmetic");
  if (operation.kind == OperationKind::bitwise_or) return combined(std::bit_or<>());
  return combined(std::bit_xor<>());
}

}  // namespace lastbit
