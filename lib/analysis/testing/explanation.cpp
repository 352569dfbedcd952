// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "analysis/backend_reference.hpp"
#include "analysis/testing/value_text.hpp"
#include "formats/file.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/recording.hpp"
#include "lastbit/testing.hpp"

namespace lastbit::testing {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// The two runs, and the operation that wrote the tensor.
class Explainer {
 public:
  Explainer(const Computation& computation, std::int64_t index)
      : computation_(computation),
        index_(index),
        a_(run(computation.model, computation.a.backend, computation.inputs, {.keep_all = true})),
        b_(run(computation.model, computation.b.backend, computation.inputs, {.keep_all = true})),
        tensor_(chosen_tensor()),
        operation_(writer_of(tensor_)) {}

  [[nodiscard]] std::string text() const {
    const auto &of_a = a_.tensors[at(tensor_)], &of_b = b_.tensors[at(tensor_)];
    if (!of_a || !of_b || of_a->type() != of_b->type() || index_ >= of_a->element_count())
      return "cannot be explained: the backends do not both compute a value " + std::to_string(index_) + " of one type";
    std::string text = "here " + computation_.a.name + " computes " + value_text(*of_a, index_) + ", " + computation_.b.name +
                       " computes " + value_text(*of_b, index_);
    if (same_value(*of_a, *of_b, index_)) return text + ": the difference does not lie between the two\n" + command();
    return text + "\n" + cause() + command();
  }

 private:
  [[nodiscard]] std::int32_t chosen_tensor() const {
    const Model& model = computation_.model;
    if (computation_.tensor.empty()) return model.outputs.at(0);
    const auto found = model.find_tensor(computation_.tensor);
    if (!found) throw Error(ErrorCode::bad_input, "explained", "no tensor '" + computation_.tensor + "'");
    return *found;
  }

  [[nodiscard]] std::size_t writer_of(std::int32_t tensor) const {
    const auto& operations = computation_.model.operations;
    const auto writes = [&](const Operation& each) {
      return std::find(each.outputs.begin(), each.outputs.end(), tensor) != each.outputs.end();
    };
    const auto found = std::find_if(operations.begin(), operations.end(), writes);
    if (found == operations.end())
      throw Error(ErrorCode::bad_input, "explained", "no operation computes '" + computation_.model.tensor(tensor).name + "'");
    return static_cast<std::size_t>(found - operations.begin());
  }

  /// The operation alone, fed with a's tensors.
  [[nodiscard]] std::pair<Model, std::vector<Tensor>> layer(std::size_t operation) const {
    return {extract_operation(computation_.model, operation), inputs_of(computation_.model, operation, a_.tensors)};
  }

  [[nodiscard]] std::string cause() const {
    const auto [model, inputs] = layer(operation_);
    const LayerAttribution found = explain(model, inputs, computation_.a, computation_.b);
    const auto value = std::find_if(found.differing.begin(), found.differing.end(), [&](const auto& each) { return each.index == index_; });
    if (value == found.differing.end()) return inherited();
    std::string text = "cause: ";
    if (!value->cause) text += "not explained by any set of rules tried";
    else {
      std::string changes;
      for (const std::size_t change : found.causes[*value->cause].changes)
        changes += (changes.empty() ? "" : " with ") + found.changes[change].name + ": " + found.changes[change].what;
      text += changes;
    }
    text += "\n";
    const auto stages = side_by_side(model, inputs, index_, computation_.a, computation_.b);
    return stages ? text + to_text(*stages, computation_.a.name, computation_.b.name) : text;
  }

  /// On the same input the operation gives the same value.
  [[nodiscard]] std::string inherited() const {
    for (std::size_t i = 0; i < operation_; ++i) {
      const Operation& operation = computation_.model.operations[i];
      if (is_movement(operation.kind)) continue;
      const auto [model, inputs] = layer(i);
      if (!explain(model, inputs, computation_.a, computation_.b).differing.empty()) {
        return "inherited: on the same input both compute the same value; the first layer with a difference of its own is " +
               std::string(name_of(operation.kind)) + " '" + computation_.model.tensor(operation.outputs[0]).name + "'\n";
      }
    }
    return "inherited: on the same input both compute the same value\n";
  }

  /// Files for the command, where the test names none: the same ones for the same computation.
  [[nodiscard]] Computation in_files() const {
    if (!computation_.model_file.empty()) return computation_;
    Computation named = computation_;
    const std::string checksum = model_checksum(computation_.model);
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("lastbit_" + identifier_of(checksum));
    create_folder(folder);
    named.model_file = (folder / "model.json").string();
    write_json_model(named.model_file, computation_.model);
    named.input_files.clear();
    for (std::size_t i = 0; i < computation_.inputs.size(); ++i) {
      named.input_files.push_back((folder / ("input_" + std::to_string(i) + ".npy")).string());
      write_npy(named.input_files.back(), computation_.inputs[i]);
    }
    return named;
  }

  /// A backend that has no name is written beside the model.
  [[nodiscard]] std::string side(const Computation& files, const SpecSheet& sheet, const std::string& option,
                                 const std::string& identifier) const {
    const BackendReference reference = reference_to(sheet);
    const std::filesystem::path file = std::filesystem::path(files.model_file).parent_path() / backend_file(identifier);
    if (reference.name.empty() && computation_.model_file.empty()) write_file(file, reference.json, {});
    return backend_arguments(sheet, option, computation_.model_file.empty() ? file.string() : sheet.name + ".json");
  }

  [[nodiscard]] std::string command() const {
    const Computation files = in_files();
    const auto [of_a, of_b] = identifiers_of(computation_.a, computation_.b);
    std::string text = "see it again: lastbit explain " + shell_word(files.model_file) + side(files, computation_.a, "a", of_a) +
                       side(files, computation_.b, "b", of_b);
    for (const std::string& file : files.input_files) text += " --input " + shell_word(file);
    return text + " --layer " + std::to_string(operation_) + " --top 1";
  }

  const Computation& computation_;
  std::int64_t index_;
  Trace a_, b_;
  std::int32_t tensor_;
  std::size_t operation_;
};

}  // namespace

std::string explanation(const Computation& computation, std::int64_t index) {
  try {
    return Explainer(computation, index).text();
  } catch (const std::exception& error) {  // a failing test must still say what failed
    return std::string("cannot be explained: ") + error.what();
  }
}

}  // namespace lastbit::testing
