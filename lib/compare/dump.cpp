// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "lastbit/io/npy.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// Letters in lower case and digits; every run of other characters is one '_'. Boards and scripts replace what file names cannot hold.
std::string canonical(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) text += static_cast<char>(std::tolower(byte));
    else if (text.empty() || text.back() != '_') text += '_';
  }
  return text;
}

/// "tensor_012" and "012": 12.
std::optional<std::int32_t> index_in(std::string_view stem) {
  if (stem.starts_with("tensor_")) stem.remove_prefix(7);
  std::int32_t index = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), index);
  if (error != std::errc{} || end != stem.data() + stem.size() || index < 0) return std::nullopt;
  return index;
}

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

using Files = std::map<std::int32_t, fs::path>;  // by tensor index

void assign(Files& files, std::int32_t index, const Model& model, const fs::path& file) {
  const auto [at, fresh] = files.emplace(index, file);
  if (!fresh) {
    throw Error(ErrorCode::bad_input, file.string(),
                "fits tensor '" + model.tensor(index).name + "' as " + at->second.filename().string() + " does");
  }
}

/// Which file is which tensor: by name where a name fits, else by index. `unfit`: names of files that are none.
Files match_files(const fs::path& folder, const Model& model, const std::vector<NamedTensor>& tensors, std::vector<std::string>& unfit) {
  std::multimap<std::string, std::int32_t> by_name;
  for (const NamedTensor& tensor : tensors) by_name.emplace(canonical(tensor.name), tensor.index);
  const auto is_run_time = [&](std::int32_t index) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const NamedTensor& tensor) { return tensor.index == index; });
  };
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".npy") found.push_back(entry->path());
  }
  if (error) throw Error(ErrorCode::unreadable_file, folder.string(), error.message());
  std::sort(found.begin(), found.end());
  Files files;
  for (const fs::path& file : found) {
    const std::string stem = file.stem().string();
    const std::string key = canonical(stem);
    const auto index = index_in(stem);
    if (by_name.count(key) == 1) assign(files, by_name.find(key)->second, model, file);
    else if (index && is_run_time(*index)) assign(files, *index, model, file);
    else unfit.push_back(file.filename().string());
  }
  return files;
}

/// Along which axis alone a file holds less than the tensor, as where channels were cut; empty: along none, or several.
std::string cut_text(const Shape& held, const Shape& whole) {
  if (held.rank() != whole.rank()) return {};
  std::string text;
  for (std::size_t axis = 0; axis < whole.rank(); ++axis) {
    if (held[axis] == whole[axis]) continue;
    if (held[axis] > whole[axis] || !text.empty()) return {};
    text = ": cut, " + std::to_string(held[axis]) + " of " + std::to_string(whole[axis]) + " along axis " + std::to_string(axis);
  }
  return text;
}

/// The model's shape, with the samples that the file holds in front where they are more than one or stand in front there.
Shape shape_in_dump(const ModelTensor& tensor, const Tensor& values, const fs::path& file) {
  const std::int64_t own = tensor.shape.element_count();
  const std::int64_t samples = values.element_count() / own;
  if (samples < 1 || values.element_count() % own != 0) {
    throw Error(ErrorCode::shape_mismatch, file.string(),
                "shape " + values.shape().text() + "; tensor '" + tensor.name + "' is " + tensor.shape.text() +
                    cut_text(values.shape(), tensor.shape));
  }
  if (samples == 1 && values.shape().rank() <= tensor.shape.rank()) return tensor.shape;
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), tensor.shape.sizes().begin(), tensor.shape.sizes().end());
  return Shape(std::move(sizes));
}

Tensor read_values(const ModelTensor& tensor, const fs::path& file, Shape& stored) {
  Tensor values = read_npy(file);
  stored = values.shape();
  if (values.type() != tensor.type && values.type() != ElementType::float32) {
    throw Error(ErrorCode::type_mismatch, file.string(),
                std::string(name_of(values.type())) + "; tensor '" + tensor.name + "' is " + std::string(name_of(tensor.type)) +
                    " (float32 of its real values is accepted too)");
  }
  values.reshape(shape_in_dump(tensor, values, file));
  return values;
}

}  // namespace

NamedTrace read_dump(const fs::path& folder, const Model& model) {
  std::vector<NamedTensor> tensors = run_time_tensors(model);
  std::vector<std::string> unfit;
  const Files files = match_files(folder, model, tensors, unfit);
  if (files.empty()) {
    throw Error(ErrorCode::bad_input, folder.string(), "no .npy file is named after a tensor of the model or its index (tensor_012.npy)");
  }
  NamedTrace dump{.model = model.name, .backend = "dump", .path = {}, .tensors = {}, .events = {}, .guesses = {}};
  for (NamedTensor& tensor : tensors) {
    const auto file = files.find(tensor.index);
    if (file == files.end()) continue;
    tensor.values = read_values(model.tensor(tensor.index), file->second, tensor.stored);
    const ModelTensor& described = model.tensor(tensor.index);
    if (tensor.values.type() == described.type) tensor.quantization = quantization_in(described, tensor.values.shape());
    dump.tensors.push_back(std::move(tensor));
  }
  dump.unfit = std::move(unfit);
  return dump;
}

}  // namespace lastbit
