// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/prove.hpp"

#include <algorithm>
#include <map>

#include "analysis/prove/bounded.hpp"
#include "analysis/prove/chains.hpp"
#include "analysis/prove/float16.hpp"
#include "analysis/prove/overflow.hpp"
#include "analysis/prove/ranges.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/rules.hpp"
#include "sheet/assumed_rules.hpp"

namespace lastbit {
namespace {

void require_options(const Backend& backend, std::span<const Tensor> inputs, const ProveOptions& options) {
  if (options.bits && (*options.bits < 2 || *options.bits > 64))
    throw Error(ErrorCode::bad_input, "prove", "an accumulator has 2 to 64 bits, not " + std::to_string(*options.bits));
  if (options.range == InputRange::data && inputs.empty()) throw Error(ErrorCode::bad_input, "prove", "the range of the data needs inputs");
  if (backend.domain == Domain::real)
    throw Error(ErrorCode::unsupported_operation, "prove", "the float backend has no accumulators to prove");
}

/// The backend with the width that was asked about, in whatever the operation reads.
Backend asked_about(const Backend& backend, std::span<const Sums> sums, std::optional<int> bits) {
  Backend asked = backend;
  for (const Sums& each : sums) {
    if (bits && !each.rule_path.empty()) set_rule(asked, each.rule_path, std::to_string(*bits));
  }
  return asked;
}

void ask_for(Sums& sums, std::optional<int> bits) {
  if (!bits) return;
  sums.rule.bits = static_cast<std::uint8_t>(*bits);
  sums.has_width = true;
  if (sums.layer) sums.layer->arithmetic.sum.accumulator.bits = sums.rule.bits;
}

/// The rules that a proof rests on: how wide sums are and when they are narrowed; where one can leave, what then becomes of it as well.
std::vector<std::string> rules_of_proof(const std::string& width_path, bool safe) {
  if (width_path.empty()) return {};
  const std::string accumulator = width_path.substr(0, width_path.rfind('.'));
  if (!safe) return {accumulator};
  return {accumulator + ".bits", accumulator + ".when", accumulator + ".tile", accumulator + ".partial"};
}

/// The tensors of one run, sample by sample.
class Samples {
 public:
  Samples(const Model& model, const Trace& trace, bool batched) : model_(model), trace_(trace), batched_(batched) {}

  /// For every sample the operation's inputs, null for constants.
  [[nodiscard]] std::vector<std::vector<const Tensor*>> of(const Operation& operation) {
    tensors_.clear();
    std::vector<std::vector<const Tensor*>> samples;
    for (std::int64_t s = 0; s < count(); ++s) {
      std::vector<const Tensor*>& inputs = samples.emplace_back();
      for (const std::int32_t index : operation.inputs) {
        const bool given = index != absent_tensor && !model_.tensor(index).constant;
        inputs.push_back(given ? slice(index, s) : nullptr);
      }
    }
    return samples;
  }
  [[nodiscard]] std::int64_t count() const {
    return batched_ ? trace_.tensors[static_cast<std::size_t>(model_.outputs[0])]->shape()[0] : 1;
  }

 private:
  const Tensor* slice(std::int32_t index, std::int64_t sample) {
    const Tensor& all = *trace_.tensors[static_cast<std::size_t>(index)];
    if (!batched_) return &all;
    Tensor& one = *tensors_.emplace_back(std::make_unique<Tensor>(all.type(), model_.tensor(index).shape));
    const std::size_t size = one.bytes().size();
    std::ranges::copy(all.bytes().subspan(static_cast<std::size_t>(sample) * size, size), one.bytes().begin());
    return &one;
  }

  const Model& model_;
  const Trace& trace_;
  bool batched_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
};

class Prover {
 public:
  Prover(const Model& model, const SpecSheet& sheet, std::span<const Tensor> inputs, const ProveOptions& options)
      : stated_(model),
        sheet_(sheet),
        emulator_(model, sheet.backend),
        options_(options),
        asked_(operations_called(model, options.layer, "prove")) {
    report_.model = model.name;
    report_.backend = sheet.name;
    report_.range = options.range;
    report_.bits = options.bits;
    ranges_ = ranges_by_type(model);
    if (inputs.empty()) return;
    trace_ = emulator_.run(inputs, {.threads = options.threads, .keep_all = true});
    samples_.emplace(model, trace_, inputs[0].shape() != model.tensor(model.inputs[0]).shape);
    report_.samples = samples_->count();
    if (options.range == InputRange::data) ranges_ = ranges_on(model, trace_);
  }

  ProveReport prove() {
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      if (options_.on_progress) options_.on_progress(i, model_.operations.size());
      prove_operation(i);
    }
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool is_chosen(std::size_t index) const { return asked_.holds(index); }

  void prove_operation(std::size_t index) {
    const Operation& operation = model_.operations[index];
    const Placement* const placement = emulator_.placement(index);
    const SpecSheet& sheet = placement != nullptr ? placement->sheet : sheet_;
    if (sheet.backend.domain == Domain::real) {  // nothing is known of its results but their type
      if (is_chosen(index)) ++report_.without_sums;
      return;
    }
    std::vector<Sums> all = sums_of(model_, operation, sheet.backend, ranges_);
    const Backend asked = asked_about(sheet.backend, all, options_.bits);
    if (options_.bits) all = sums_of(model_, operation, asked, ranges_);
    if (all.empty() && is_chosen(index)) ++report_.without_sums;
    std::optional<IntegerRange> outputs;
    std::vector<IntegerRange> results;
    for (Sums& sums : all) {
      ask_for(sums, options_.bits);
      Bounded found = bounded(sums);
      if (&sums == &all.front()) results = found.results;
      if (is_conv_layer(operation.kind)) outputs = range_of_outputs(*sums.layer, found.results);
      if (!is_chosen(index)) continue;
      for (const Assumption& assumption : rules_of(sheet).read_by(model_, operation, rules_of_proof(sums.rule_path, found.proof.safe())))
        add_once(report_.assumptions, assumption);
      report_.layers.push_back(finished(std::move(found.proof), sums, index, asked));
    }
    if (is_chosen(index)) prove_stages(index, asked, all.empty() ? nullptr : &all.front(), results);
    if (options_.range == InputRange::type)
      put_range(operation, outputs ? *outputs : range_after(model_, operation, asked, ranges_), ranges_);
  }

  [[nodiscard]] const AssumedRules& rules_of(const SpecSheet& sheet) { return assumed_.try_emplace(&sheet, sheet).first->second; }

  /// Of the chains behind the sums, and on the way of operands, one entry for each that can leave.
  void prove_stages(std::size_t index, const Backend& asked, const Sums* sums, std::span<const IntegerRange> results) {
    const Operation& operation = model_.operations[index];
    const auto uses = chains_of(model_, operation, asked, ranges_, sums, results);
    bool followed = uses.has_value();
    const std::size_t first = report_.behind.size();
    for (const ChainUse& use : uses ? *uses : std::vector<ChainUse>{}) {
      StageFound found = leaving_stage(use);
      followed = followed && found.followed;
      if (!found.proof) continue;
      const auto is_same = [&](const StageProof& other) { return other.part == use.part && other.stage == found.proof->stage; };
      const auto known = std::find_if(report_.behind.begin() + static_cast<std::ptrdiff_t>(first), report_.behind.end(), is_same);
      if (known != report_.behind.end()) {
        ++known->channels;
        continue;
      }
      StageProof& proof = report_.behind.emplace_back(std::move(*found.proof));
      proof.operation = index;
      proof.name = layer_name(model_, index);
      proof.kind = std::string(name_of(operation.kind));
      show(proof, use, sums, asked);
    }
    if (!followed) report_.not_followed.push_back(index);
  }

  /// An input that does it, run with the events counted; and what is counted on the data.
  void show(StageProof& proof, const ChainUse& use, const Sums* sums, const Backend& asked) {
    const Model alone = extract_operation(stated_, proof.operation);
    const Emulator emulator(alone, asked);
    const auto events_of = [&](std::span<const Tensor* const> inputs) {
      Events events;
      static_cast<void>(emulator.run_operation(0, inputs, &events));
      return proof.wraps ? events.wrapped_stages : events.saturated_stages;
    };
    std::vector<std::vector<Tensor>> candidates;
    if (use.place) candidates.push_back(use.place(proof.entering));
    else if (sums != nullptr)
      for (const bool upper : {proof.entering == use.values.max, proof.entering != use.values.max})
        candidates.push_back(extreme_input(*sums, proof.channel, upper));
    for (std::vector<Tensor>& inputs : candidates) {
      if (inputs.empty() || proof.counted > 0) continue;
      const Trace trace = run(alone, asked, inputs, {.count_events = true});
      proof.counted = proof.wraps ? trace.events[0].wrapped_stages : trace.events[0].saturated_stages;
      if (proof.counted > 0) proof.inputs = std::move(inputs);
    }
    if (!samples_) return;
    proof.on_data = 0;
    for (const auto& sample : samples_->of(model_.operations[proof.operation])) *proof.on_data += events_of(sample);
  }

  LayerProof finished(LayerProof proof, const Sums& sums, std::size_t index, const Backend& asked) {
    const Operation& operation = model_.operations[index];
    const ModelTensor& output = model_.tensor(operation.outputs[0]);
    proof.operation = index;
    proof.name = layer_name(model_, index);
    proof.kind = std::string(name_of(operation.kind));
    proof.output = output.shape;
    proof.inputs = ranges_[static_cast<std::size_t>(operation.inputs[0])];
    if (proof.safe()) return proof;
    const Alone alone{extract_operation(stated_, index), asked};
    proof.example = overflow_example(sums, static_cast<std::int64_t>(proof.worst), alone);
    if (!samples_) return proof;
    std::vector<bool> safe;
    for (const ChannelProof& channel : proof.channels) safe.push_back(bits_for(channel.sums) <= proof.rule.bits);
    proof.on_data = count_overflows(sums, safe, alone, samples_->of(operation));
    return proof;
  }

  const Model& stated_;
  const SpecSheet& sheet_;
  const Emulator emulator_;
  const Model& model_ = emulator_.model();  ///< with the scales and zero points that the device computes with
  const ProveOptions& options_;
  Trace trace_;
  OperationRange asked_;
  std::optional<Samples> samples_;
  TensorRanges ranges_;
  std::map<const SpecSheet*, AssumedRules> assumed_;
  ProveReport report_;
};

}  // namespace

SumRange LayerProof::sums() const {
  SumRange all = channels.front().sums;
  for (const ChannelProof& channel : channels) all = hull(all, channel.sums);
  return all;
}

std::int64_t LayerProof::unsafe_channels() const {
  return std::ranges::count_if(channels, [&](const ChannelProof& channel) { return channel.bits() > rule.bits; });
}

bool ProveReport::safe() const {
  return std::ranges::all_of(layers, [](const LayerProof& layer) { return layer.safe(); }) && behind.empty() &&
         (!float16 || float16->safe());
}

ProveReport prove(const Model& model, const Device& sheet, std::span<const Tensor> inputs, const ProveOptions& options) {
  require_options(sheet.backend, inputs, options);
  if (is_float16_question(model, sheet.backend)) return prove_float16(model, sheet, inputs, options);
  return Prover(model, sheet, inputs, options).prove();
}

}  // namespace lastbit
