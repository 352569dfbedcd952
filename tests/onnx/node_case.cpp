// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/node_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "formats/file.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"

namespace lastbit::test {
namespace {

constexpr float tolerance = 1e-5F;  // relative and absolute, as ONNX compares

/// How many leading inputs of an operator are data; the rest are parameters.
std::size_t data_inputs(const std::string& op) {
  for (const char* const two :
       {"Add", "Sub", "Mul", "MatMul", "Div", "Pow", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "And", "Or", "Xor"})
    if (op == two) return 2;
  return op == "Sum" || op == "Concat" || op == "Max" || op == "Min" || op == "Where" ? std::numeric_limits<std::size_t>::max() : 1;
}

bool is_real(const Tensor& tensor) { return tensor.type() == ElementType::float32 || tensor.type() == ElementType::boolean; }

std::string difference(const Tensor& found, const Tensor& expected) {
  if (found.shape() != expected.shape()) return "shape " + found.shape().text() + ", expected " + expected.shape().text();
  if (found.type() != ElementType::float32 || !is_real(expected)) {
    if (found.type() != expected.type())
      return "type " + std::string(name_of(found.type())) + ", expected " + std::string(name_of(expected.type()));
    return found == expected ? "" : "the values differ";
  }
  const Tensor real = dequantized(expected, {});
  for (std::size_t i = 0; i < real.values<float>().size(); ++i) {
    const float a = found.values<float>()[i], b = real.values<float>()[i];
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance + tolerance * std::abs(b);
    if (!same) return "value " + std::to_string(i) + " is " + std::to_string(a) + ", expected " + std::to_string(b);
  }
  return {};
}

Tensor read_tensor(const std::filesystem::path& path) { return parse_onnx_tensor(read_file(path), path.filename().string()); }

std::string without_place(const Error& error, const std::filesystem::path& folder) {
  std::string text = error.what();
  const std::string place = (folder / "model.onnx").string() + ": ";
  if (text.starts_with(place)) text.erase(0, place.size());
  return text;
}

}  // namespace

NodeCase::NodeCase(const std::filesystem::path& folder) : folder_(folder) {
  const auto bytes = read_file(folder / "model.onnx");
  if (!model_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw Error(ErrorCode::malformed_file, folder.string(), "no model");
}

bool NodeCase::uses_only(const std::vector<std::string>& operators) const {
  const auto& nodes = model_.graph().node();
  return !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
    return node.domain().empty() && std::find(operators.begin(), operators.end(), node.op_type()) != operators.end();
  });
}

bool NodeCase::is_parameter(const std::string& name) const {
  for (const auto& node : model_.graph().node()) {
    const auto count = std::min(data_inputs(node.op_type()), static_cast<std::size_t>(node.input_size()));
    if (std::find(node.input().begin(), node.input().begin() + static_cast<std::ptrdiff_t>(count), name) !=
        node.input().begin() + static_cast<std::ptrdiff_t>(count)) {
      return false;
    }
  }
  return true;
}

Outcome NodeCase::run_set(const std::filesystem::path& set) const {
  Outcome outcome;
  OnnxOptions options;
  std::vector<Tensor> inputs, expected;
  int file = 0;
  for (const auto& input : model_.graph().input()) {
    const auto path = set / ("input_" + std::to_string(file++) + ".pb");
    if (!std::filesystem::exists(path)) continue;  // an initialiser
    Tensor tensor = read_tensor(path);
    if (is_parameter(input.name())) options.constants.emplace(input.name(), std::move(tensor));
    else inputs.push_back(std::move(tensor));
  }
  for (int i = 0; i < model_.graph().output_size(); ++i) expected.push_back(read_tensor(set / ("output_" + std::to_string(i) + ".pb")));
  outcome.exact = !std::all_of(inputs.begin(), inputs.end(), is_real) || !std::all_of(expected.begin(), expected.end(), is_real);
  const Model model = read_onnx(folder_ / "model.onnx", options);
  const Trace trace = lastbit::run(model, find_backend(outcome.exact ? "onnxruntime" : "float").backend, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string found = difference(*trace.tensors[static_cast<std::size_t>(model.outputs[i])], expected[i]);
    if (!found.empty()) return {Verdict::different, outcome.exact, "output " + std::to_string(i) + ": " + found};
  }
  return outcome;
}

Outcome NodeCase::run() const {
  Outcome outcome{Verdict::left_out, false, "no data"};
  std::set<std::filesystem::path> sets;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (entry.is_directory()) sets.insert(entry.path());
  for (const auto& set : sets) {
    try {
      outcome = run_set(set);
    } catch (const Error& error) {
      return {Verdict::left_out, false, without_place(error, folder_)};
    }
    if (outcome.verdict != Verdict::equal) return outcome;
  }
  return outcome;
}

}  // namespace lastbit::test
