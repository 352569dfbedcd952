// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "lastbit/as_it_lies.hpp"
#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/ranges.hpp"
#include "lastbit/registry.hpp"
#include "toolchains/quality.hpp"
#include "toolchains/ranges/choices.hpp"

namespace lastbit {
namespace {

const Quantizer& quantizer_of(const SpecSheet& sheet) {
  if (!sheet.quantizer.empty()) return find_quantizer(sheet.quantizer);
  std::string able;
  for (const SpecSheet& other : builtin_backends()) {
    if (!other.quantizer.empty()) able += (able.empty() ? "" : ", ") + other.name;
  }
  throw Error(ErrorCode::bad_input, "backend " + sheet.name, "no quantiser prepares a network for it; one does for: " + able);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) line += (line.empty() ? "" : ", ") + text;
  return line;
}

QuantizerOptions completed(const Quantizer& quantizer, const QuantizerOptions& given) {
  QuantizerOptions complete;
  std::vector<std::string> names;
  std::vector<Diagnostic> problems;
  for (const QuantizerOption& option : quantizer.options) {
    complete[option.name] = option.default_value;
    names.push_back(option.name);
  }
  for (const auto& [name, value] : given) {
    const auto option = std::ranges::find(quantizer.options, name, &QuantizerOption::name);
    const std::string where = "option " + name + "=" + value;
    if (option == quantizer.options.end()) {
      problems.push_back({ErrorCode::bad_input, where,
                          "quantiser " + quantizer.name + (names.empty() ? " has no options" : " has the options " + joined(names)) +
                              did_you_mean(name, names)});
    } else if (!option->values.empty() && std::ranges::find(option->values, value) == option->values.end()) {
      problems.push_back({ErrorCode::bad_input, where, "allowed: " + joined(option->values) + did_you_mean(value, option->values)});
    }
    complete[name] = value;
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return complete;
}

/// Samples of the model's own types become the real values that they stand for.
std::vector<std::vector<Tensor>> real_samples(const Model& model, std::span<const std::vector<Tensor>> samples) {
  std::vector<std::vector<Tensor>> real;
  for (const std::vector<Tensor>& sample : samples) {
    std::vector<Tensor>& tensors = real.emplace_back();
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const bool is_own = i < model.inputs.size() && sample[i].type() == model.tensor(model.inputs[i]).type;
      tensors.push_back(is_own ? dequantized(sample[i], model.tensor(model.inputs[i]).quantization) : sample[i]);
    }
  }
  return real;
}

std::vector<std::string> notes_on(const Model& model, const Calibration& calibration) {
  std::vector<std::string> notes;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const std::int64_t bad = calibration.tensors[t].non_finite;
    if (bad > 0)
      notes.push_back(count_of(bad, "value") + " of '" + model.tensors[t].name + (bad == 1 ? "' is" : "' are") +
                      " infinite or NaN in the float network");
  }
  return notes;
}

void require_comparable(const Model& real, const Model& device) {
  const bool same = real.inputs.size() == device.inputs.size() && real.outputs.size() == device.outputs.size();
  if (!same) throw Error(ErrorCode::bad_input, device.name, "the quantiser changed the number of inputs or outputs");
}

void require_ranges_taken(const RangeChoices& ranges, const RangeFile& given, const Quantizer& quantizer) {
  if (given.ranges.empty() || ranges.was_asked()) return;
  throw Error(ErrorCode::bad_input, given.path, "quantiser " + quantizer.name + " takes no ranges: its data have no scale");
}

/// The worst of the network's outputs.
std::string output_sqnr(const QuantizationReport& report) {
  double worst = INFINITY;
  for (const OutputAgreement& output : report.outputs) {
    const auto tensor = std::ranges::find(report.tensors, output.name, &TensorQuality::name);
    if (tensor != report.tensors.end()) worst = std::min(worst, tensor->sqnr_db);
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f dB", worst);
  return text.data();
}

/// What the vendor's own compiler would do to this network, and what that costs.
std::vector<std::string> notes_on_compiler(const Quantizer& quantizer, const Model& quantized, const QuantizationReport& report,
                                           const std::function<QuantizationReport(const Model&)>& judge) {
  const auto other = quantizer.compiled != nullptr && report.samples > 0 ? quantizer.compiled(quantized) : std::nullopt;
  if (!other) return {};
  return {other->what + ": SQNR of the output " + output_sqnr(judge(other->model)) + " there, " + output_sqnr(report) +
          " as the network means it; --set " + other->option + " makes that model"};
}

}  // namespace

std::optional<OtherCompilation> compiled_otherwise(const Model& quantized, const Device& sheet) {
  if (sheet.quantizer.empty()) return std::nullopt;
  Model meant = quantized;
  std::string names;
  for (Operation& operation : meant.operations) {
    const auto tensor = meant_by(quantized, operation);
    if (!tensor) continue;
    read_as_meant(operation, *tensor);
    names += (names.empty() ? "'" : ", '") + quantized.tensor(*tensor).name + "'";
  }
  if (!names.empty()) return OtherCompilation{std::move(meant), "the network means " + names + ", not its memory as it lies", ""};
  const Quantizer& quantizer = find_quantizer(sheet.quantizer);
  return quantizer.compiled != nullptr ? quantizer.compiled(quantized) : std::nullopt;
}

QuantizationResult quantize(const Model& model, const Device& sheet, std::span<const std::vector<Tensor>> samples,
                            const QuantizerOptions& options, int threads) {
  return quantize(model, sheet, samples, options, threads, RangeFile{}).result;
}

RangedQuantization quantize(const Model& model, const Device& sheet, std::span<const std::vector<Tensor>> samples,
                            const QuantizerOptions& options, int threads, const RangeFile& given) {
  const Quantizer& quantizer = quantizer_of(sheet);
  const QuantizerOptions complete = completed(quantizer, options);
  if (samples.empty() && given.ranges.empty()) throw Error(ErrorCode::bad_input, "calibration", "at least one sample is needed");
  const Model real = float_network(model);
  RangeChoices ranges(real, given);
  const std::vector<std::vector<Tensor>> real_inputs = real_samples(model, samples);
  const Calibration calibration = calibrate(real, real_inputs, quantizer.histogram_bins, threads);
  QuantizedNetwork network = quantizer.quantize({real, sheet.backend, calibration, complete, real_inputs, ranges});
  require_ranges_taken(ranges, given, quantizer);
  ranges.require_complete();
  validate(network.model, "quantised " + network.model.name);
  require_comparable(real, network.model);
  const std::vector<Diagnostic> refusals = check(network.model, sheet.backend);
  if (!refusals.empty()) throw Error(refusals);
  RangedQuantization ranged{{std::move(network.model), {}}, ranges.chosen()};
  QuantizationReport& report = ranged.result.report;
  report = quality_of(real, calibration, ranged.result.model, sheet, real_inputs);
  report.quantizer = quantizer.name;
  report.options = complete;
  report.notes = ranges.notes();
  const auto judge = [&](const Model& other) { return quality_of(real, calibration, other, sheet, real_inputs); };
  for (const auto& notes : {notes_on(real, calibration), network.notes, notes_on_compiler(quantizer, ranged.result.model, report, judge)})
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  return ranged;
}

}  // namespace lastbit
