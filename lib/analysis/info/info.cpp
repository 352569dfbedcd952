// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/info.hpp"

#include <algorithm>

#include "lastbit/advise.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/registry.hpp"

namespace lastbit {
namespace {

void count(Occurrences& occurrences, const std::string& what) {
  const auto known = std::ranges::find(occurrences, what, &Occurrences::value_type::first);
  if (known == occurrences.end()) occurrences.emplace_back(what, 1);
  else ++known->second;
}

ModelTensor without_values(const ModelTensor& tensor) {
  return {tensor.name, tensor.type, tensor.shape, tensor.quantization, {}, tensor.merged};
}

bool has_no_codes(const Model& model) {
  return std::ranges::none_of(model.operations, [&](const Operation& operation) {
    return std::ranges::any_of(operation.outputs, [&](std::int32_t index) { return model.tensor(index).quantization.present(); });
  });
}

/// What a board's CPU may be, the integer kernels first; float where integers do not do.
const std::vector<std::string> processors[] = {{"tflite_double"}, {"onnxruntime"}, {"tflite_double", "float"}, {"onnxruntime", "float"}};

/// No device is its own.
std::vector<std::string> fallbacks_for(const Model& model, const SpecSheet& sheet) {
  Backend device = sheet.backend;
  for (std::vector<std::string> names : processors) {
    std::erase(names, sheet.name);
    if (names.empty()) continue;
    std::vector<Placement> placements;
    for (const std::string& name : names) placements.push_back({find_backend(name), {}});
    device.elsewhere = Placements(std::move(placements));
    if (check(model, device).empty()) return names;
  }
  return {};
}

class Fitter {
 public:
  explicit Fitter(const Model& model) : model_(model), is_float_(has_no_codes(model)) {
    for (const Operation& operation : model.operations) macs_.push_back(multiply_accumulates(model, operation));
  }

  [[nodiscard]] DeviceFit on(const SpecSheet& sheet) const {
    DeviceFit found{.backend = sheet.name, .operations = {}, .reason = {}};
    const std::vector<Diagnostic> problems = check(model_, sheet.backend);
    std::vector<std::size_t> others;
    if (problems.empty()) others = float32_operations(model_, sheet.backend);
    else others = lacked(sheet.backend);
    found.fit = !problems.empty() ? Fit::lacks : others.empty() ? Fit::runs : Fit::runs_in_float32;
    found.has_quantizer = !sheet.quantizer.empty();
    if (!problems.empty()) found.reason = problems.front().text();
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      if (std::ranges::find(others, i) == others.end()) found.multiply_accumulates += macs_[i];
      else count(found.operations, std::string(name_of(model_.operations[i].kind)));
    }
    const bool is_foreign = found.fit == Fit::lacks && found.multiply_accumulates == 0;
    if (found.has_quantizer && found.fit != Fit::runs && (is_float_ || is_foreign)) found.fit = Fit::needs_quantize;
    else if (is_float_ && is_foreign) found.fit = Fit::needs_quantized;
    if (found.fit == Fit::lacks && found.multiply_accumulates > 0) found.fallbacks = fallbacks_for(model_, sheet);
    return found;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> lacked(const Backend& backend) const {
    std::vector<std::size_t> lacked;
    for (std::size_t i = 0; i < model_.operations.size(); ++i)
      if (!check(extract_operation(model_, i), backend).empty()) lacked.push_back(i);
    return lacked;
  }

  const Model& model_;
  bool is_float_;
  std::vector<std::int64_t> macs_;
};

}  // namespace

NetworkInfo network_info(const Model& model, const Devices& devices) {
  NetworkInfo info;
  info.name = model.name;
  for (const std::int32_t input : model.inputs) info.inputs.push_back(without_values(model.tensor(input)));
  for (const std::int32_t output : model.outputs) info.outputs.push_back(without_values(model.tensor(output)));
  info.operation_count = std::ssize(model.operations);
  for (const Operation& operation : model.operations) {
    count(info.operations, std::string(name_of(operation.kind)));
    info.multiply_accumulates += multiply_accumulates(model, operation);
  }
  for (const ModelTensor& tensor : model.tensors) {
    if (!tensor.constant) continue;
    info.constants += tensor.constant->element_count();
    info.constant_bytes += std::ssize(tensor.constant->bytes());
  }
  const Fitter fitter(model);
  for (const SpecSheet& device : devices.sheets()) info.devices.push_back(fitter.on(device));
  return info;
}

}  // namespace lastbit
