// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/advise.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/advise/float16_rescaling.hpp"
#include "analysis/advise/search.hpp"
#include "analysis/advise/side.hpp"
#include "engine/held_codes.hpp"
#include "engine/parallel.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit {
namespace {

using Samples = std::vector<std::vector<Tensor>>;

constexpr std::int64_t most_layer_values = 4'000'000;  ///< of all layers together; bounds the samples that single layers are fed with

/// The network with the tensor of this name as its only output.
void judge_at(Model& model, const std::string& name) {
  const Operation& operation = model.operations[operation_called(model, name, "advise: --at")];
  const auto tensor = model.find_tensor(name);
  const bool named = tensor && std::ranges::find(operation.outputs, *tensor) != operation.outputs.end();
  model.outputs = {named ? *tensor : operation.outputs[0]};
}

bool has_float16(const Backend& backend) { return backend.domain == Domain::integer && backend.float16.method != Float16Method::absent; }

bool is_half_network(const Model& model) {
  return std::ranges::any_of(model.tensors, [](const ModelTensor& tensor) { return tensor.type == ElementType::float16; });
}

/// As real values.
Samples real_samples(const Model& model, std::span<const std::vector<Tensor>> samples) {
  Samples real;
  for (const std::vector<Tensor>& sample : samples) {
    require_sample(model, sample);
    std::vector<Tensor>& tensors = real.emplace_back();
    for (std::size_t i = 0; i < sample.size(); ++i) tensors.push_back(dequantized(sample[i], model.tensor(model.inputs[i]).quantization));
  }
  return real;
}

/// What b has of an operation fed with a's tensors, over some samples.
struct OwnDifference {
  std::int64_t values = 0, differing = 0;
  double error_energy = 0, energy = 0;
};

class Adviser {
 public:
  Adviser(Model model, const SpecSheet& a, const SpecSheet& b, Samples samples, const AdviseOptions& options)
      : model_(std::move(model)),
        a_(a),
        b_(b),
        samples_(std::move(samples)),
        options_(options),
        judge_(model_, a.backend, b.backend, samples_, options.threads) {
    if (!judge_.layers().empty()) return;
    const std::vector<Diagnostic>& missing = judge_.run().missing();
    throw Error(ErrorCode::unsupported_operation, b.name,
                "none of the network's layers runs there" + (missing.empty() ? "" : "; " + missing.front().text()));
  }

  AdviseReport run(bool float16) {
    AdviseReport& report = report_;
    report.float16 = float16;
    report.objective = options_.objective.value_or(float16 ? Objective::relative_error : Objective::differing);
    describe();
    report.search = search_with(model_, judge_, report.objective, options_);
    add_layers();
    if (float16) report.halves = advise_float16(model_, a_.backend, b_.backend, samples_);
    else add_scales();
    add_consequences();
    return std::move(report_);
  }

 private:
  void progress(std::string_view what, double done) const {
    if (options_.progress) options_.progress(what, done);
  }

  void describe() {
    report_.model = model_.name;
    report_.a = a_.name;
    report_.a_is_real = a_.backend.domain == Domain::real;
    report_.b = b_.name;
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      report_.names.push_back(layer_name(model_, i));
      report_.own_names.push_back(model_.operations[i].name);
      report_.macs += multiply_accumulates(model_, model_.operations[i]);
    }
    for (const std::int32_t output : model_.outputs)
      report_.judged_at += (report_.judged_at.empty() ? "" : ", ") + model_.tensor(output).name;
    report_.samples = static_cast<std::int64_t>(samples_.size());
    report_.missing = judge_.run().missing();
    for (const Assumption& assumption : assumptions_of(model_, a_)) add_once(report_.assumptions, assumption);
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      if (judge_.run().only_on_a()[i]) {  // nothing of the device's computes it
        report_.only_on_a.push_back(i);
        continue;
      }
      for (const Assumption& assumption : assumptions_of(model_, model_.operations[i], b_)) add_once(report_.assumptions, assumption);
    }
  }

  [[nodiscard]] std::size_t layer_samples() const {
    std::int64_t values = 1;
    for (const std::size_t layer : judge_.layers()) values += model_.tensor(model_.operations[layer].outputs[0]).shape.element_count();
    return static_cast<std::size_t>(std::clamp<std::int64_t>(most_layer_values / values, 1, static_cast<std::int64_t>(samples_.size())));
  }

  void add_layers() {
    const Side a(model_, a_.backend), b(model_, b_.backend);
    const std::size_t count = layer_samples();
    report_.layer_samples = static_cast<std::int64_t>(count);
    const OperationSet all(model_.operations.size(), true);
    judge_.run().reset_states();
    std::vector<std::vector<std::optional<Tensor>>> traces;
    for (std::size_t s = 0; s < count; ++s) traces.push_back(judge_.run().tensors(samples_[s], all));
    std::vector<std::optional<TieCensus>> ties(model_.operations.size());
    if (!report_.float16) ties = tie_census(model_, a_, b_, options_.threads);
    const std::vector<std::size_t> layers = judge_.layers();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      add_layer(layers[i], a, b, traces, ties[layers[i]]);
      progress("layers", static_cast<double>(i + 1) / static_cast<double>(layers.size()));
    }
  }

  void add_layer(std::size_t position, const Side& a, const Side& b, const std::vector<std::vector<std::optional<Tensor>>>& traces,
                 const std::optional<TieCensus>& ties) {
    const Operation& operation = model_.operations[position];
    const bool reached =
        std::ranges::all_of(operation.outputs, [&](std::int32_t index) { return traces[0][static_cast<std::size_t>(index)].has_value(); });
    if (!reached) return;  // behind the tensor that is judged
    LayerAdvice layer;
    layer.operation = position;
    layer.name = layer_name(model_, position);
    layer.kind = name_of(operation.kind);
    layer.macs = multiply_accumulates(model_, operation);
    OwnDifference own;
    for (const auto& trace : traces) add_own(own, operation, position, a, b, trace);
    layer.values = own.values;
    layer.differing = own.differing;
    layer.error = own.error_energy == 0 ? 0 : std::sqrt(own.error_energy / own.energy);
    const auto alone = std::ranges::find_if(report_.search.alone, [&](const FallbackPoint& at) { return at.operations[0] == position; });
    if (alone != report_.search.alone.end()) layer.alone = alone->agreement;
    layer.ties = ties;
    report_.layers.push_back(std::move(layer));
  }

  /// Both sides get what b would read; a's result is taken as b would hold it.
  void add_own(OwnDifference& own, const Operation& operation, std::size_t position, const Side& a, const Side& b,
               const std::vector<std::optional<Tensor>>& trace) {
    std::vector<Tensor> for_a(operation.inputs.size()), for_b(operation.inputs.size());
    std::vector<const Tensor*> of_a(operation.inputs.size()), of_b(operation.inputs.size());
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const std::int32_t index = operation.inputs[i];
      if (index == absent_tensor || !trace[static_cast<std::size_t>(index)]) continue;
      for_b[i] = b.in_form(*trace[static_cast<std::size_t>(index)], index);
      for_a[i] = a.in_form(for_b[i], index);
      of_a[i] = &for_a[i];
      of_b[i] = &for_b[i];
    }
    const std::vector<Tensor> expected = a.run(position, of_a), found = b.run(position, of_b);
    for (std::size_t o = 0; o < found.size(); ++o) {
      const Quantization& quantization = model_.tensor(operation.outputs[o]).quantization;
      const TensorDifference d = difference(b.in_form(expected[o], operation.outputs[o]), quantization, found[o], quantization);
      own.values += d.values;
      own.differing += d.differing;
      const Tensor truth = dequantized(expected[o], quantization), mine = dequantized(found[o], quantization);
      for (std::size_t i = 0; i < truth.values<float>().size(); ++i) {
        const double y = truth.values<float>()[i], x = mine.values<float>()[i];
        own.error_energy += (x - y) * (x - y);
        own.energy += y * y;
      }
    }
  }

  void add_scales() {
    if (report_.a_is_real || report_.equal()) return;
    report_.scales = equal_scales(model_, a_, b_, options_);
    const bool any = std::ranges::any_of(report_.scales->layers, [](const ScaleAdvice& layer) { return layer.factor != 1; });
    if (!any) return;
    report_.all_scales = agreement_with(report_.scales->model);
    report_.sqnr_db_before = sqnr_db_of(model_);
    report_.sqnr_db_after = sqnr_db_of(report_.scales->model);
  }

  /// b's outputs against a's, of another model for the same samples.
  [[nodiscard]] Agreement agreement_with(const Model& model) const {
    Judge judge(model, a_.backend, b_.backend, samples_);
    Agreement total;
    for (const Agreement& one : judge.judge({}, samples_.size())) total.add(one);
    return total;
  }

  [[nodiscard]] double sqnr_db_of(const Model& model) const {
    Judge judge(model, float_golden, b_.backend, samples_);
    Agreement total;
    for (const Agreement& one : judge.judge({}, samples_.size())) total.add(one);
    return -20 * std::log10(total.relative_error());
  }

  void add_consequences() {
    const std::vector<FallbackPoint>& front = report_.search.by_count;
    const double nothing = cost_of(front.front().agreement, report_.objective);
    add_consequence("the device alone", front.front());
    const auto first_below = [&](double share) {
      return std::ranges::find_if(front,
                                  [&](const FallbackPoint& at) { return cost_of(at.agreement, report_.objective) <= share * nothing; });
    };
    if (nothing == 0) return;
    const auto half = first_below(0.5), tenth = first_below(0.1), none = first_below(0);
    if (half != none && half != tenth) add_consequence("at most a half left", *half);
    if (tenth != none) add_consequence("at most a tenth left", *tenth);
    if (none != front.end()) add_consequence("nothing left", *none);
  }

  void add_consequence(const std::string& choice, const FallbackPoint& point) {
    Consequence consequence{choice, point.operations, {}, {}, {}};
    std::vector<double> distances;
    for (const Agreement& one : judge_.judge(point.operations, samples_.size())) {
      consequence.agreement.add(one);
      distances.push_back(one.distance_sum);
    }
    consequence.flips = wilson_interval(consequence.agreement.samples - consequence.agreement.same_top, consequence.agreement.samples);
    consequence.distance = bootstrap_interval(distances);
    report_.consequences.push_back(std::move(consequence));
  }

  Model model_;
  const SpecSheet& a_;
  const SpecSheet& b_;
  Samples samples_;
  const AdviseOptions& options_;
  Judge judge_;
  AdviseReport report_;
};

/// Codes that pass from one side to the other have one meaning. Returns whether a side with this fusion would give them another.
bool forget_merged_pairs(Model& model, Fusion fusion) {
  const bool merges = with_merged_pairs(model, fusion).has_value();
  if (merges)
    for (ModelTensor& tensor : model.tensors) tensor.merged.reset();
  return merges;
}

}  // namespace

AdviseReport advise(const Model& model, const Device& a, const Device& b, std::span<const std::vector<Tensor>> samples,
                    const AdviseOptions& options) {
  if (samples.empty()) throw Error(ErrorCode::bad_input, "advise", "at least one sample is needed");
  const bool float16 = has_float16(b.backend) && !is_half_network(model);
  if (float16 && a.backend.domain != Domain::real)
    throw Error(ErrorCode::bad_input, "advise", b.name + " computes a float network in float16: it can only be judged against float");
  Model judged = float16 ? float_network(model) : model;
  if (!options.judged_at.empty()) judge_at(judged, options.judged_at);
  const bool merges = forget_merged_pairs(judged, a.backend.fusion) || forget_merged_pairs(judged, b.backend.fusion);
  Samples given = float16 ? real_samples(model, samples) : Samples(samples.begin(), samples.end());
  Adviser adviser(std::move(judged), a, b, std::move(given), options);
  AdviseReport report;
  with_threads(options.threads, [&] { report = adviser.run(float16); });
  if (merges)
    add_once(report.assumptions, {"fusion", "pairs in a row are taken as the file states them, where the device makes one of both"});
  return report;
}

}  // namespace lastbit
