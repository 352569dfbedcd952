// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify/case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "formats/json_model.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/metrics.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// One case of one file, with what is needed to compute it.
struct Case {
  const Json& json;
  fs::path folder;
  SpecSheet sheet;
  const VerifyOptions& options;
  std::set<std::string>& tensors;  ///< of the report
  KeptCases* kept = nullptr;
};

template <class Read>
std::shared_ptr<const Read> kept_or_read(const Case& at, std::map<const Json*, std::shared_ptr<const Read>> KeptCases::*store,
                                         Read (*read)(const Case&)) {
  if (at.kept == nullptr) return std::make_shared<const Read>(read(at));
  std::shared_ptr<const Read>& entry = (at.kept->*store)[&at.json];
  if (entry == nullptr) entry = std::make_shared<const Read>(read(at));
  return entry;
}

void require_known_keys(const Json& json) {
  static const std::vector<std::string> known{"name",        "backend",          "settings",       "model",  "primitive",
                                              "parameters",  "inputs",           "expected",       "report", "note",
                                              "saturations", "saturated_stages", "wrapped_stages", "also"};
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error(ErrorCode::malformed_file, "case", "unknown key '" + key + "'");
  }
}

const Json& member(const Json& json, const char* key) {
  if (!json.contains(key)) throw Error(ErrorCode::malformed_file, "case", "'" + std::string(key) + "' is missing");
  return json[key];
}

/// A file beside the case file, or the values themselves.
Tensor tensor_of(const Case& at, const Json& json) {
  if (json.is_object()) return tensor_from_json(JsonView(json, "tensor"));
  return read_npy(at.folder / json.get<std::string>());
}

/// The files of a primitive case, by name.
NamedTensors read_named(const Case& at, const char* key) {
  NamedTensors tensors;
  for (const auto& [name, file] : member(at.json, key).items()) tensors.emplace(name, tensor_of(at, file));
  return tensors;
}

/// The files of a model case by tensor index: named ones, or a list in the order of `indices`.
std::map<std::int32_t, Tensor> read_indexed(const Case& at, const char* key, const Model& model, const std::vector<std::int32_t>& indices) {
  const Json& files = member(at.json, key);
  if (files.is_array() && files.size() != indices.size()) {
    throw Error(ErrorCode::bad_input, key, std::to_string(files.size()) + " files for " + std::to_string(indices.size()) + " tensors");
  }
  std::map<std::int32_t, Tensor> tensors;
  std::size_t next = 0;
  for (const auto& [name, file] : files.items()) {
    const auto index = files.is_array() ? std::optional(indices[next++]) : model.find_tensor(name);
    if (!index) throw Error(ErrorCode::bad_input, key, "no tensor '" + name + "'");
    tensors.emplace(*index, tensor_of(at, file));
  }
  return tensors;
}

std::string text_of(const Tensor& tensor, std::int64_t index) {
  std::ostringstream text;
  text.precision(9);
  visit_element_type(tensor.type(), [&]<class T>() {
    const T value = tensor.values<T>()[static_cast<std::size_t>(index)];
    if constexpr (sizeof(T) == 1) text << static_cast<int>(value);
    else if constexpr (std::is_same_v<T, Float16>) text << static_cast<float>(value);
    else text << value;
  });
  return text.str();
}

/// Indices at which two tensors of one size differ. Integers of different types are compared by value only for primitives (int64 results).
template <class Differs>
void count_differences(const Tensor& expected, const Tensor& got, CaseFailure& failure, Differs&& differs) {
  for (std::int64_t i = 0; i < expected.element_count(); ++i) {
    if (!differs(i)) continue;
    if (failure.differing++ == 0) {
      failure.index = i;
      failure.expected = text_of(expected, i);
      failure.got = text_of(got, i);
    }
  }
}

/// The comparison of one expected tensor; differing == 0 is a pass.
CaseFailure compare(const std::string& name, const Tensor& expected, const Tensor& got, bool any_integer_type) {
  CaseFailure failure;
  failure.tensor = name;
  failure.values = expected.element_count();
  if (expected.type() != got.type() && !(any_integer_type && is_integer(expected.type()))) {
    throw Error(ErrorCode::type_mismatch, name,
                "expected " + std::string(name_of(expected.type())) + ", computed " + std::string(name_of(got.type())));
  }
  if (expected.element_count() != got.element_count()) {
    throw Error(ErrorCode::shape_mismatch, name, "expected shape " + expected.shape().text() + ", computed " + got.shape().text());
  }
  if (any_integer_type) {
    count_differences(expected, got, failure, [&](std::int64_t i) { return expected.integer_at(i) != got.integer_at(i); });
    return failure;
  }
  visit_element_type(expected.type(), [&]<class T>() {
    const auto a = expected.values<T>();
    const auto b = got.values<T>();
    count_differences(expected, got, failure,
                      [&](std::int64_t i) { return !identical(a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(i)]); });
  });
  return failure;
}

/// The same; what the user lets pass is no failure.
CaseFailure judged(const Case& at, const std::string& name, const Tensor& expected, const Tensor& got, const Quantization& quantization) {
  CaseFailure failure = compare(name, expected, got, false);
  if (failure.differing == 0 || !at.options.is_within) return failure;
  if (!at.options.is_within(name, difference(expected, quantization, got, quantization))) return failure;
  CaseFailure pass;
  pass.values = failure.values;
  pass.within = true;
  return pass;
}

/// Adds one comparison to those of the case: the first failing tensor is reported, the values of all are counted.
void add_comparison(CaseFailure& total, CaseFailure one) {
  one.values += total.values;
  one.within = one.within || total.within;
  if (total.differing > 0) total.values = one.values;
  else total = std::move(one);
}

Model model_of(const Case& at) {
  const Json& model = member(at.json, "model");
  if (model.is_string()) return read_model(at.folder / model.get<std::string>());
  return parse_json_model(model.dump(), at.folder, "model");
}

/// What a case may state of the events of a run, each as a count, or as a flag whether there were any.
struct StatedEvents {
  const char* key;
  std::int64_t (*count)(const Events&);
};
constexpr std::array stated_events{
    // sums that left their width and outputs that left their type
    StatedEvents{"saturations", [](const Events& events) { return events.accumulator_overflows + events.saturated_outputs; }},
    StatedEvents{"saturated_stages", [](const Events& events) { return events.saturated_stages; }},
    StatedEvents{"wrapped_stages", [](const Events& events) { return events.wrapped_stages; }},
};
bool states_events(const Json& json) {
  return std::ranges::any_of(stated_events, [&](const StatedEvents& one) { return json.contains(one.key); });
}

CaseFailure compare_events(const StatedEvents& stated, const Json& expected, const Trace& trace) {
  std::int64_t count = 0;
  for (const Events& events : trace.events) count += stated.count(events);
  CaseFailure failure;
  failure.tensor = stated.key;
  failure.values = 1;
  const Json got = expected.is_boolean() ? Json(count > 0) : Json(count);
  if (!expected.is_boolean() && !expected.is_number_integer()) {
    throw Error(ErrorCode::malformed_file, stated.key, "a count or a flag is needed");
  }
  failure.differing = got == expected ? 0 : 1;
  failure.expected = expected.dump();
  failure.got = got.dump();
  return failure;
}

ModelCase read_model_case(const Case& at) {
  ModelCase read{.model = model_of(at), .inputs = {}, .expected = {}};
  const Model& model = read.model;
  auto given = read_indexed(at, "inputs", model, model.inputs);
  for (const auto index : model.inputs) {
    const auto found = given.find(index);
    if (found == given.end()) throw Error(ErrorCode::bad_input, "inputs", "no file for '" + model.tensor(index).name + "'");
    read.inputs.push_back(found->second);
    if (read.inputs.back().element_count() == model.tensor(index).shape.element_count())
      read.inputs.back().reshape(model.tensor(index).shape);
  }
  if (given.size() != read.inputs.size()) throw Error(ErrorCode::bad_input, "inputs", "a file for a tensor that is no input");
  read.expected = read_indexed(at, "expected", model, model.outputs);
  return read;
}

/// counts: whether the events that the case states are compared too.
CaseFailure run_model_case(const Case& at, bool counts) {
  const std::shared_ptr<const ModelCase> read = kept_or_read(at, &KeptCases::models, read_model_case);
  const Model& model = read->model;
  for (const auto& [index, expected] : read->expected) at.tensors.insert(model.tensor(index).name);
  const Trace trace = run(model, at.sheet.backend, read->inputs, {.keep_all = true, .count_events = counts});
  CaseFailure total;
  for (const auto& [index, expected] : read->expected) {
    const auto& computed = trace.tensors[static_cast<std::size_t>(index)];
    const std::string& name = model.tensor(index).name;
    if (!computed) throw Error(ErrorCode::bad_input, name, "is not computed");
    add_comparison(total, judged(at, name, expected, *computed, quantization_in(model.tensor(index), computed->shape())));
  }
  for (const StatedEvents& stated : stated_events) {
    if (counts && at.json.contains(stated.key)) add_comparison(total, compare_events(stated, at.json[stated.key], trace));
  }
  return total;
}

PrimitiveCase read_primitive_case(const Case& at) { return {read_named(at, "inputs"), read_named(at, "expected")}; }

CaseFailure run_primitive_case(const Case& at, const std::string& primitive) {
  const Json given = at.json.value("parameters", Json::object());
  PrimitiveParameters parameters;
  for (const auto& [name, value] : given.items()) parameters.emplace(name, value.get<std::string>());
  const std::shared_ptr<const PrimitiveCase> read = kept_or_read(at, &KeptCases::primitives, read_primitive_case);
  const NamedTensors results = run_primitive(primitive, at.sheet.backend, read->inputs, parameters);
  CaseFailure total;
  for (const auto& [name, expected] : read->expected) {
    const auto found = results.find(name);
    if (found == results.end()) throw Error(ErrorCode::bad_input, name, "no such result of " + primitive);
    add_comparison(total, compare(name, expected, found->second, true));
  }
  return total;
}

/// Numbers inside a figure such as "(0.002;0.994),(0.002;0.994)" or "0.999953", and the text between them.
std::pair<std::string, std::vector<double>> numbers_in(const std::string& text) {
  std::string rest;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t used = 0;
    const bool starts = std::string_view("+-.0123456789").find(text[i]) != std::string_view::npos;
    char* end = nullptr;
    const double number = starts ? std::strtod(text.c_str() + i, &end) : 0;
    if (starts) used = static_cast<std::size_t>(end - (text.c_str() + i));
    if (used > 0) numbers.push_back(number);
    else rest += text[i];
    i += std::max<std::size_t>(used, 1);
  }
  return {rest, numbers};
}

/// Figures are sums of floats in another order, so they agree to 1e-5 of their size (and half a unit of the last printed place).
bool same_figure(const std::string& expected, const std::string& got) {
  const auto [words_a, a] = numbers_in(expected);
  const auto [words_b, b] = numbers_in(got);
  return words_a == words_b && std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
           return std::isfinite(x - y) && std::abs(x - y) <= 1e-5 * std::max({1.0, std::abs(x), std::abs(y)});
         });
}

CaseFailure run_metrics_case(const Case& at) {
  const NamedTensors inputs = read_named(at, "inputs");
  const auto floats = [&](const char* name) {
    const auto found = inputs.find(name);
    if (found == inputs.end() || found->second.type() != ElementType::float32)
      throw Error(ErrorCode::bad_input, name, "a float32 input is needed");
    return found->second.values<float>();
  };
  const std::span<const float> mine = floats("mine"), truth = floats("truth");
  if (mine.size() != truth.size())
    throw Error(ErrorCode::shape_mismatch, "mine", std::to_string(mine.size()) + " values; 'truth' has " + std::to_string(truth.size()));
  CaseFailure failure;
  for (const auto& [name, value] : metrics_report(mine, truth)) {
    if (!member(at.json, "report").contains(name)) continue;
    const auto expected = at.json["report"][name].get<std::string>();
    ++failure.values;
    if (!same_figure(expected, value) && failure.differing++ == 0) failure.tensor = name, failure.expected = expected, failure.got = value;
  }
  if (failure.values != static_cast<std::int64_t>(at.json["report"].size()))
    throw Error(ErrorCode::malformed_file, "report", "unknown figure");
  return failure;
}

/// Settings of a case, then the caller's.
void adjust(SpecSheet& sheet, const Json& json, const VerifyOptions& options) {
  const Json settings = json.value("settings", Json::object());
  for (const auto& [path, value] : settings.items()) {
    set_rule(sheet.backend, path, value.is_number_integer() ? value.dump() : JsonView(value, "case.settings." + path).text());
  }
  if (options.adjust) options.adjust(sheet);
}

/// A built-in backend, or one in a file beside the case file.
SpecSheet named_sheet(const std::string& name, const fs::path& folder) {
  return find_backend(name.ends_with(".json") ? (folder / name).string() : name);
}

SpecSheet sheet_of(const Json& json, const fs::path& folder, const VerifyOptions& options) {
  SpecSheet sheet;
  if (options.backend) sheet = *options.backend;
  else if (json.contains("backend")) sheet = named_sheet(JsonView(json["backend"], "case.backend").text(), folder);
  else if (!json.contains("parameters") && json.value("primitive", Json()) != "metrics") {
    throw Error(ErrorCode::malformed_file, "case", "'backend' is missing, and none was given");
  }
  adjust(sheet, json, options);
  return sheet;
}

/// What a model case's values are on another backend: "equal", "differs", or "refused" by the emulator.
std::string outcome_on(const Case& at) {
  try {
    return run_model_case(at, false).differing == 0 ? "equal" : "differs";
  } catch (const Error& error) {
    const bool refused = error.diagnostics().front().code == ErrorCode::unsupported_operation;
    if (!refused) throw;
    return "refused";
  }
}

/// The backends that "also" names, each with the outcome that was recorded.
void compare_others(const Case& at, const VerifyOptions& options, CaseFailure& total) {
  for (const Json& other : at.json["also"]) {
    const JsonView view(other, "case.also");
    view.only({"backend", "settings", "outcome"});
    SpecSheet sheet = named_sheet(view["backend"].text(), at.folder);
    adjust(sheet, other, options);
    CaseFailure one;
    one.tensor = "outcome on " + sheet.name;
    one.values = 1;
    one.expected = view["outcome"].text();
    one.got = outcome_on({at.json, at.folder, std::move(sheet), at.options, at.tensors, at.kept});
    one.differing = one.got == one.expected ? 0 : 1;
    add_comparison(total, std::move(one));
  }
}

}  // namespace

std::optional<RecordedModel> recorded_model(const Json& json, const std::filesystem::path& folder) {
  if (json.contains("primitive")) return std::nullopt;
  const VerifyOptions options;
  std::set<std::string> names;
  const Case at{json, folder, sheet_of(json, folder, options), options, names};
  return RecordedModel{at.sheet, json.contains("settings"), read_model_case(at)};
}

CaseFailure run_case(const Json& json, const std::filesystem::path& folder, const VerifyOptions& options, std::set<std::string>& tensors,
                     KeptCases* kept) {
  require_known_keys(json);
  const Case at{json, folder, sheet_of(json, folder, options), options, tensors, kept};
  const bool has_rule_parameters = json.contains("primitive") && json["primitive"] != "metrics";
  if (json.contains("parameters") && !has_rule_parameters) {
    throw Error(ErrorCode::malformed_file, "case", "'parameters' belongs to a primitive");
  }
  CaseFailure result;
  const bool has_model = !json.contains("primitive");
  if ((json.contains("also") || states_events(json)) && !has_model) {
    throw Error(ErrorCode::malformed_file, "case", "'also', 'saturations', 'saturated_stages' and 'wrapped_stages' belong to a model");
  }
  if (has_model) result = run_model_case(at, states_events(json));
  else if (json["primitive"] == "metrics") result = run_metrics_case(at);
  else result = run_primitive_case(at, json["primitive"].get<std::string>());
  if (result.values == 0) throw Error(ErrorCode::malformed_file, "expected", "nothing to compare");
  if (json.contains("also") && !options.backend) compare_others(at, options, result);
  result.backend = at.sheet.name;
  return result;
}

}  // namespace lastbit
