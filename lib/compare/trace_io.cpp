// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "formats/file.hpp"
#include "formats/json.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {
namespace {

constexpr std::string_view format = "lastbit.trace.v1";

/// Safe whatever the tensor is called.
std::string file_name(std::int32_t index) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "tensor_%03d.npy", index);
  return text.data();
}

JsonValue tensor_to_json(const NamedTensor& tensor) {
  JsonValue json{{"index", tensor.index},
                 {"name", tensor.name},
                 {"file", file_name(tensor.index)},
                 {"op", tensor.operation},
                 {"shape", tensor.values.shape().sizes()},
                 {"dtype", name_of(tensor.values.type())}};
  json["scale"] = tensor.quantization.scales;
  json["zero_point"] = tensor.quantization.zero_points;
  json["axis"] = tensor.quantization.axis;
  if (tensor.number) json["number"] = *tensor.number;
  return json;
}

JsonValue events_to_json(const NamedEvents& named) {
  return {{"operation", named.operation},
          {"accumulator_overflows", named.events.accumulator_overflows},
          {"saturated_outputs", named.events.saturated_outputs},
          {"outputs", named.events.outputs},
          {"saturated_stages", named.events.saturated_stages},
          {"wrapped_stages", named.events.wrapped_stages}};
}

JsonValue trace_to_json(const NamedTrace& trace) {
  JsonValue json{{"format", format}, {"model", trace.model}, {"backend", trace.backend}, {"path", trace.path}};
  json["tensors"] = JsonValue::array();
  for (const NamedTensor& tensor : trace.tensors) json["tensors"].push_back(tensor_to_json(tensor));
  json["events"] = JsonValue::array();
  for (const NamedEvents& events : trace.events) json["events"].push_back(events_to_json(events));
  json["assumptions"] = JsonValue::array();
  for (const Assumption& assumption : trace.assumptions)
    json["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  return json;
}

Quantization quantization_from(const JsonView& json, const Shape& shape) {
  Quantization q{json["scale"].numbers(), json["zero_point"].integers(), json["axis"].integer()};
  const bool per_channel = q.scales.size() > 1 || q.zero_points.size() > 1;
  const bool axis_fits = q.axis >= 0 && q.axis < static_cast<std::int64_t>(shape.rank());
  const std::size_t channels = !per_channel || !axis_fits ? 1 : static_cast<std::size_t>(shape[static_cast<std::size_t>(q.axis)]);
  const auto fits = [&](std::size_t count) { return count <= 1 || (axis_fits && count == channels); };
  if (!fits(q.scales.size()) || !fits(q.zero_points.size()))
    json.fail("as many scales and zero points as the axis has indices are needed, or one");
  return q;
}

/// The file must lie in the folder itself.
std::filesystem::path local_file(const std::filesystem::path& folder, const JsonView& json) {
  const std::filesystem::path name(json.text());
  if (name.empty() || name != name.filename() || name == "." || name == "..")
    json.fail("the name of a file in the trace's own folder is needed");
  return folder / name;
}

NamedTensor tensor_from_json(const JsonView& json, const std::filesystem::path& folder) {
  json.only({"index", "name", "file", "op", "shape", "dtype", "scale", "zero_point", "axis", "number"});
  const std::int64_t index = json["index"].integer();
  if (index < 0 || index > std::numeric_limits<std::int32_t>::max()) json["index"].fail("not the index of a tensor");
  Tensor values = read_npy(local_file(folder, json["file"]));
  if (Shape(json["shape"].integers()) != values.shape()) json["shape"].fail("the file holds " + values.shape().text());
  if (json["dtype"].text() != name_of(values.type())) json["dtype"].fail("the file holds " + std::string(name_of(values.type())));
  Quantization quantization = quantization_from(json, values.shape());
  const auto given = json.find("number");
  const std::int64_t number = given ? given->integer() : -1;
  return {static_cast<std::int32_t>(index),
          json["name"].text(),
          json["op"].text(),
          std::move(quantization),
          std::move(values),
          {},
          number < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(number))};
}

NamedEvents events_from_json(const JsonView& json) {
  json.only({"operation", "accumulator_overflows", "saturated_outputs", "outputs", "saturated_stages", "wrapped_stages"});
  const auto counted = [&](const char* key) {  // traces of before it was counted lack it
    const auto count = json.find(key);
    return count ? count->integer() : 0;
  };
  return {json["operation"].text(),
          {json["accumulator_overflows"].integer(), json["saturated_outputs"].integer(), json["outputs"].integer(),
           counted("saturated_stages"), counted("wrapped_stages")}};
}

NamedTrace trace_from_json(const JsonView& json, const std::filesystem::path& folder) {
  json.only({"format", "model", "backend", "path", "tensors", "events", "assumptions", "guesses"});
  if (json["format"].text() != format) json["format"].fail("\"" + std::string(format) + "\" is needed");
  NamedTrace trace{json["model"].text(), json["backend"].text(), json["path"].text(), {}, {}, {}};
  const JsonView tensors = json["tensors"];
  std::unordered_set<std::int32_t> indices;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    NamedTensor tensor = tensor_from_json(tensors.at(i), folder);
    if (!indices.insert(tensor.index).second) tensors.at(i).fail("another tensor has this index");
    trace.tensors.push_back(std::move(tensor));
  }
  const JsonView events = json["events"];
  for (std::size_t i = 0; i < events.size(); ++i) trace.events.push_back(events_from_json(events.at(i)));
  const auto former = json.find("guesses");
  const JsonView assumptions = former ? *former : json["assumptions"];
  for (std::size_t i = 0; i < assumptions.size(); ++i) {
    const JsonView assumption = assumptions.at(i);
    assumption.only({"rule", "source"});
    trace.assumptions.push_back({assumption["rule"].text(), assumption["source"].text()});
  }
  return trace;
}

/// Of the trace that lies there, if one does.
std::vector<std::string> older_files(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  std::ifstream stream(folder / "trace.json");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (text.empty()) return files;
  try {
    const Json json = parse_json(text, "trace.json");
    const JsonView tensors = JsonView(json, "trace.json")["tensors"];
    for (std::size_t i = 0; i < tensors.size(); ++i) files.push_back(local_file({}, tensors.at(i)["file"]).string());
  } catch (const Error&) {
    return {};  // no trace
  }
  return files;
}

}  // namespace

void write_trace(const std::filesystem::path& folder, const NamedTrace& trace) {
  create_folder(folder);
  for (const std::string& file : older_files(folder)) {
    const auto is_it = [&](const NamedTensor& tensor) { return file_name(tensor.index) == file; };
    if (std::ranges::none_of(trace.tensors, is_it)) remove_older(folder / file);
  }
  for (const NamedTensor& tensor : trace.tensors) write_npy(folder / file_name(tensor.index), tensor.values);
  const std::string text = trace_to_json(trace).text(1) + "\n";
  write_file(folder / "trace.json", text, {});
}

NamedTrace read_trace(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "trace.json";
  const Json json = parse_json(read_text_file(file), file.string());
  return trace_from_json({json, file.string()}, folder);
}

}  // namespace lastbit
