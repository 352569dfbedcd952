// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compare/report_layout.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/float16_network.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/prove.hpp"
#include "model/wide_digits.hpp"

namespace lastbit {
namespace {

std::string quoted(const std::string& name) { return "'" + shortened(name, 50) + "'"; }

std::string real_text(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// All digits where they fit a column.
std::string short_text(Int128 value) {
  const std::string text = digits_of(value);
  return text.size() <= 11 ? text : real_text("%.3e", static_cast<double>(value));
}

std::string operation_text(const LayerProof& layer) {
  return layer.part.empty() ? layer.kind : layer.kind.substr(0, layer.kind.find('_')) + " " + layer.part;
}

std::string title(const LayerProof& layer) {
  return "layer " + std::to_string(layer.operation) + ", " + operation_text(layer) + " " + quoted(layer.name);
}

std::string plural(std::int64_t count, const std::string& word) { return std::to_string(count) + " " + word + (count == 1 ? "" : "s"); }

/// Rounded down: what is said to be left is left, and what is missing is missing.
std::string margin_text(double margin) { return real_text("%.1f", std::floor(margin * 10) / 10); }

std::string layer_row(const LayerProof& layer, std::size_t names) {
  const SumRange sums = layer.sums();
  return right(std::to_string(layer.operation), 3) + " " + left(shortened(layer.name, names - 1), names) +
         left(operation_text(layer).substr(0, 16), 17) + right(std::to_string(layer.terms), 6) + " " +
         right(layer.has_width ? std::to_string(layer.rule.bits) : "-", 5) + " " +
         right(short_text(sums.lower) + " to " + short_text(sums.upper), 25) + " " + right(std::to_string(layer.bits()), 5) + " " +
         right(layer.has_width ? margin_text(layer.margin()) : "-", 6) + " " + right(std::to_string(layer.worst), 7) + "\n";
}

std::string place_text(const LayerProof& layer, std::int64_t index) {
  std::string text;
  for (const std::int64_t at : coordinates(layer.output, index)) text += (text.empty() ? "" : ",") + std::to_string(at);
  return "[" + text + "] (index " + std::to_string(index) + ")";
}

std::string step_text(std::int64_t step, std::int64_t terms) {
  if (step == 0) return "before the first term (the bias alone)";
  if (step > terms) return "with the bias, after all " + std::to_string(terms) + " terms";
  return "after term " + std::to_string(step) + " of " + std::to_string(terms);
}

std::string limits_text(int bits) { return digits_of(min_of_width(bits)) + " to " + digits_of(max_of_width(bits)); }

std::string example_lines(const LayerProof& layer) {
  if (!layer.example) return "  no input was found that does it: the bound is not reached where partial sums wrap or saturate before\n";
  const OverflowExample& example = *layer.example;
  const bool whole = layer.part.empty();
  std::string text = "  for instance channel " + std::to_string(example.channel);
  if (whole) text += " at " + place_text(layer, example.index);
  const int width = example.in_partial_sum ? layer.rule.partial.bits : layer.rule.bits;
  text += ":\n  " + std::string(example.in_partial_sum ? "a partial sum is " : "the sum is ") + digits_of(example.sum) + " " +
          step_text(example.step, example.terms) + "; " + std::to_string(width) + " bits hold " + limits_text(width) + "\n";
  if (example.inputs.empty()) return text + "  computed term by term: its terms are not the codes of one input\n";
  if (example.counted > 0) return text + "  run with the input that does it: " + plural(example.counted, "overflow") + " counted\n";
  return text + "  the input that does it was run; the device does not count these\n";
}

std::string data_lines(const LayerProof& layer, std::int64_t samples) {
  if (samples == 0) return "";
  if (!layer.on_data) return "  on the data: not counted\n";
  const OverflowCount& count = *layer.on_data;
  std::string text = "  on the data (" + plural(samples, "sample") + "): ";
  if (count.events == 0) return text + "never\n";
  if (count.sums > 0) text += std::to_string(count.overflowing) + " of " + plural(count.sums, "sum") + " overflow, ";
  text += plural(count.events, "overflow") + " in all\n";
  if (!count.first) return text;
  return text + "  first in sample " + std::to_string(count.first->sample) + " at " + place_text(layer, count.first->index) + ": " +
         digits_of(count.first->sum) + " " + step_text(count.first->step, count.first->terms) + "\n";
}

std::string overflow_text(const LayerProof& layer, std::int64_t samples) {
  std::string text = "\n" + title(layer) + "\n  ";
  if (layer.unsafe_channels() > 0) {
    text += "an accumulator of " + plural(layer.rule.bits, "bit") + " can overflow in " + std::to_string(layer.unsafe_channels()) + " of " +
            plural(static_cast<std::int64_t>(layer.channels.size()), "channel") + "; " + std::to_string(layer.bits()) +
            " bits always hold\n";
  }
  if (!layer.partial_sums_fit()) {
    const PartialSums& partial = layer.rule.partial;
    text += std::string(layer.unsafe_channels() > 0 ? "  " : "") + "partial sums of " + plural(partial.bits, "bit") + " can " +
            (partial.overflow == Overflow::saturate ? "saturate" : "wrap") + ": they reach " + digits_of(layer.partial->lower) + " to " +
            digits_of(layer.partial->upper) + "\n";
  }
  return text + example_lines(layer) + data_lines(layer, samples);
}

std::string stage_text(const StageProof& stage, std::int64_t samples) {
  const std::string verb = stage.wraps ? "wrap" : "saturate";
  std::string text = "\nlayer " + std::to_string(stage.operation) + ", " + stage.kind + " " + quoted(stage.name) + "\n  " +
                     (stage.part.empty() ? "behind the sum" : "on the way of " + stage.part) + " the stage '" + stage.stage + "' can " +
                     verb + " in " + plural(stage.channels, "channel") + ":\n  it has " + digits_of(stage.values.lower) + " to " +
                     digits_of(stage.values.upper) + "; " + plural(stage.bits, "bit") + " hold " + limits_text(stage.bits) +
                     "\n  for instance channel " + std::to_string(stage.channel) + ": of " + std::to_string(stage.entering) + " it makes " +
                     digits_of(stage.narrowed) + ", not " + digits_of(stage.value) + "\n";
  if (stage.inputs.empty()) text += "  no input was found that does it: the bound is not reached, or the device does not count it\n";
  else text += "  run with the input that does it: " + std::to_string(stage.counted) + " counted\n";
  if (stage.on_data) text += "  on the data (" + plural(samples, "sample") + "): " + std::to_string(*stage.on_data) + " counted\n";
  return text;
}

std::string behind_line(const ProveReport& report) {
  std::string text = "Behind them no stage wraps, and none saturates but to the bounds of the output.\n";
  if (!report.behind.empty())
    text = "Behind them " + plural(static_cast<std::int64_t>(report.behind.size()), "stage") +
           " can wrap, or saturate so that another value is delivered.\n";
  if (report.not_followed.empty()) return text;
  text += "Stages that wrap are not followed in layer";
  for (std::size_t i = 0; i < report.not_followed.size(); ++i)
    text += (i == 0 ? std::string(report.not_followed.size() == 1 ? " " : "s ") : ", ") + std::to_string(report.not_followed[i]);
  return text + ".\n";
}

std::string tile_text(const LayerProof& layer) {
  constexpr std::size_t shown = 8;
  if (layer.tiles.size() <= 2) return "";
  std::string text = "\n" + title(layer) + "\n  saturates once per tile; what arrives there, earlier tiles saturated:\n";
  for (std::size_t i = 0; i < std::min(shown, layer.tiles.size()); ++i) {
    const TileProof& tile = layer.tiles[i];
    text += "  after " + right(std::to_string(tile.steps), 7) + " terms  " +
            right(digits_of(tile.sums.lower) + " to " + digits_of(tile.sums.upper), 27) + "  margin " +
            right(margin_text(margin_in_bits(tile.sums, layer.rule.bits)), 5) + " bits, channel " + std::to_string(tile.channel) + "\n";
  }
  if (layer.tiles.size() > shown)
    text += "  and " + plural(static_cast<std::int64_t>(layer.tiles.size() - shown), "tile") + " more (--json)\n";
  return text;
}

/// Of the layers whose width is known, the one with the least margin.
const LayerProof* tightest(const ProveReport& report) {
  const LayerProof* least = nullptr;
  for (const LayerProof& layer : report.layers) {
    if (layer.has_width && (least == nullptr || layer.margin() < least->margin())) least = &layer;
  }
  return least;
}

std::string totals(const ProveReport& report) {
  const auto safe = std::ranges::count_if(report.layers, [](const LayerProof& layer) { return layer.safe(); });
  std::string text = "\n" + std::to_string(safe) + " of " + std::to_string(report.layers.size()) +
                     " kinds of sums are safe: none of their running sums can leave the accumulator.\n" + behind_line(report);
  if (const LayerProof* const least = tightest(report)) {
    text += "The least margin: " + margin_text(least->margin()) + " bits, in layer " + std::to_string(least->operation) + ", channel " +
            std::to_string(least->worst) + ".\n";
    int bits = 2;
    for (const LayerProof& layer : report.layers) bits = std::max(bits, layer.has_width ? layer.bits() : 2);
    text += "Accumulators of " + std::to_string(bits) + " bits are always safe.\n";
  }
  if (report.without_sums > 0) text += plural(report.without_sums, "operation") + " without sums.\n";
  return text;
}

std::string question(const ProveReport& report) {
  const std::string samples = plural(report.samples, "sample");
  const std::string subject = report.float16 ? "Can a value leave float16?" : "Can an accumulator overflow?";
  if (report.range == InputRange::data)
    return subject + " Inputs: what each tensor held, from least to largest, on " + samples + ";\nno proof for other data.\n";
  if (report.float16) return subject + " Inputs: everything from the least to the largest value of " + samples + ".\n";
  return subject + " Inputs: every code that types, and sums and clamps before, allow.\n";
}

/// What the proof rests on; of what is safe, that it is no more than safe if that is so.
std::string assumption_lines(const ProveReport& report, AssumptionsAre are) {
  std::string text = report.assumptions.empty() ? "" : "This rests on assumptions:\n";
  std::vector<BackendAssumption> assumed;
  for (const Assumption& assumption : report.assumptions) {
    text += "  " + assumption.rule + ": " + assumption.source + "\n";
    assumed.push_back({report.backend, assumption});
  }
  if (assumed.empty() || !report.safe()) return text;
  const std::vector<SharedAssumption> shared = shared_assumptions(std::span(&assumed, 1));
  if (are == AssumptionsAre::accepted) return text + "Safe, " + count_of(std::ssize(shared), "assumption") + " accepted.\n";
  return text + "Safe " + only_if(shared) + ".\n";
}

std::string magnitude_text(const std::optional<double>& value) { return value ? real_text("%.5g", *value) : "-"; }
std::string headroom_text(const std::optional<double>& value) { return value ? real_text("%+.2f", float16_headroom(*value)) : "-"; }

std::string float16_row(const Float16Tensor& tensor, std::size_t names) {
  std::optional<double> most = tensor.bound;
  if (most && tensor.inside) most = std::max(*most, *tensor.inside);
  return left(shortened(tensor.name, names - 1), names) + left(tensor.kind.substr(0, 20), 21) +
         right(magnitude_text(tensor.largest_on_data), 12) + right(headroom_text(tensor.largest_on_data), 8) +
         right(magnitude_text(most), 13) + right(headroom_text(most), 8) + "\n";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quoted(name);
  return text;
}

std::string written_by(const Float16Tensor& tensor) {
  return quoted(tensor.name) +
         (tensor.operation.empty() || tensor.operation == tensor.name ? "" : ", written by " + quoted(tensor.operation));
}

std::string rescaling_text(const Float16Proof& proof) {
  std::string text;
  for (const Float16Proof::Rescale& pair : proof.rescale) {
    const std::string bits = std::to_string(pair.bits);
    text += "Or divide " + list_of(pair.tensors) + " by 2^" + bits + ":\n  constants of " + list_of(pair.before) + " times 2^-" + bits +
            ", of " + list_of(pair.behind) + " times 2^" + bits + ".\n";
  }
  if (!proof.rescale.empty()) text += "  Run so on the data, " + plural(proof.left_after_rescaling, "value") + " leave float16.\n";
  if (!proof.unscalable.empty()) text += "No constants around them can divide " + list_of(proof.unscalable) + ".\n";
  return text;
}

std::string float16_text(const Float16Proof& proof, const LayerView& view) {
  const std::size_t names = name_width(view, 37);
  std::string text = "\n" + left("tensor", names) + left("operation", 21) + right("on the data", 12) + right("bits", 8) +
                     right("at most", 13) + right("bits", 8) + "\n";
  for (const Float16Tensor& tensor : proof.tensors) {
    if (!tensor.constant || float16_headroom(tensor.largest_on_data) < 0) text += float16_row(tensor, names);
  }
  text += "\nbits: headroom, log2(65504 / magnitude). At most: for every input, roundings and the sums inside included.\n";
  if (proof.first_on_data) text += "The first to leave float16 on the data: " + written_by(proof.tensors[*proof.first_on_data]) + ".\n";
  else text += "On the data nothing leaves float16.\n";
  if (proof.first_by_bound) text += "The first that is not proven to stay: " + written_by(proof.tensors[*proof.first_by_bound]) + ".\n";
  else text += "Proven: nothing can leave float16.\n";
  if (!proof.keep.empty()) text += "The smallest set of operations to keep in float32 for this data: " + list_of(proof.keep) + ".\n";
  if (!proof.missing.empty()) text += "Of them the device has not in float16: " + list_of(proof.missing) + ".\n";
  return text + rescaling_text(proof);
}

}  // namespace

std::string to_text(const ProveReport& report, const LayerView& view, AssumptionsAre assumptions) {
  const std::size_t names = name_width(view, 20);
  std::string text = report.model + " on " + report.backend + "\n" + question(report);
  if (report.bits) text += "Asked about accumulators of " + std::to_string(*report.bits) + " bits instead of the device's own.\n";
  if (report.float16) return text + float16_text(*report.float16, view) + assumption_lines(report, assumptions);
  text += "\n" + right("no.", 3) + " " + left("layer", names) + left("operation", 17) + right("terms", 6) + " " + right("width", 5) + " " +
          right("running sums", 25) + " " + right("needs", 5) + " " + right("margin", 6) + " " + right("channel", 7) + "\n";
  for (const LayerProof& layer : report.layers) text += layer_row(layer, names);
  for (const LayerProof& layer : report.layers) text += tile_text(layer);
  for (const LayerProof& layer : report.layers) text += layer.safe() ? "" : overflow_text(layer, report.samples);
  for (const StageProof& stage : report.behind) text += stage_text(stage, report.samples);
  return text + totals(report) + assumption_lines(report, assumptions);
}

}  // namespace lastbit
