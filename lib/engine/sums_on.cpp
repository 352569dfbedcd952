// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/sums_on.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/float16/prepare.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/printable.hpp"
#include "model/whole_numbers.hpp"

namespace lastbit {
namespace {

bool sums_products(OperationKind kind) {
  switch (kind) {
    case OperationKind::conv2d:
    case OperationKind::depthwise_conv2d:
    case OperationKind::transposed_conv2d:
    case OperationKind::fully_connected:
    case OperationKind::matmul:
    case OperationKind::fused_conv2d:
    case OperationKind::recurrent:
    case OperationKind::svdf:
    case OperationKind::lstm:
    case OperationKind::block_matmul: return true;
    default: return false;
  }
}

/// Numbers that stand for others: by a scale, or of 8 or 16 bits, which some formats keep the scale of to themselves.
bool holds_codes(const ModelTensor& tensor) {
  return is_integer(tensor.type) && (tensor.quantization.present() || size_of(tensor.type) <= 2);
}

bool holds_floats(const ModelTensor& tensor) {
  return tensor.type == ElementType::float16 || tensor.type == ElementType::float32 || tensor.type == ElementType::float64;
}

/// Whether any of its tensors is so.
bool any_tensor(const Model& model, const Operation& operation, bool (*is_so)(const ModelTensor&)) {
  const auto is_one = [&](std::int32_t index) { return index != absent_tensor && is_so(model.tensor(index)); };
  return std::ranges::any_of(operation.inputs, is_one) || std::ranges::any_of(operation.outputs, is_one);
}

bool is_of_floats(const Model& model, const Operation& operation) {
  return any_tensor(model, operation, holds_floats) && !any_tensor(model, operation, holds_codes);
}

/// What computes nothing of floats that a device of codes would compute otherwise: movement, conversions, and boxes, which devices pick in float.
bool is_neutral(const Model& model, const Operation& operation) {
  using enum OperationKind;
  return is_movement(operation.kind) || is_on_whole_numbers(model, operation) || operation.kind == quantize ||
         operation.kind == dequantize || operation.kind == cast || operation.kind == detection_postprocess;
}

/// The operations that decide, by their numbers.
struct Deciding {
  std::vector<std::size_t> operations;
  bool of_products = true;
  bool are_floats = false;  ///< all of them
};

Deciding deciding(const Model& model) {
  Deciding found;
  const auto& all = model.operations;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (sums_products(all[i].kind)) found.operations.push_back(i);
  const auto is_float = [&](std::size_t i) { return is_of_floats(model, all[i]); };
  if (!found.operations.empty()) {
    found.are_floats = std::ranges::all_of(found.operations, is_float);
    return found;
  }
  found.of_products = false;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!is_neutral(model, all[i])) found.operations.push_back(i);
  const bool no_codes = std::ranges::none_of(all, [&](const Operation& each) { return any_tensor(model, each, holds_codes); });
  found.are_floats = no_codes && !found.operations.empty() && std::ranges::all_of(found.operations, is_float);
  return found;
}

bool has_float_sums(const Backend& backend) {
  return backend.float16.method != Float16Method::absent || backend.float32 == Float32Operations::ordered;
}

/// Whether it computes this operation, by itself.
bool has(Backend backend, const Model& alone) {
  backend.elsewhere = {};
  return check(alone, backend).empty();
}

/// Whether the first fallback that has the operation is of the real domain.
bool falls_to_float(const Model& alone, const Backend& backend) {
  for (const Placement& placement : backend.elsewhere.list())
    if (placement.is_fallback() && has(placement.sheet.backend, alone)) return placement.sheet.backend.domain == Domain::real;
  return false;
}

/// All sums that no user has put elsewhere by name, and some there are.
bool is_left_to_float(const Model& model, const Backend& backend, const std::vector<std::size_t>& sums) {
  const auto is_real = [](const Placement& one) { return one.is_fallback() && one.sheet.backend.domain == Domain::real; };
  if (std::ranges::none_of(backend.elsewhere.list(), is_real)) return false;
  bool any = false;
  for (const std::size_t sum : sums) {
    if (placement_by_name(model, sum, backend) != nullptr) continue;
    const Model alone = extract_operation(model, sum);
    if (has(backend, alone) || !falls_to_float(alone, backend)) return false;
    any = true;
  }
  return any;
}

}  // namespace

bool is_float_network(const Model& model) { return deciding(model).are_floats; }

NetworkSums sums_on(const Model& model, const Device& device) {
  const Backend& backend = device.backend;
  NetworkSums sums;
  if (backend.domain == Domain::real) return sums;
  const Deciding decide = deciding(model);
  sums.of_products = decide.of_products;
  sums.count = std::ssize(decide.operations);
  if (!decide.are_floats) {
    if (decide.of_products && is_left_to_float(model, backend, decide.operations)) sums.what = SumsOf::left_to_float;
    return sums;
  }
  sums.what = has_float_sums(backend) ? SumsOf::device_floats : SumsOf::no_device;
  for (const std::size_t each : decide.operations) {
    const bool half = is_float16_operation(model, model.operations[each], backend);
    sums.float16 += half ? 1 : 0;
    sums.golden += !half && backend.float32 != Float32Operations::ordered ? 1 : 0;
  }
  return sums;
}

bool computes_no_sum(const Model& model, const Device& device) {
  const SumsOf what = sums_on(model, device).what;
  return what == SumsOf::no_device || what == SumsOf::left_to_float;
}

std::string float_sums_text(const NetworkSums& sums, const std::string& backend) {
  const std::string all = count_of(sums.count, sums.of_products ? "sum" : "operation");
  const std::string own = sums.float16 > 0 ? "float16" : "float32";
  if (sums.golden == 0) return "float network: " + backend + " computes its " + all + " in " + own;
  if (sums.golden < sums.count)
    return "float network: " + backend + " computes " + std::to_string(sums.count - sums.golden) + " of its " + all + " in " + own +
           "; the others, on float32 tensors, are computed on the float path";
  return "float network: " + backend + " has sums of floats in float16; this network's " + all + ", on float32 tensors, " +
         (sums.count == 1 ? "is" : "are") + " computed on the float path";
}

std::string float_path_text(std::size_t count, const Model& model) {
  return std::to_string(count) + " of " + std::to_string(model.operations.size()) +
         " operations have float32 tensors and are computed on the float path, not by the device's arithmetic";
}

}  // namespace lastbit
