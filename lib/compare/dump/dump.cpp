// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/dump.hpp"

#include <algorithm>

#include "compare/dump/file_names.hpp"
#include "compare/dump/file_values.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

/// The run-time tensors of a model in the order of computation, with the kind of operation that writes them.
std::vector<NamedTensor> run_time_tensors(const Model& model) {
  std::vector<NamedTensor> tensors;
  const auto add = [&](std::int32_t index, std::string_view operation, std::optional<std::size_t> number = {}) {
    tensors.push_back({index, model.tensor(index).name, std::string(operation), {}, {}, {}, number});
  };
  for (const std::int32_t input : model.inputs) add(input, "input");
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    for (const std::int32_t output : model.operations[i].outputs) add(output, name_of(model.operations[i].kind), i);
  }
  return tensors;
}

/// The same said of several tensors is said once: "3 tensors in the order nchw: 'conv1' (1x8x5x7), …".
std::vector<std::string> summed_up(const std::vector<std::pair<std::string, std::string>>& readings) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const auto& [tensor, reading] : readings) {
    const std::string what = reading.substr(0, reading.find(','));
    const auto same = std::ranges::find(groups, what, [](const auto& group) { return group.first; });
    const std::string detail = reading.size() > what.size() ? " (" + reading.substr(what.size() + 2) + ")" : "";
    (same != groups.end() ? same->second : groups.emplace_back(what, std::vector<std::string>{}).second)
        .push_back("'" + tensor + "'" + detail);
  }
  std::vector<std::string> lines;
  for (const auto& [what, tensors] : groups)
    lines.push_back(count_of(std::ssize(tensors), "tensor") + " " + what + ": " + tensors.front() + (tensors.size() > 1 ? ", …" : ""));
  return lines;
}

}  // namespace

NamedTrace read_dump(const std::filesystem::path& folder, const Model& model, const DumpOptions& options) {
  const auto& layouts = dump_layouts();
  if (!options.layout.empty() && std::ranges::find(layouts, options.layout) == layouts.end())
    throw Error(ErrorCode::bad_input, "--layout " + options.layout, "is no layout of a dump");
  MatchedFiles files = match_files(folder, model, options);
  if (files.by_tensor.empty()) {
    throw Error(ErrorCode::bad_input, folder.string(),
                "no file of values is named after a tensor of the model or its index (tensor_012.npy); --names says whose they are");
  }
  NamedTrace dump{.model = model.name, .backend = "dump", .path = {}, .tensors = {}, .events = {}, .assumptions = {}};
  std::vector<std::pair<std::string, std::string>> readings;
  for (NamedTensor& tensor : run_time_tensors(model)) {
    const auto file = files.by_tensor.find(tensor.index);
    if (file == files.by_tensor.end()) continue;
    const ModelTensor& described = model.tensor(tensor.index);
    FileValues read = read_values(described, file->second, options.layout);
    for (const std::string& reading : read.readings) readings.emplace_back(tensor.name, reading);
    tensor.values = std::move(read.values);
    tensor.stored = std::move(read.stored);
    if (tensor.values.type() == described.type) tensor.quantization = quantization_in(described, tensor.values.shape());
    dump.tensors.push_back(std::move(tensor));
  }
  dump.readings = summed_up(readings);
  dump.unfit = std::move(files.unfit);
  return dump;
}

}  // namespace lastbit
