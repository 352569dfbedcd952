// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "model_inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "image_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npz.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/nearest.hpp"
#include "log.hpp"

namespace lastbit::tool {
namespace {

namespace fs = std::filesystem;

std::string names_of_inputs(const Model& model) {
  std::string names;
  for (const std::int32_t input : model.inputs) {
    const ModelTensor& tensor = model.tensor(input);
    names += (names.empty() ? "'" : ", '") + tensor.name + "' (" + std::string(name_of(tensor.type)) + " " + tensor.shape.text() + ")";
  }
  return names;
}

/// Where "NAME=FILE" goes: the longest input name that the text begins with, since names may hold '='. Nothing: a plain file.
std::optional<std::size_t> named_position(const Model& model, const std::string& option, const std::string& text) {
  std::optional<std::size_t> best;
  std::size_t length = 0;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const std::string& name = model.tensor(model.inputs[i]).name;
    if (!text.starts_with(name + "=") || (best && name.size() < length)) continue;
    best = i;
    length = name.size();
  }
  if (!best && text.find('=') != std::string::npos && !std::filesystem::exists(text)) {
    std::vector<std::string_view> names;
    for (const std::int32_t input : model.inputs) names.push_back(model.tensor(input).name);
    throw Error(ErrorCode::bad_input, option + " " + text,
                "the model has no input of this name" + did_you_mean(text.substr(0, text.find('=')), names) +
                    "; its inputs: " + names_of_inputs(model));
  }
  return best;
}

std::vector<fs::path> by_input(const Model& model, const std::string& option, const std::vector<std::string>& texts) {
  std::vector<std::string> places(model.inputs.size());
  std::vector<std::string> unnamed;
  for (const std::string& text : texts) {
    const auto position = named_position(model, option, text);
    if (!position) {
      unnamed.push_back(text);
      continue;
    }
    const std::string place = text.substr(model.tensor(model.inputs[*position]).name.size() + 1);
    if (place.empty()) throw Error(ErrorCode::bad_input, option + " " + text, "a file is needed after '='");
    if (!places[*position].empty()) throw Error(ErrorCode::bad_input, option + " " + text, "this input is given twice");
    places[*position] = place;
  }
  for (const std::string& place : unnamed) {
    const auto free = std::find(places.begin(), places.end(), std::string());
    if (free == places.end())
      throw Error(ErrorCode::bad_input, option + " " + place, "one too many; the model's inputs: " + names_of_inputs(model));
    *free = place;
  }
  if (std::find(places.begin(), places.end(), std::string()) != places.end()) {
    throw Error(ErrorCode::bad_input, option, "every input of the model is needed: " + names_of_inputs(model));
  }
  return {places.begin(), places.end()};
}

/// An array as it lies in the file, whatever its type, with its samples in front where there are several.
Tensor read_given_array(const Model& model, std::size_t position, const fs::path& file) {
  const ModelTensor& input = model.tensor(model.inputs[position]);
  const auto opened = [&]() -> NpyFile {
    if (!is_npz(file)) return NpyFile(file);
    const NpzFile arrays(file);
    return arrays.open(array_of_input(arrays.names(), input.name, position, model.inputs.size(), file));
  };
  NpyFile array = opened();
  require_room(static_cast<std::size_t>(array.shape().element_count()) * size_of(array.type()));
  Tensor values = as_given_to(array.values(), input.type);
  if (const auto samples = samples_in(values.shape(), input.shape)) {
    std::vector<std::int64_t> sizes(input.shape.sizes().begin(), input.shape.sizes().end());
    if (*samples > 0) sizes.insert(sizes.begin(), *samples);
    values.reshape(Shape(std::move(sizes)));
  }
  return values;
}

}  // namespace

Option add_input_option(Command& command, std::vector<std::string>& inputs) {
  command.note(
      "--input: a .npy or .npz (the array of the input's name, or its only one) of the input's shape, where N samples have one more "
      "dimension\n"
      "in front, or N in the place of a leading 1; a .bin or .raw of the input's type or float32; an image (.png, .jpg, .ppm, .pgm); or a\n"
      "folder of files of one of these kinds, in the order of their names. NAME=… says which input. Of several inputs, one folder may hold "
      "a\n"
      "file or folder for each, one .npz an array for each.\n"
      "Images: without --mean and --std the codes of a uint8 input are the pixels, those of an int8 input the pixels less 128; a float32 "
      "input\n"
      "is given the pixels. With either, (pixel - mean) / std is the real value.");
  const Option input = command.option("--input", inputs, input_meaning).value_name("[NAME=]FILE|DIR").repeatable();
  add_image_options(command);
  return input;
}

std::vector<fs::path> places_of(const Model& model, const std::vector<std::string>& inputs) {
  const bool holds_all = inputs.size() == 1 && model.inputs.size() > 1 && (fs::is_directory(inputs[0]) || is_npz(inputs[0]));
  return holds_all ? places_of_inputs(model, inputs[0]) : by_input(model, "--input", inputs);
}

SampleSource open_samples(const Model& model, const std::vector<std::string>& inputs) {
  SampleSource source(model, places_of(model, inputs), given_image_options());
  const std::string option = given_image_option();
  if (!option.empty() && !source.has_images()) throw Error(ErrorCode::bad_input, option, "no input is an image");
  return source;
}

void require_room(std::size_t bytes) {
  const std::size_t allowed = memory_budget();
  if (allowed > 0 && bytes > allowed)
    throw MemoryRefused(ErrorCode::bad_input, "--input",
                        "the inputs alone need " + bytes_text(bytes) + " of memory; " + bytes_text(allowed) + " are allowed");
}

std::vector<Tensor> read_inputs(const Model& model, const std::vector<std::string>& inputs, std::vector<std::string>* readings) {
  const std::vector<fs::path> places = places_of(model, inputs);
  const Stopwatch stopwatch("read the inputs");
  for (const fs::path& place : places) log_detail("input: " + place.string());
  std::vector<Tensor> tensors;
  if (given_image_option().empty() && std::ranges::all_of(places, holds_array)) {
    for (std::size_t i = 0; i < places.size(); ++i) tensors.push_back(read_given_array(model, i, places[i]));
    return tensors;
  }
  SampleSource source = open_samples(model, inputs);
  if (readings != nullptr) *readings = source.readings();
  const auto count = static_cast<std::size_t>(source.samples()), each = source.bytes_per_sample();
  require_room(each > 0 && count > SIZE_MAX / each ? SIZE_MAX : count * each);
  return source.read(0, source.samples());
}

}  // namespace lastbit::tool
