// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/one_operation.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"

namespace lastbit {

Model extract_operation(const Model& model, std::size_t operation) {
  Model layer;
  layer.name = model.operations[operation].name;
  Operation only = model.operations[operation];
  std::vector<std::pair<std::int32_t, std::int32_t>> known;
  const auto place = [&](std::int32_t index) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.first == index; });
    if (found != known.end()) return found->second;
    const auto at = static_cast<std::int32_t>(layer.tensors.size());
    layer.tensors.push_back(model.tensor(index));
    known.emplace_back(index, at);
    return at;
  };
  for (std::int32_t& index : only.inputs) {
    if (index == absent_tensor) continue;
    const bool seen = std::any_of(known.begin(), known.end(), [&](const auto& entry) { return entry.first == index; });
    const bool data = !model.tensor(index).constant;
    index = place(index);
    if (data && !seen) layer.inputs.push_back(index);
  }
  for (std::int32_t& index : only.outputs) {
    index = place(index);
    layer.outputs.push_back(index);
  }
  layer.operations.push_back(std::move(only));
  return layer;
}

std::vector<Tensor> inputs_of(const Model& model, std::size_t operation, std::span<const std::optional<Tensor>> tensors) {
  std::vector<Tensor> inputs;
  std::vector<std::int32_t> seen;
  for (const std::int32_t index : model.operations[operation].inputs) {
    const bool is_data = index != absent_tensor && !model.tensor(index).constant;
    if (!is_data || std::find(seen.begin(), seen.end(), index) != seen.end()) continue;
    seen.push_back(index);
    inputs.push_back(*tensors[static_cast<std::size_t>(index)]);
  }
  return inputs;
}

std::string layer_name(const Model& model, std::size_t operation) {
  const Operation& called = model.operations[operation];
  const std::string& output = model.tensor(called.outputs[0]).name;
  if (!output.empty()) return output;
  return called.name.empty() ? "operation " + std::to_string(operation) : called.name;
}

std::string layer_place(const Model& model, std::size_t operation) {
  return std::string(name_of(model.operations[operation].kind)) + " '" + layer_name(model, operation) + "'";
}

bool is_layout_copy(std::string_view name, std::string_view source) {
  constexpr std::string_view image = " (NHWC)", line = " (NWC)";
  const auto is_of = [&](std::string_view base, std::string_view suffix) {
    return source.size() == base.size() + suffix.size() && source.starts_with(base) && source.ends_with(suffix);
  };
  return is_of(name, image) || is_of(name, line) || (name.ends_with(line) && is_of(name.substr(0, name.size() - line.size()), image));
}

namespace {

/// Back from a copy in the file's layout to the operation that computes the image.
std::size_t computing(const Model& model, std::size_t operation) {
  for (std::size_t i = operation; i-- > 0;) {
    const Operation &copy = model.operations[operation], &before = model.operations[i];
    if (!is_movement(copy.kind)) break;
    const std::int32_t source = copy.inputs[0];
    if (source == absent_tensor || !is_layout_copy(model.tensor(copy.outputs[0]).name, model.tensor(source).name)) break;
    if (before.outputs[0] == source) operation = i;
  }
  return operation;
}

/// "begin~end" of it, as the tables shorten names, or what stands behind its last semicolon.
bool is_shortened(std::string_view text, std::string_view name) {
  const std::size_t cut = text.find('~');
  if (cut == std::string_view::npos) return name.size() > text.size() && name.ends_with(text) && name[name.size() - text.size() - 1] == ';';
  const std::string_view begin = text.substr(0, cut), end = text.substr(cut + 1);
  return text.size() > 1 && name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
}

}  // namespace

std::size_t operation_called(const Model& model, std::string_view name, const std::string& where) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size() && number < model.operations.size()) return number;
  std::vector<std::string_view> known;
  std::vector<std::size_t> ending;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    for (const std::int32_t output : operation.outputs) known.push_back(model.tensor(output).name);
    known.push_back(operation.name);
    if (std::find(known.end() - 1 - static_cast<std::ptrdiff_t>(operation.outputs.size()), known.end(), name) != known.end())
      return computing(model, i);
    if (is_shortened(name, layer_name(model, i))) ending.push_back(i);
  }
  if (ending.size() == 1) return ending[0];
  throw Error(ErrorCode::bad_input, where,
              "no layer is called '" + std::string(name) + "'" + did_you_mean(name, known) + "; it has a name, or a number from 0 to " +
                  std::to_string(model.operations.size() - 1));
}

OperationRange operations_called(const Model& model, const std::optional<std::string>& name, const std::string& where) {
  if (!name) return {0, model.operations.size()};
  const std::size_t one = operation_called(model, *name, where);
  return {one, one + 1};
}

}  // namespace lastbit
