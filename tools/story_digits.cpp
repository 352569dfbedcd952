// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>
#include <optional>

#include "lastbit/compare.hpp"
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

Score score(const Digits& digits, const SpecSheet& sheet, const NamedTrace& expected) {
  const NamedTrace trace = run_named(digits.model, sheet, {&digits.images, 1});
  const std::int32_t output = digits.model.outputs[0];
  const auto answers = top_positions(trace.find(output)->values, digits.model.tensor(output).shape.element_count());
  Score row{sheet.name, share_equal(answers, digits.labels)};
  if (sheet.backend.domain == Domain::real) return row;
  row.largest_lsb = 0;
  for (const LayerDifference& layer : compare_traces(expected, trace).layers) {
    const TensorDifference& found = layer.accumulated;
    const std::int64_t equal = found.values - found.differing, largest = found.largest_lsb.value_or(0);
    row.values += found.values;
    row.equal_values += equal;
    if (std::abs(largest) > std::abs(*row.largest_lsb)) row.largest_lsb = largest;
    if (layer.tensor == output) row.outputs = found.values, row.equal_outputs = equal;
  }
  return row;
}

std::string share_of(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  return part == whole ? "100 %" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

std::string lsb_text(const Score& row) {
  if (!row.largest_lsb) return "-";
  return *row.largest_lsb == 0 ? "none" : (*row.largest_lsb > 0 ? "+" : "") + std::to_string(*row.largest_lsb) + " LSB";
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
  for (const auto& [backend, accuracy, outputs, equal_outputs, values, equal_values, largest_lsb] : results.scores)
    json["backends"].push_back({{"backend", backend},
                                {"top1", accuracy},
                                {"outputs", outputs},
                                {"equal_outputs", equal_outputs},
                                {"values", values},
                                {"equal_values", equal_values},
                                {"largest_lsb", largest_lsb ? JsonValue(*largest_lsb) : JsonValue()}});
  json["cannot_run_it"] = results.unable;
  json["compare"] = JsonValue::parse(to_json(results.report));
  std::cout << json.text(2) << "\n";
}

void print_text(const Results& results, const std::string& data) {
  std::cout << "An int8 network that reads handwritten digits (" << data << "), " << results.images
            << " test images, on every backend.\nEqual and different are against " << expected_backend << ", integer by integer.\n\n";
  const auto line = [](std::string_view name, std::string_view top, std::string_view outputs, std::string_view all, std::string_view lsb) {
    std::cout << std::left << std::setw(17) << name << std::right << std::setw(9) << top << std::setw(16) << outputs << std::setw(27) << all
              << std::setw(21) << lsb << "\n";
  };
  line("backend", "top-1", "outputs equal", "values equal, all layers", "largest difference");
  for (const Score& row : results.scores)
    line(row.backend, percent(row.accuracy), share_of(row.equal_outputs, row.outputs), share_of(row.equal_values, row.values),
         lsb_text(row));
  std::cout << (results.unable.empty() ? "" : "Not made for int8 networks of this kind:");
  for (const std::string& name : results.unable) std::cout << " " << name;
  std::cout << (results.unable.empty() ? "" : "\n") << "\nWhere " << judged_backend << " (NXP i.MX 8M Plus) parts from " << expected_backend
            << ", layer by layer:\n\n"
            << to_text(results.report)
            << "\nNext, your own network:  ./dev run compare MODEL.tflite --a tflite_double --b vipnano_v8 --input x.npy\n"
            << "      mismatches that users met:  ./dev demo NAME; lastbit demo lists them\n";
}

}  // namespace

void print_digits(const StoryOptions& options) {
  const std::filesystem::path data = options.data / "digits";
  const Results results = results_of(read_digits(data));
  options.json ? print_json(results) : print_text(results, data.string());
}

}  // namespace lastbit::tool
