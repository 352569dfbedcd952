// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "lastbit/info.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

std::string text_of(const Occurrences& occurrences) {
  std::string text;
  for (const auto& [what, count] : occurrences) text += (text.empty() ? "" : ", ") + what + " (" + std::to_string(count) + ")";
  return text;
}

std::string text_of(const Quantization& quantization) {
  if (!quantization.present()) return {};
  if (quantization.per_channel())
    return ", " + count_of(std::ssize(quantization.scales), "scale") + " along axis " + std::to_string(quantization.axis);
  return ", scale " + number_text("%.6g", quantization.scale()) + ", zero point " + std::to_string(quantization.zero_point());
}

std::string line_of(const char* what, const ModelTensor& tensor) {
  const std::string shape = tensor.shape.rank() == 0 ? "a single value" : tensor.shape.text();
  return wrapped(std::string(what) + " '" + tensor.name + "': " + std::string(name_of(tensor.type)) + " " + shape +
                 text_of(tensor.quantization));
}

std::string share_text(std::int64_t part, std::int64_t all) {
  return number_text("%.4g", 100 * static_cast<double>(part) / static_cast<double>(all)) + " % of the multiply-adds are its own";
}

std::string fallback_text(const DeviceFit& device) {
  if (device.fallbacks.empty()) return "lacks ";
  std::string text = "runs with";
  for (const std::string& name : device.fallbacks) text += " --fallback " + name;
  return text + " for ";
}

/// The same for several devices.
std::string fit_text(const DeviceFit& device, const NetworkInfo& info) {
  switch (device.fit) {
    case Fit::runs: return "runs";
    case Fit::runs_in_float32:
      return "runs; in float32, by no rule of the device: " + text_of(device.operations) +
             (info.multiply_accumulates == 0 ? "" : "; " + share_text(device.multiply_accumulates, info.multiply_accumulates));
    case Fit::needs_quantize: return "needs quantize";
    case Fit::needs_quantized: return "needs a quantised network; lastbit has no quantiser for it";
    case Fit::lacks: break;
  }
  if (device.operations.empty() || std::ssize(info.operations) == std::ssize(device.operations)) return "does not run: " + device.reason;
  return fallback_text(device) + text_of(device.operations) +
         (info.multiply_accumulates == 0 ? "" : "; " + share_text(device.multiply_accumulates, info.multiply_accumulates)) +
         (device.has_quantizer ? "; quantize makes a network of its own" : "");
}

std::string_view name_of(Fit fit) {
  switch (fit) {
    case Fit::runs: return "runs";
    case Fit::runs_in_float32: return "runs_in_float32";
    case Fit::needs_quantize: return "needs_quantize";
    case Fit::needs_quantized: return "needs_quantized";
    case Fit::lacks: break;
  }
  return "lacks";
}

JsonValue json_of(const Occurrences& occurrences) {
  JsonValue json = JsonValue::object();
  for (const auto& [what, count] : occurrences) json[what] = count;
  return json;
}

JsonValue json_of(const std::vector<ModelTensor>& tensors) {
  JsonValue list = JsonValue::array();
  for (const ModelTensor& tensor : tensors) {
    JsonValue json{{"name", tensor.name}, {"type", name_of(tensor.type)}, {"shape", tensor.shape.sizes()}};
    if (tensor.quantization.present()) {
      json["scales"] = tensor.quantization.scales;
      json["zero_points"] = tensor.quantization.zero_points;
      if (tensor.quantization.per_channel()) json["axis"] = tensor.quantization.axis;
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string to_text(const NetworkInfo& info) {
  std::string text;
  if (!info.name.empty()) text += wrapped("network '" + info.name + "'");
  for (const ModelTensor& tensor : info.inputs) text += line_of("input", tensor);
  for (const ModelTensor& tensor : info.outputs) text += line_of("output", tensor);
  text += wrapped(count_of(info.operation_count, "operation") + ": " + text_of(info.operations));
  text += wrapped(count_of(info.multiply_accumulates, "multiply-add") + " a sample; " + count_of(info.constants, "constant") + " in " +
                  count_of(info.constant_bytes, "byte"));
  if (!info.devices.empty()) text += "\n";
  std::vector<std::pair<std::string, std::string>> groups;  // what is said, and of whom
  for (const DeviceFit& device : info.devices) {
    const std::string said = fit_text(device, info);
    const auto known = std::ranges::find(groups, said, &std::pair<std::string, std::string>::first);
    if (known == groups.end()) groups.emplace_back(said, device.backend);
    else known->second += ", " + device.backend;
  }
  for (const auto& [said, devices] : groups) text += wrapped(devices + ": " + said);
  return text;
}

std::string to_json(const NetworkInfo& info) {
  JsonValue json{{"name", info.name},
                 {"inputs", json_of(info.inputs)},
                 {"outputs", json_of(info.outputs)},
                 {"operation_count", info.operation_count},
                 {"operations", json_of(info.operations)},
                 {"multiply_accumulates", info.multiply_accumulates},
                 {"constants", info.constants},
                 {"constant_bytes", info.constant_bytes}};
  json["backends"] = JsonValue::array();
  for (const DeviceFit& device : info.devices) {
    JsonValue entry{{"name", device.backend}, {"fit", name_of(device.fit)}, {"multiply_accumulates", device.multiply_accumulates}};
    if (!device.operations.empty()) entry["operations"] = json_of(device.operations);
    if (!device.reason.empty()) entry["reason"] = device.reason;
    if (!device.fallbacks.empty()) entry["fallbacks"] = device.fallbacks;
    json["backends"].push_back(std::move(entry));
  }
  return json.text(2) + "\n";
}

}  // namespace lastbit
