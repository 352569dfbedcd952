// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/registry.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace {

constexpr std::string_view expected_backend = "tflite_double";
constexpr std::string_view judged_backend = "vipnano_v8";

/// One row of the first table: a backend against the expected one.
struct Score {
  std::string backend;
  double accuracy = 0;
  std::int64_t outputs = 0, equal_outputs = 0;
  std::int64_t values = 0, equal_values = 0;  ///< of every layer
  std::optional<std::int64_t> largest_lsb{};  ///< of every layer; absent where values are not integers of the same scale
};

double accuracy_of(const Digits& digits, const NamedTrace& trace) {
  const std::int32_t output = digits.model.outputs[0];
  const auto answers = top_positions(trace.find(output)->values, digits.model.tensor(output).shape.element_count());
  const auto labels = digits.labels.values<std::int64_t>();
  return share_equal(answers, {labels.begin(), labels.end()});
}

Score score(const Digits& digits, const SpecSheet& sheet, const NamedTrace& expected) {
  const NamedTrace trace = run_named(digits.model, sheet, {&digits.images, 1});
  Score row{sheet.name, accuracy_of(digits, trace)};
  if (sheet.backend.domain == Domain::real) return row;
  row.largest_lsb = 0;
  for (const LayerDifference& layer : compare_traces(expected, trace).layers) {
    const TensorDifference& found = layer.accumulated;
    row.values += found.values;
    row.equal_values += found.values - found.differing;
    const auto largest = found.largest_lsb.value_or(0);
    if (std::abs(largest) > std::abs(*row.largest_lsb)) row.largest_lsb = largest;
    if (layer.tensor != digits.model.outputs[0]) continue;
    row.outputs = found.values;
    row.equal_outputs = found.values - found.differing;
  }
  return row;
}

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(part == whole ? 0 : 2) << 100.0 * static_cast<double>(part) / static_cast<double>(whole) << " %";
  return text.str();
}

void print(const std::vector<Score>& scores) {
  std::cout << std::left << std::setw(17) << "backend" << std::right << std::setw(9) << "top-1" << std::setw(16) << "outputs equal"
            << std::setw(27) << "values equal, all layers" << std::setw(21) << "largest difference"
            << "\n";
  for (const Score& row : scores) {
    std::ostringstream top, lsb;
    top << std::fixed << std::setprecision(2) << 100.0 * row.accuracy << " %";
    if (row.largest_lsb) lsb << std::showpos << (*row.largest_lsb) << std::noshowpos << " LSB";
    else lsb << "-";
    std::cout << std::left << std::setw(17) << row.backend << std::right << std::setw(9) << top.str() << std::setw(16)
              << percent(row.equal_outputs, row.outputs) << std::setw(27) << percent(row.equal_values, row.values) << std::setw(21)
              << (row.largest_lsb && *row.largest_lsb == 0 ? "none" : lsb.str()) << "\n";
  }
}

JsonValue to_json(const Score& row) {
  JsonValue json{{"backend", row.backend}, {"top1", row.accuracy},
                 {"outputs", row.outputs}, {"equal_outputs", row.equal_outputs},
                 {"values", row.values},   {"equal_values", row.equal_values}};
  json["largest_lsb"] = row.largest_lsb ? JsonValue(*row.largest_lsb) : JsonValue();
  return json;
}

struct Results {
  std::int64_t images = 0;
  std::vector<Score> scores;
  std::vector<std::string> unable;  ///< devices with arithmetic of another kind: for them the float network would have to be quantised
  CompareReport report;
};

Results results_of(const Digits& digits) {
  const NamedTrace expected = run_named(digits.model, find_backend(expected_backend), {&digits.images, 1});
  Results results{digits.images.shape()[0], {}, {}, {}};
  for (const SpecSheet& sheet : builtin_backends()) {
    if (check(digits.model, sheet.backend).empty()) results.scores.push_back(score(digits, sheet, expected));
    else results.unable.push_back(sheet.name);
  }
  results.report = compare_backends(digits.model, find_backend(expected_backend), find_backend(judged_backend), {&digits.images, 1});
  return results;
}

void print_json(const Results& results) {
  JsonValue json{{"images", results.images}, {"against", expected_backend}};
  for (const Score& row : results.scores) json["backends"].push_back(to_json(row));
  json["cannot_run_it"] = results.unable;
  json["compare"] = JsonValue::parse(lastbit::to_json(results.report));
  std::cout << json.text(2) << "\n";
}

void print_text(const Results& results, const std::string& data) {
  std::cout << "An int8 network that reads handwritten digits (" << data << "), " << results.images
            << " test images, on every backend.\nEqual and different are against " << expected_backend << ", integer by integer.\n\n";
  print(results.scores);
  if (!results.unable.empty()) {
    std::cout << "Not made for int8 networks of this kind:";
    for (const std::string& name : results.unable) std::cout << " " << name;
    std::cout << "\n";
  }
  std::cout << "\nWhere " << judged_backend << " (NXP i.MX 8M Plus) parts from " << expected_backend << ", layer by layer:\n\n"
            << to_text(results.report)
            << "\nNext, your own network:  ./dev run compare MODEL.tflite --a tflite_double --b vipnano_v8 --input x.npy\n"
            << "      mismatches that users met:  ./dev demo NAME; lastbit demo lists them\n";
}

}  // namespace

int print_digits(const StoryOptions& options) {
  if (!options.plot.empty()) throw Error(ErrorCode::bad_input, "--plot", "the demo digits has no plot");
  const std::filesystem::path data = options.data / "digits";
  const Results results = results_of(read_digits(data));
  options.json ? print_json(results) : print_text(results, data.string());
  return 0;
}

}  // namespace lastbit::tool
