// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "model_option.hpp"

#include <charconv>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "log.hpp"

namespace lastbit::tool {
namespace {

struct ModelWords {
  std::vector<std::string> shapes, constants;
  Cut cut;
};
ModelWords& model_words() {
  static ModelWords words;
  return words;
}

std::pair<std::string, Tensor> named_constant_from(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error(ErrorCode::bad_input, "--bind " + text, "must be the name of an input and a file, such as x=x.npy");
  return {text.substr(0, equals), read_npy(text.substr(equals + 1))};
}

}  // namespace

std::pair<std::string, Shape> named_shape_from(const std::string& text) {
  const auto refuse = [&] {
    throw Error(ErrorCode::bad_input, "--shape " + text, "must be the name of an input and sizes, such as x=1x3x224x224");
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) refuse();
  std::vector<std::int64_t> sizes;
  const char *at = text.data() + equals + 1, *const end = text.data() + text.size();
  for (;;) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc{} || size < 1) refuse();
    sizes.push_back(size);
    if (next == end) break;
    if (*next != 'x') refuse();
    at = next + 1;
  }
  return {text.substr(0, equals), Shape(std::move(sizes))};
}

void add_model_options(Command& command) {
  command
      .option("--shape", model_words().shapes,
              "of an .onnx or .tflite model: the shape of an input whose sizes the file leaves open; repeatable")
      .value_name("NAME=1x3x224x224")
      .repeatable_one_by_one();
  command.option("--bind", model_words().constants, "of an .onnx model: an input that is no data but a constant; repeatable")
      .value_name("NAME=FILE.npy")
      .repeatable_one_by_one();
  command.option("--from", model_words().cut.from, "begin at this tensor, which becomes an input; repeatable")
      .value_name("TENSOR")
      .repeatable_one_by_one();
  command.option("--to", model_words().cut.to, "end at this tensor, which becomes an output; repeatable")
      .value_name("TENSOR")
      .repeatable_one_by_one();
}

Model read_given_model(const std::string& file) {
  ModelOptions options;
  const auto require_new = [](bool added, const std::string& option) {
    if (!added) throw Error(ErrorCode::bad_input, option, "the input is named twice");
  };
  for (const std::string& text : model_words().shapes) require_new(options.shapes.insert(named_shape_from(text)).second, "--shape " + text);
  for (const std::string& text : model_words().constants)
    require_new(options.constants.insert(named_constant_from(text)).second, "--bind " + text);
  options.cut = model_words().cut;
  const Stopwatch stopwatch("read " + file);
  return read_model(file, options);
}

std::vector<std::string> given_model_words() {
  std::vector<std::string> words;
  const auto add = [&](const std::string& option, const std::vector<std::string>& values) {
    for (const std::string& value : values) words.insert(words.end(), {option, value});
  };
  add("--shape", model_words().shapes);
  add("--bind", model_words().constants);
  add("--from", model_words().cut.from);
  add("--to", model_words().cut.to);
  return words;
}

}  // namespace lastbit::tool
