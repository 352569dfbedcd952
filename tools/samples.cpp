// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"

namespace lastbit::tool {
namespace {

namespace fs = std::filesystem;

/// The .npy files that a file or folder stands for, in order.
std::vector<fs::path> files_of(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) throw Error(ErrorCode::unreadable_file, place.string(), "no .npy file is in this folder");
  return files;
}

void require_finite(const Tensor& tensor, const fs::path& file) {
  if (tensor.type() != ElementType::float32) return;
  const auto values = tensor.values<float>();
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  throw Error(ErrorCode::bad_input, file.string(),
              "value " + std::to_string(bad - values.begin()) + " is " + (std::isnan(*bad) ? "NaN" : "infinite"));
}

/// The samples that a file holds.
std::vector<Tensor> split(const Tensor& tensor, const ModelTensor& input, const fs::path& file) {
  if (tensor.type() != ElementType::float32 && tensor.type() != input.type) {
    throw Error(ErrorCode::type_mismatch, file.string(),
                std::string(name_of(tensor.type())) + "; input '" + input.name + "' needs float32" +
                    (input.type == ElementType::float32 ? "" : " or " + std::string(name_of(input.type))));
  }
  const auto sizes = tensor.shape().sizes(), own = input.shape.sizes();
  if (std::ranges::equal(sizes, own)) return {tensor};
  if (sizes.size() != own.size() + 1 || !std::ranges::equal(sizes.subspan(1), own)) {
    throw Error(ErrorCode::shape_mismatch, file.string(),
                "shape " + tensor.shape().text() + "; input '" + input.name + "' needs " + input.shape.text() +
                    ", or a leading dimension of samples more");
  }
  std::vector<Tensor> samples;
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    Tensor& sample = samples.emplace_back(tensor.type(), input.shape);
    const std::size_t size = sample.bytes().size();
    std::ranges::copy(tensor.bytes().subspan(static_cast<std::size_t>(i) * size, size), sample.bytes().begin());
  }
  return samples;
}

std::vector<Tensor> samples_of(const ModelTensor& input, const fs::path& place, std::int64_t most) {
  std::vector<Tensor> samples;
  for (const fs::path& file : files_of(place)) {
    const Tensor tensor = read_npy(file);
    for (Tensor& sample : split(tensor, input, file)) {
      if (most > 0 && static_cast<std::int64_t>(samples.size()) >= most) return samples;
      require_finite(sample, file);
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

/// Where a folder keeps one of several inputs.
fs::path place_of(const fs::path& folder, const ModelTensor& input) {
  std::string name;
  for (const char c : input.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ? c : '_';
  if (fs::exists(folder / name)) return folder / name;
  if (fs::exists(folder / (name + ".npy"))) return folder / (name + ".npy");
  throw Error(ErrorCode::unreadable_file, folder.string(),
              "holds neither " + name + ".npy nor a folder " + name + " for input '" + input.name + "'");
}

}  // namespace

std::vector<std::vector<Tensor>> read_samples(const Model& model, const fs::path& place, std::int64_t most) {
  std::vector<std::vector<Tensor>> samples;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const ModelTensor& input = model.tensor(model.inputs[i]);
    const fs::path from = model.inputs.size() == 1 ? place : place_of(place, input);
    std::vector<Tensor> of_input = samples_of(input, from, most);
    if (i == 0) samples.resize(of_input.size());
    if (of_input.size() != samples.size()) {
      throw Error(ErrorCode::bad_input, from.string(),
                  std::to_string(of_input.size()) + " samples, but " + std::to_string(samples.size()) + " of the first input");
    }
    for (std::size_t s = 0; s < samples.size(); ++s) samples[s].push_back(std::move(of_input[s]));
  }
  return samples;
}

}  // namespace lastbit::tool
