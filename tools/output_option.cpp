// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "output_option.hpp"

#include "lastbit/error.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/io/tflite.hpp"

namespace lastbit::tool {

void add_force_option(Command& command) {
  command.flag(
      "--force", [] { set_replacing(Replacing::no_input); },
      "replace files that lastbit did not write, too; never an input of the command");
}

void require_model_name(const std::string& option, const std::string& file) {
  if (!file.ends_with(".json") && !file.ends_with(".tflite"))
    throw Error(ErrorCode::bad_input, option + " " + file, "a model is written as .json or .tflite");
}

void write_model(const std::string& file, const Model& model) {
  if (file.ends_with(".tflite")) write_tflite(model, file);
  else write_json_model(file, model);
}

}  // namespace lastbit::tool
