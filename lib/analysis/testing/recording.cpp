// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/recording.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "analysis/testing/value_text.hpp"
#include "formats/file.hpp"
#include "formats/json_model.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/trace.hpp"
#include "lastbit/version.hpp"
#include "model/checksum.hpp"

namespace lastbit {
namespace {

constexpr const char* format = "lastbit.golden.v1";
constexpr const char* file_of_store = "golden.json";

template <class List, class Number>
void add_all(Checksum& sum, const List& list, Number&& number) {
  sum.add(static_cast<std::int64_t>(list.size()));
  for (const auto& each : list) sum.add(number(each));
}

constexpr auto as_it_is = [](std::int64_t number) { return number; };

void add_quantization(Checksum& sum, const Quantization& quantization) {
  add_all(sum, quantization.scales, [](double scale) { return std::bit_cast<std::int64_t>(scale); });
  add_all(sum, quantization.zero_points, as_it_is);
  sum.add(quantization.axis);
}

/// What most tensors have not is added only where it is there, so that older checksums stay.
void add_tensor(Checksum& sum, const ModelTensor& tensor) {
  sum.add(tensor.name);
  sum.add(std::string(name_of(tensor.type)));
  add_all(sum, tensor.shape.sizes(), as_it_is);
  add_quantization(sum, tensor.quantization);
  if (tensor.constant) sum.add(tensor.constant->bytes());
  if (tensor.merged) add_quantization(sum, *tensor.merged);
}

void add_list(Checksum& sum, const std::vector<std::int32_t>& list) {
  sum.add(static_cast<std::int64_t>(list.size()));
  for (const std::int32_t index : list) sum.add(index);
}

std::string tensor_file(std::int32_t index) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "tensor_%03d.npy", index);
  return text.data();
}

std::string input_file(std::size_t position) { return "input_" + std::to_string(position) + ".npy"; }

const Operation* operation_of(const Model& model, std::int32_t tensor) {
  for (const Operation& operation : model.operations)
    if (std::find(operation.outputs.begin(), operation.outputs.end(), tensor) != operation.outputs.end()) return &operation;
  return nullptr;
}

std::vector<std::int32_t> tensors_of(const Model& model, const Trace& trace, RecordedTensors which) {
  if (which == RecordedTensors::outputs) return model.outputs;
  std::vector<std::int32_t> tensors;
  for (const Operation& operation : model.operations)
    for (const std::int32_t index : operation.outputs)
      if (trace.tensors[static_cast<std::size_t>(index)]) tensors.push_back(index);
  return tensors;
}

Json read_store(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / file_of_store;
  Json json = parse_json(read_text_file(file), file.string());
  const JsonView view(json, file.string());
  view.only({"format", "written_by", "model", "checksum", "backend", "inputs", "tensors"});
  if (view["format"].text() != format) view["format"].fail("'" + view["format"].text() + "' is not " + format);
  return json;
}

/// A file of the store itself.
Tensor read_local(const std::filesystem::path& folder, const JsonView& name) {
  const std::filesystem::path file(name.text());
  if (file.empty() || file != file.filename() || file == "." || file == "..") name.fail("the name of a file in the store is needed");
  return read_npy(folder / file);
}

class Checker {
 public:
  Checker(const std::filesystem::path& folder, const Model& model, const SpecSheet& sheet)
      : folder_(folder), user_model_(model), sheet_(sheet), json_(read_store(folder)), store_(json_, (folder / file_of_store).string()) {
    report_.folder = folder.string();
    report_.backend = sheet.name;
    report_.written_by = store_["written_by"].text();
  }

  RecordingReport check() {
    report_.model_changed = store_["checksum"].text() != model_checksum(user_model_);
    compare_rules();
    const Emulator emulator(user_model_, sheet_.backend);
    const Trace trace = emulator.run(inputs(), {.keep_all = true});
    const JsonView tensors = store_["tensors"];
    for (std::size_t i = 0; i < tensors.size(); ++i) compare(tensors.at(i), emulator.model(), trace);
    return std::move(report_);
  }

 private:
  void compare_rules() {
    try {
      const SpecSheet stored = backend_from_json(store_["backend"].value().dump(), store_.where() + ".backend");
      for (const RuleDifference& difference : diff_backends(stored.backend, sheet_.backend)) {
        const bool is_read = std::any_of(user_model_.operations.begin(), user_model_.operations.end(),
                                         [&](const Operation& operation) { return reads(operation, difference, stored.backend); });
        (is_read ? report_.changed : report_.changed_apart).push_back(difference);
      }
      stored_ = stored.backend;
    } catch (const Error& error) {
      report_.unreadable_backend = error.what();
    }
  }

  /// Whether the rule was, or is now, one that the operation reads.
  [[nodiscard]] bool reads(const Operation& operation, const RuleDifference& rule, const Backend& stored) const {
    for (const Backend* backend : {&stored, &sheet_.backend})
      for (const std::string& prefix : rule_prefixes(user_model_, operation, *backend))
        if (covers(prefix, rule.path)) return true;
    return false;
  }

  std::vector<Tensor> inputs() const {
    const JsonView list = store_["inputs"];
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < list.size(); ++i) tensors.push_back(read_local(folder_, list.at(i)["file"]));
    return tensors;
  }

  void compare(const JsonView& stored, const Model& model, const Trace& trace) {
    RecordingDifference difference;
    difference.tensor = stored["name"].text();
    difference.operation = stored["operation"].text();
    const Tensor expected = read_local(folder_, stored["file"]);
    ++report_.tensors;
    report_.values += expected.element_count();
    const std::int64_t number = stored["index"].integer();
    const bool there = number >= 0 && number < static_cast<std::int64_t>(model.tensors.size()) &&
                       model.tensors[static_cast<std::size_t>(number)].name == difference.tensor &&
                       trace.tensors[static_cast<std::size_t>(number)].has_value();
    if (!there) difference.reason = "the model computes no such tensor";
    else compare_values(expected, *trace.tensors[static_cast<std::size_t>(number)], difference);
    if (difference.differing == 0 && difference.reason.empty()) return;
    if (const Operation* const operation = there ? operation_of(user_model_, static_cast<std::int32_t>(number)) : nullptr;
        operation && stored_)
      for (const RuleDifference& rule : report_.changed)
        if (reads(*operation, rule, *stored_)) difference.changed.push_back(rule);
    report_.differing.push_back(std::move(difference));
  }

  static void compare_values(const Tensor& expected, const Tensor& got, RecordingDifference& difference) {
    if (expected.type() != got.type() || expected.shape() != got.shape()) {
      difference.reason = "stored as " + std::string(name_of(expected.type())) + " " + expected.shape().text() + ", computed as " +
                          std::string(name_of(got.type())) + " " + got.shape().text();
      return;
    }
    difference.values = expected.element_count();
    for (std::int64_t i = 0; i < expected.element_count(); ++i) {
      if (same_value(expected, got, i)) continue;
      if (difference.differing++ == 0) {
        difference.index = i;
        difference.expected = value_text(expected, i);
        difference.got = value_text(got, i);
      }
    }
  }

  const std::filesystem::path& folder_;
  const Model& user_model_;
  const SpecSheet& sheet_;
  Json json_;
  JsonView store_;
  std::optional<Backend> stored_;
  RecordingReport report_;
};

}  // namespace

std::string model_checksum(const Model& model) {
  Checksum sum;
  for (const ModelTensor& tensor : model.tensors) add_tensor(sum, tensor);
  for (const Operation& operation : model.operations) {
    sum.add(std::string(name_of(operation.kind)));
    add_list(sum, operation.inputs);
    add_list(sum, operation.outputs);
    sum.add(attributes_to_json(operation.kind, operation.attributes).dump());
    if (operation.stated != Statement::on_codes) sum.add(std::string(name_of(operation.stated)));
  }
  add_list(sum, model.inputs);
  add_list(sum, model.outputs);
  for (const State& state : model.states) add_list(sum, {state.before, state.after});
  return sum.text();
}

void write_recording(const std::filesystem::path& folder, const Model& model, const Device& backend, std::span<const Tensor> inputs,
                     RecordedTensors tensors) {
  const Emulator emulator(model, backend.backend);
  const Trace trace = emulator.run(inputs, {.keep_all = true});
  create_folder(folder);
  OrderedJson json{{"format", format}, {"written_by", "lastbit " + std::string(version())}, {"model", model.name}};
  json["checksum"] = model_checksum(model);
  json["backend"] = OrderedJson::parse(backend_to_json(backend));
  json["inputs"] = OrderedJson::array();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    write_npy(folder / input_file(i), inputs[i]);
    json["inputs"].push_back({{"name", model.tensor(model.inputs[i]).name}, {"file", input_file(i)}});
  }
  json["tensors"] = OrderedJson::array();
  for (const std::int32_t index : tensors_of(model, trace, tensors)) {
    write_npy(folder / tensor_file(index), *trace.tensors[static_cast<std::size_t>(index)]);
    const Operation* const operation = operation_of(model, index);
    json["tensors"].push_back({{"index", index},
                               {"name", emulator.model().tensor(index).name},
                               {"operation", operation == nullptr ? "input" : name_of(operation->kind)},
                               {"file", tensor_file(index)}});
  }
  write_file(folder / file_of_store, json.dump(1) + "\n", {});  // last: a store without it is none
}

RecordingReport check_recording(const std::filesystem::path& folder, const Model& model, const Device& backend) {
  return Checker(folder, model, backend).check();
}

std::string recorded_backend(const std::filesystem::path& folder) {
  const Json json = read_store(folder);
  return JsonView(json, (folder / file_of_store).string())["backend"]["name"].text();
}

}  // namespace lastbit
