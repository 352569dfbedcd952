// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The digits network on every backend, and where one of them differs from what is expected.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <optional>

#include "lastbit/compare.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace {

constexpr std::string_view expected_backend = "tflite_double";
constexpr std::string_view judged_backend = "vipnano_v8";

std::string share_of(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  return part == whole ? "100 %" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

/// Of a backend against the expected one, in text and JSON. Only integers of the same scale are counted.
void add_backend(Rows& rows, JsonValue& json, const Digits& digits, const SpecSheet& sheet, const NamedTrace& expected) {
  const NamedTrace trace = run_named(digits.model, sheet, {&digits.images, 1});
  const std::int32_t output = digits.model.outputs[0];
  const auto answers = top_positions(trace.find(output)->values, digits.model.tensor(output).shape.element_count());
  const double accuracy = share_equal(answers, digits.labels);
  std::int64_t outputs = 0, equal_outputs = 0, values = 0, equal_values = 0, largest = 0;
  const bool counts = sheet.backend.domain != Domain::real;
  for (const LayerDifference& layer : counts ? compare_traces(expected, trace).layers : std::vector<LayerDifference>{}) {
    const TensorDifference& found = layer.accumulated;
    const std::int64_t equal = found.values - found.differing, lsb = found.largest_lsb.value_or(0);
    values += found.values;
    equal_values += equal;
    if (std::abs(lsb) > std::abs(largest)) largest = lsb;
    if (layer.tensor == output) outputs = found.values, equal_outputs = equal;
  }
  const std::string lsb = largest == 0 ? "none" : (largest > 0 ? "+" : "") + std::to_string(largest) + " LSB";
  rows.push_back(row(sheet.name, percent(accuracy), share_of(equal_outputs, outputs), share_of(equal_values, values),
                     counts ? lsb : std::string("-")));
  json.push_back({{"backend", sheet.name},
                  {"top1", accuracy},
                  {"outputs", outputs},
                  {"equal_outputs", equal_outputs},
                  {"values", values},
                  {"equal_values", equal_values},
                  {"largest_lsb", counts ? JsonValue(largest) : JsonValue()}});
}

/// `unable`: devices with arithmetic of another kind, for which the float network would have to be quantised.
void print_text(const Rows& rows, const std::vector<std::string>& unable, const CompareReport& report, std::int64_t images,
                const std::filesystem::path& data) {
  std::cout << "An int8 network that reads handwritten digits (" << data.string() << "), " << images
            << " test images, on every backend.\nEqual and different are against " << expected_backend << ", integer by integer.\n\n";
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row[0].size());
  for (const auto& row : rows)
    std::cout << std::left << std::setw(static_cast<int>(longest)) << row[0] << std::right << std::setw(9) << row[1] << std::setw(16)
              << row[2] << std::setw(27) << row[3] << std::setw(21) << row[4] << "\n";
  std::cout << (unable.empty() ? "" : "Not made for int8 networks of this kind:");
  for (const std::string& name : unable) std::cout << " " << name;
  std::cout << (unable.empty() ? "" : "\n") << "\nWhere " << judged_backend << " (NXP i.MX 8M Plus) differs from " << expected_backend
            << ", layer by layer:\n\n"
            << to_text(report)
            << "\nNext, your own network:  ./dev run compare MODEL.tflite --a tflite_double --b vipnano_v8 --input x.npy\n"
            << "      mismatches that users met:  ./dev demo NAME; lastbit demo lists them\n";
}

}  // namespace

void print_digits(const StoryOptions& options) {
  const std::filesystem::path data = options.data / "digits";
  const Digits digits = read_digits(data);
  const std::span<const Tensor> images{&digits.images, 1};
  const NamedTrace expected = run_named(digits.model, find_backend(expected_backend), images);
  Rows rows{row("backend", "top-1", "outputs equal", "values equal, all layers", "largest difference")};
  JsonValue backends = JsonValue::array();
  std::vector<std::string> unable;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (check(digits.model, sheet.backend).empty()) add_backend(rows, backends, digits, sheet, expected);
    else unable.push_back(sheet.name);
  }
  const CompareReport report = compare_backends(digits.model, find_backend(expected_backend), find_backend(judged_backend), images);
  const std::int64_t count = digits.images.shape()[0];
  if (!options.json) return print_text(rows, unable, report, count, data);
  const JsonValue json{{"images", count},
                       {"against", expected_backend},
                       {"backends", backends},
                       {"cannot_run_it", unable},
                       {"compare", JsonValue::parse(to_json(report))}};
  std::cout << json.text(2) << "\n";
}

}  // namespace lastbit::tool
