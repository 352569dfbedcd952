// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/core_layer.hpp"

#include "differential/core_calls.hpp"

namespace lastbit::test {

CoreOutcome by_core(const Model& model, const Backend& backend, std::span<const Tensor> inputs) {
  if (backend.domain == Domain::real) return {std::nullopt, Unsaid::real};
  return with_kind(model, [&]<OperationKind kind, Values values>() { return called<kind, values>(model, Given{&backend}, inputs); });
}

}  // namespace lastbit::test
