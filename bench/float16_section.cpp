// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Element-wise operations on binary16 data, and conversions, on tensors that fit the second cache.
#include "case.hpp"
#include "lastbit/registry.hpp"
#include "layers.hpp"
#include "networks.hpp"
#include "peaks.hpp"

namespace lastbit::bench {
namespace {

const Shape values{1, 32, 32, 128};

struct Float16Operation {
  const char* name;
  OperationKind kind;
  ElementType input, output;
  Attributes attributes;
};

const Float16Operation operations[] = {
    {"add", OperationKind::add, ElementType::float16, ElementType::float16, ElementwiseAttributes{}},
    {"mul", OperationKind::mul, ElementType::float16, ElementType::float16, ElementwiseAttributes{}},
    {"relu", OperationKind::relu, ElementType::float16, ElementType::float16, {}},
    {"from_float32", OperationKind::cast, ElementType::float32, ElementType::float16, {}},
    {"to_float32", OperationKind::cast, ElementType::float16, ElementType::float32, {}},
};

bool is_cast(const Float16Operation& operation) { return operation.kind == OperationKind::cast; }

Trial float16_trial(const Float16Operation& operation, const char* backend) {
  const bool two = operation.kind == OperationKind::add || operation.kind == OperationKind::mul;
  Model model;
  model.name = operation.name;
  model.tensors = {{"a", operation.input, values, {}, {}}, {"output", operation.output, values, {}, {}}};
  model.inputs = {0};
  if (two) {
    model.tensors.push_back({"b", operation.input, values, {}, {}});
    model.inputs.push_back(2);
  }
  model.operations = {{operation.kind, operation.name, model.inputs, {1}, operation.attributes}};
  model.outputs = {1};
  validate(model, model.name);
  Trial trial = layer_trial(prepare_model(std::move(model), find_backend(backend).backend));
  trial.work = static_cast<double>(values.element_count()) * (is_cast(operation) ? 6 : 1);  // 4 bytes on one side, 2 on the other
  return trial;
}

}  // namespace

void add_float16(Cases& cases) {
  for (const char* backend : {"ascend910b", "ascend310"}) {
    for (const Float16Operation& operation : operations) {
      cases.push_back({"float16/" + std::string(backend) + "/" + operation.name,
                       is_cast(operation) ? "bytes" : "operations",
                       is_cast(operation) ? peak::cache_copy : nullptr,
                       {{"lastbit", [&operation, backend] { return float16_trial(operation, backend); }}}});
    }
  }
}

}  // namespace lastbit::bench
