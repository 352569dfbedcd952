// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/compare.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/runs.hpp"
#include "compare/trace_index.hpp"
#include "engine/batch.hpp"
#include "engine/for_each_index.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/sums_on.hpp"
#include "sheet/assumed_rules.hpp"

namespace lastbit {
namespace {

/// How many leading samples both hold, where they differ in nothing but the number of samples: without an axis of them it is one.
std::optional<std::int64_t> common_samples(const Shape& a, const Shape& b) {
  const auto is_one_of = [](const Shape& one, const Shape& several) {
    return several.rank() == one.rank() + 1 && std::ranges::equal(several.sizes().subspan(1), one.sizes());
  };
  if (is_one_of(a, b) || is_one_of(b, a)) return 1;
  const bool alike = a.rank() == b.rank() && a.rank() > 1 && std::ranges::equal(a.sizes().subspan(1), b.sizes().subspan(1));
  if (!alike) return std::nullopt;
  return std::min(a[0], b[0]);
}

Tensor first_samples(const Tensor& batch, std::int64_t samples) {
  std::vector<std::int64_t> sizes(batch.shape().sizes().begin(), batch.shape().sizes().end());
  sizes[0] = samples;
  Tensor first(batch.type(), Shape(std::move(sizes)));
  std::memcpy(first.bytes().data(), batch.bytes().data(), first.bytes().size());
  return first;
}

/// Calls judge(a, b) with as many samples as both hold, and returns what it says. Throws Error where the shapes do not fit.
template <class Judge>
auto on_common_samples(std::string_view name, const Tensor& a, const Tensor& b, Judge&& judge) {
  if (a.element_count() == b.element_count()) return judge(a, b);
  const auto samples = common_samples(a.shape(), b.shape());
  if (!samples) {
    throw Error(ErrorCode::shape_mismatch, "tensor '" + std::string(name) + "'",
                "shape " + a.shape().text() + " on side a, " + b.shape().text() + " on side b");
  }
  const std::size_t rank = std::max(a.shape().rank(), b.shape().rank());
  const auto is_whole = [&](const Tensor& tensor) { return tensor.shape().rank() < rank || tensor.shape()[0] == *samples; };
  return judge(is_whole(a) ? a : first_samples(a, *samples), is_whole(b) ? b : first_samples(b, *samples));
}

LayerDifference compare_layer(const NamedTensor& a, const NamedTensor& b) {
  LayerDifference layer{b.index, b.number ? b.number : a.number, b.name, b.operation, {}, std::nullopt, std::nullopt, {}, std::nullopt};
  if (a.values.element_count() != b.values.element_count()) layer.samples = common_samples(a.values.shape(), b.values.shape());
  layer.accumulated = on_common_samples(b.name, a.values, b.values, [&](const Tensor& expected, const Tensor& judged) {
    return difference(expected, a.quantization, judged, b.quantization);
  });
  return layer;
}

/// Tensors of `trace` that no layer speaks of.
std::vector<std::string> names_without_layer(const NamedTrace& trace, const CompareReport& report) {
  std::unordered_set<std::string_view> compared;
  for (const LayerDifference& layer : report.layers) compared.insert(layer.name);
  std::vector<std::string> names;
  for (const NamedTensor& tensor : trace.tensors)
    if (!compared.contains(tensor.name)) names.push_back(tensor.name);
  return names;
}

/// The layers of a report by the index of their tensor.
class Layers {
 public:
  explicit Layers(CompareReport& report) {
    for (LayerDifference& layer : report.layers) by_tensor_.emplace(layer.tensor, &layer);
  }
  [[nodiscard]] LayerDifference* of(std::int32_t tensor) const {
    const auto found = by_tensor_.find(tensor);
    return found == by_tensor_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::int32_t, LayerDifference*> by_tensor_;
};

/// Side a's tensors as b's operation reads them: one pointer per input, null for constants and absent ones. Float wants real values.
class Feed {
 public:
  /// False where `a` lacks a tensor or holds it in a type, or means by its codes what cannot be fed.
  bool gather(const Model& model, const Operation& operation, const TraceIndex& a) {
    for (const std::int32_t index : operation.inputs) {
      Input& input = inputs_.emplace_back();
      if (index == absent_tensor || model.tensor(index).constant) continue;
      const ModelTensor& wanted = model.tensor(index);
      const NamedTensor* const given = a.counterpart(index, wanted.name);
      if (given == nullptr) return false;
      const bool to_real = wanted.type == ElementType::float32;
      if (!to_real && (given->values.type() != wanted.type || given->quantization != wanted.quantization)) return false;
      const std::int64_t samples = given->values.element_count() / wanted.shape.element_count();
      if (samples < 1 || (samples_ && samples != *samples_)) return false;
      samples_ = samples;
      if (to_real) input.real = dequantized(given->values, given->quantization);
      else input.given = &given->values;
      if (input.batch().shape() != wanted.shape) input.sample = Tensor(wanted.type, wanted.shape);
    }
    return samples_.has_value();
  }

  [[nodiscard]] std::int64_t samples() const { return *samples_; }

  [[nodiscard]] std::vector<const Tensor*> sample(std::int64_t number) {
    std::vector<const Tensor*> tensors;
    for (Input& input : inputs_) tensors.push_back(input.is_fed() ? &input.at(number) : nullptr);
    return tensors;
  }

 private:
  struct Input {
    const Tensor* given = nullptr;
    std::optional<Tensor> real, sample;  ///< where it is given as codes; where what is given has another shape than one sample

    [[nodiscard]] bool is_fed() const { return given != nullptr || real; }
    [[nodiscard]] const Tensor& batch() const { return real ? *real : *given; }
    [[nodiscard]] const Tensor& at(std::int64_t number) {
      if (!sample) return batch();
      const auto bytes = sample->bytes();
      std::memcpy(bytes.data(), batch().bytes().data() + static_cast<std::size_t>(number) * bytes.size(), bytes.size());
      return *sample;
    }
  };
  std::vector<Input> inputs_;
  std::optional<std::int64_t> samples_;
};

/// One operation of b on every sample of a's tensors: its outputs, each with the samples one after the other.
std::vector<Tensor> run_on(const Emulator& b, std::size_t operation, Feed& feed) {
  std::vector<Tensor> all;
  for (std::int64_t sample = 0; sample < feed.samples(); ++sample) {
    std::vector<Tensor> outputs = b.run_operation(operation, feed.sample(sample));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      Tensor& output = outputs[o];
      const Shape shape = with_samples(output.shape(), feed.samples());
      if (feed.samples() == 1) {
        output.reshape(shape);
        all.push_back(std::move(output));
        continue;
      }
      if (sample == 0) all.emplace_back(output.type(), shape);
      const auto bytes = output.bytes();
      std::memcpy(all[o].bytes().data() + static_cast<std::size_t>(sample) * bytes.size(), bytes.data(), bytes.size());
    }
  }
  return all;
}

ElementMetrics against_golden(const NamedTensor& tensor, const NamedTensor& golden) {
  return on_common_samples(tensor.name, golden.values, tensor.values, [&](const Tensor& expected, const Tensor& judged) {
    return real_metrics(judged, tensor.quantization, expected, golden.quantization);
  });
}

/// All that a comparison holds at a time, before the first run of it.
void require_budget(const Model& model, std::vector<const Backend*> runs, std::span<const Tensor> inputs, const CompareOptions& options) {
  if (options.golden == Golden::with) runs.push_back(&golden_sheet().backend);
  require_memory(model, runs, inputs, options.threads);
}

struct Side {
  std::optional<Emulator> emulator;
  NamedTrace trace;
};

/// Samples are shared among the threads; of a single one both sides.
std::array<Side, 2> run_both(const Model& model, const std::array<const SpecSheet*, 2>& sheets, std::span<const Tensor> inputs,
                             int threads) {
  std::array<Side, 2> sides;
  const auto run = [&](std::size_t side) {
    const Emulator& emulator = sides[side].emulator.emplace(model, sheets[side]->backend);
    sides[side].trace = run_all(emulator, *sheets[side], inputs, threads);
  };
  for_each_index(sides.size(), run, is_batch(model, inputs));
  return sides;
}

/// Everything that needs the model, of side b's own run.
CompareReport compare_with_run(const Model& model, const NamedTrace& a, const NamedTrace& trace_b, const Emulator& emulator,
                               std::span<const Tensor> inputs, const CompareOptions& options) {
  CompareReport report = compare_traces(a, trace_b);
  add_same_input(report, a, emulator);
  add_outputs(report, model, a, trace_b);
  if (options.golden == Golden::with) {
    const Emulator golden(model, golden_sheet().backend);
    add_golden(report, a, trace_b, run_all(golden, golden_sheet(), inputs, options.threads));
  }
  return report;
}

}  // namespace

DumpRequirement dump_requirement_from(const std::string& text, const std::string& where) {
  if (text == "all") return {.outputs = true, .percent = 100};
  if (text == "outputs") return {.outputs = true, .percent = 0};
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, percent);
  const bool is_share = error == std::errc() && next + 1 == end && *next == '%' && percent >= 0 && percent <= 100;
  if (!is_share) throw Error(ErrorCode::bad_input, where, "must be all, outputs, or a share of the tensors such as 80%");
  return {.outputs = false, .percent = percent};
}

bool DumpMatch::enough() const {
  if (required) {
    const bool has_outputs = no_output.empty() && !no_samples_of_output;
    const double needed = required->percent * static_cast<double>(computed);
    return matched > 0 && (!required->outputs || has_outputs) && 100 * (static_cast<double>(matched) - lacking) >= needed;
  }
  const bool says_all = no_output.empty() || 2 * matched >= computed;
  return matched > 0 && says_all && static_cast<std::int64_t>(unfit_files.size()) <= matched;
}

bool CompareReport::equal() const { return first_divergence() == nullptr && misread.empty() && (!match || match->enough()); }

const LayerDifference* CompareReport::first_divergence() const {
  const auto found = std::find_if(layers.begin(), layers.end(), [](const auto& layer) { return layer.accumulated.differing > 0; });
  return found == layers.end() ? nullptr : &*found;
}

CompareReport compare_traces(const NamedTrace& a, const NamedTrace& b) {
  CompareReport report{b.model, a.backend, b.backend, b.path, {}, {}, a.assumptions, {}, {}};
  for (const Assumption& assumption : b.assumptions) add_once(report.assumptions, assumption);
  const TraceIndex of_a(a);
  std::vector<std::pair<const NamedTensor*, const NamedTensor*>> pairs;
  for (const NamedTensor& tensor : b.tensors)
    if (const NamedTensor* const other = of_a.counterpart(tensor.index, tensor.name)) pairs.emplace_back(other, &tensor);
  report.layers.resize(pairs.size());
  for_each_index(pairs.size(), [&](std::size_t i) { report.layers[i] = compare_layer(*pairs[i].first, *pairs[i].second); });
  if (report.layers.empty()) throw Error(ErrorCode::bad_input, "compare", "no tensor of one side has the name of a tensor of the other");
  report.only_in_a = names_without_layer(a, report);
  report.only_in_b = names_without_layer(b, report);
  return report;
}

void add_same_input(CompareReport& report, const NamedTrace& a, const Emulator& b) { add_same_input(report, a, a, b); }

void add_same_input(CompareReport& report, const NamedTrace& fed, const NamedTrace& expected, const Emulator& b) {
  const Model& model = b.model();
  const TraceIndex inputs(fed), truths(expected);
  const Layers layers(report);
  for_each_index(model.operations.size(), [&](std::size_t i) {
    const Operation& operation = model.operations[i];
    const bool wanted =
        std::any_of(operation.outputs.begin(), operation.outputs.end(), [&](auto index) { return layers.of(index) != nullptr; });
    Feed feed;
    if (!wanted || !feed.gather(model, operation, inputs)) return;
    std::vector<Tensor> outputs = run_on(b, i, feed);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const ModelTensor& tensor = model.tensor(operation.outputs[o]);
      LayerDifference* const layer = layers.of(operation.outputs[o]);
      const NamedTensor* const truth = truths.counterpart(operation.outputs[o], tensor.name);
      if (layer == nullptr || truth == nullptr) continue;
      Tensor& output = outputs[o];
      if (output.element_count() == truth->values.element_count()) output.reshape(truth->values.shape());
      const Quantization quantization = quantization_in(tensor, output.shape());
      layer->same_input = on_common_samples(tensor.name, truth->values, output, [&](const Tensor& wanted_values, const Tensor& judged) {
        return difference(wanted_values, truth->quantization, judged, quantization);
      });
    }
  });
}

void add_golden(CompareReport& report, const NamedTrace& trace_a, const NamedTrace& trace_b, const NamedTrace& golden) {
  const TraceIndex a(trace_a), b(trace_b), truths(golden);
  report.golden = golden.backend;
  for (LayerDifference& layer : report.layers) {
    const NamedTensor* const of_a = a.counterpart(layer.tensor, layer.name);
    const NamedTensor* const of_b = b.counterpart(layer.tensor, layer.name);
    const NamedTensor* const truth = truths.counterpart(layer.tensor, layer.name);
    if (of_a == nullptr || of_b == nullptr || truth == nullptr) continue;
    layer.golden = GoldenMetrics{against_golden(*of_a, *truth), against_golden(*of_b, *truth)};
  }
}

void add_outputs(CompareReport& report, const Model& model, const NamedTrace& trace_a, const NamedTrace& trace_b) {
  const TraceIndex a(trace_a), b(trace_b);
  for (const std::int32_t output : model.outputs) {
    const ModelTensor& tensor = model.tensor(output);
    const NamedTensor* const of_a = a.counterpart(output, tensor.name);
    const NamedTensor* const of_b = b.counterpart(output, tensor.name);
    const std::int64_t values = tensor.shape.element_count();
    if (of_a == nullptr || of_b == nullptr || values < 2) continue;
    const auto top_a = top_positions(of_a->values, values);
    const auto top_b = top_positions(of_b->values, values);
    const std::size_t samples = std::min(top_a.size(), top_b.size());
    OutputAgreement agreement{tensor.name, static_cast<std::int64_t>(samples), 0};
    for (std::size_t i = 0; i < samples; ++i) agreement.same_top += top_a[i] == top_b[i] ? 1 : 0;
    report.outputs.push_back(std::move(agreement));
  }
}

void add_assumptions(CompareReport& report, const Model& model, const Devices& devices) {
  const Layers layers(report);
  const std::span<const SpecSheet> sides = devices.sheets();
  const std::vector<AssumedRules> assumed(sides.begin(), sides.end());
  for (const Operation& operation : model.operations) {
    std::vector<Assumption> assumptions;
    for (std::size_t side = 0; side < sides.size(); ++side) {
      for (const Assumption& assumption : assumed[side].read_by(model, operation, sides[side].backend)) add_once(assumptions, assumption);
    }
    for (const std::int32_t output : operation.outputs) {
      if (LayerDifference* const layer = layers.of(output)) layer->assumptions = assumptions;
    }
  }
}

void add_not_emulated(CompareReport& report, const Model& model, const Devices& sides) {
  for (const SpecSheet& side : sides.sheets()) {
    for (std::string& line : computed_elsewhere(model, side)) report.elsewhere.push_back(std::move(line));
    const std::size_t count = float32_operations(model, side.backend).size();
    if (count == 0) continue;
    report.not_emulated.push_back(side.name + ": " + float_path_text(count, model));
  }
}

CompareReport compare_backends(const Model& model, const Device& a, const Device& b, std::span<const Tensor> inputs,
                               const CompareOptions& options) {
  require_budget(model, {&a.backend, &b.backend}, inputs, options);
  CompareReport report;
  with_threads(options.threads, [&] {
    const std::array<Side, 2> sides = run_both(model, {&a, &b}, inputs, options.threads);
    report = compare_with_run(model, sides[0].trace, sides[1].trace, *sides[1].emulator, inputs, options);
  });
  add_assumptions(report, model, {a, b});
  add_not_emulated(report, model, {a, b});
  return report;
}

namespace {

/// Of a run of so many samples.
DumpMatch match_of(const Model& model, const NamedTrace& dump, const NamedTrace& run) {
  const TraceIndex of_dump(dump), of_run(run);
  const auto samples_of = [&](const TraceIndex& trace, std::int32_t index) {
    const NamedTensor* const found = trace.counterpart(index, model.tensor(index).name);
    return found == nullptr ? 0 : found->values.element_count() / model.tensor(index).shape.element_count();
  };
  DumpMatch match;
  for (const Operation& operation : model.operations) {
    for (const std::int32_t output : operation.outputs) {
      ++match.computed;
      const std::string& name = model.tensor(output).name;
      const std::int64_t held = samples_of(of_dump, output), computed = std::max<std::int64_t>(samples_of(of_run, output), 1);
      if (held == 0) match.missing.push_back(name);
      else ++match.matched;
      if (held == 0 || held >= computed) continue;
      match.lacking += 1 - static_cast<double>(held) / static_cast<double>(computed);
      match.short_of.push_back("'" + name + "' (" + std::to_string(held) + " of " + count_of(computed, "sample") + ")");
      match.no_samples_of_output |= std::ranges::find(model.outputs, output) != model.outputs.end();
    }
  }
  for (const std::int32_t output : model.outputs) {
    if (samples_of(of_dump, output) == 0) match.no_output.push_back(model.tensor(output).name);
  }
  match.unfit_files = dump.unfit;
  match.readings = dump.readings;
  return match;
}

}  // namespace

DumpMatch match_of(const Model& model, const NamedTrace& dump) { return match_of(model, dump, dump); }

const SpecSheet& golden_sheet() {
  const auto& sheets = builtin_backends();
  return *std::find_if(sheets.begin(), sheets.end(), [](const SpecSheet& sheet) { return sheet.backend.domain == Domain::real; });
}

NamedTrace run_all(const Emulator& emulator, const SpecSheet& sheet, std::span<const Tensor> inputs, int threads) {
  return named(emulator.run(inputs, {.threads = threads, .keep_all = true, .count_events = false}), emulator.model(), sheet);
}

std::vector<Tensor> inputs_in_dump(const Model& model, const NamedTrace& dump) {
  std::vector<Tensor> inputs;
  const TraceIndex of_dump(dump);
  for (const std::int32_t input : model.inputs) {
    const NamedTensor* const found = of_dump.counterpart(input, model.tensor(input).name);
    if (found == nullptr) {
      throw Error(ErrorCode::bad_input, "input '" + model.tensor(input).name + "'", "neither given nor in the dump");
    }
    inputs.push_back(found->values);
  }
  return inputs;
}

CompareReport compare_dump_with_run(const Model& model, const NamedTrace& dump, const SpecSheet& b, const DumpedRun& run,
                                    const CompareOptions& options) {
  CompareReport report = compare_with_run(model, dump, run.trace, run.emulator, run.inputs, options);
  report.match = match_of(model, dump, run.trace);
  report.match->required = options.required;
  add_assumptions(report, model, {b});
  add_not_emulated(report, model, {b});
  return report;
}

CompareReport compare_with_dump(const Model& model, const NamedTrace& dump, const Device& b, std::span<const Tensor> inputs,
                                const CompareOptions& options) {
  const std::vector<Tensor> own = inputs.empty() ? inputs_in_dump(model, dump) : std::vector<Tensor>();
  if (inputs.empty()) inputs = own;
  require_budget(model, {&b.backend}, inputs, options);
  const Emulator emulator(model, b.backend);
  const NamedTrace trace = run_all(emulator, b, inputs, options.threads);
  return compare_dump_with_run(model, dump, b, {emulator, trace, inputs}, options);
}

}  // namespace lastbit
