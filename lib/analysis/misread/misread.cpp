// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/misread.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>

#include "analysis/misread/causes.hpp"
#include "analysis/misread/views.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"

namespace lastbit {
namespace {

/// How near roundings, widths and multipliers leave a layer to the float path, and how much nearer a true reading has to bring it than the
/// given one.
constexpr double near = 0.98, times_nearer = 8;
/// LSB that one rounding leaves, as a standard deviation: 12^-1/2 and a little.
constexpr double one_rounding = 0.35;
/// LSB by which roundings one after the other may move every value.
constexpr double of_roundings = 1.6;
/// Fewer values fit too many readings.
constexpr std::int64_t fewest_values = 64;

std::string in_quotes(const std::string& name) { return "'" + name + "'"; }

std::string offset_text(std::int64_t offset) {
  return "every value is off by " + std::string(offset > 0 ? "+" : "") + std::to_string(offset);
}

std::string moved_text(std::int64_t places) {
  const std::int64_t count = std::abs(places);
  return "its values stand " + std::to_string(count) + (count == 1 ? " place" : " places") + (places > 0 ? " further on" : " too early");
}

bool is_constant(const Codes& codes) {
  return std::ranges::all_of(codes, [&](float code) { return code == codes[0]; });
}

class Examination {
 public:
  Examination(const Model& model, const NamedTrace& dump) : model_(model), layers_(model, dump) {}

  /// By tensor.
  TensorCauses causes() {
    judge();
    return settled(std::move(causes_), layers_);
  }
  /// The model's input from which nothing near follows, where no cause is found: its first layers may have rules of their own.
  [[nodiscard]] std::optional<std::int32_t> suspect() const { return suspect_; }

 private:
  using Ground = TensorCause::Ground;
  struct Far {
    const DumpedLayer* layer = nullptr;
    Codes expected;
    LineFit fit;
  };

  void judge() {
    for (const DumpedLayer& layer : layers_.layers()) {
      if (std::ssize(layers_.codes(layer.output)) < fewest_values) continue;
      Codes expected = layers_.expected(layer);
      const LineFit fit = layers_.fit(layer, expected, layers_.codes(layer.output));
      if (!fit.tells) continue;
      if (is_near(fit)) near_.push_back(&layer);
      else far_.push_back({&layer, std::move(expected), fit});
    }
    for (Far& each : far_) {
      if (!follows_from_the_true(each)) judge_output(each);
    }
    for (const Far& each : far_) judge_inputs(each);
    for (const Far& each : far_) judge_all(each);
    for (const Far& each : far_) judge_by_the_next(each);
    judge_offsets_of_inputs();
    judge_model_inputs();
  }

  static bool is_near(const LineFit& fit) { return fit.correlation >= near && !offset_of(fit) && !scale_of(fit); }
  static bool is_nearer(const LineFit& fit, const LineFit& given) {
    return fit.correlation >= near && fit.unexplained() * times_nearer < given.unexplained();
  }

  /// A constant in LSB that no rounding makes: beyond those of several roundings, or a whole number with no more than one rounding around it.
  static std::optional<std::int64_t> offset_of(const LineFit& fit) {
    constexpr double many_roundings = 0.75, whole = 0.15;
    const double size = std::abs(fit.offset);
    if (fit.inside < fewest_values) return std::nullopt;
    const bool beyond = size >= of_roundings && fit.spread < many_roundings;
    const bool exact = size >= 0.5 && std::abs(size - std::round(size)) < whole && fit.spread < one_rounding;
    return beyond || exact ? std::optional(std::llround(fit.offset)) : std::nullopt;
  }

  /// A factor that no multiplier's width makes, by more than roundings towards zero, and with no more than roundings around it.
  static std::optional<double> scale_of(const LineFit& fit) {
    constexpr double of_widths = 0.1;
    const double step = std::abs(fit.slope - 1);
    const bool is_other = fit.inside >= fewest_values && fit.slope > 0 && step > of_widths && step * fit.deviation > 1;
    return is_other && fit.correlation >= near && fit.beside_slope < 0.5 + fit.slope ? std::optional(fit.slope) : std::nullopt;
  }

  [[nodiscard]] const ModelTensor& info(std::int32_t tensor) const { return model_.tensor(tensor); }
  [[nodiscard]] bool is_named(std::int32_t tensor) const { return causes_.contains(tensor); }
  /// Nothing of the layer is known to be misread.
  [[nodiscard]] bool is_open(const Far& each) const {
    return !is_named(each.layer->output) && std::ranges::none_of(each.layer->inputs, [&](std::int32_t input) { return is_named(input); });
  }
  /// It stands before or behind a layer that is near, so that it is what the model means by it.
  [[nodiscard]] bool is_vouched_for(std::int32_t tensor) const {
    return std::ranges::any_of(near_, [&](const DumpedLayer* layer) {
      return layer->output == tensor || std::ranges::find(layer->inputs, tensor) != layer->inputs.end();
    });
  }
  [[nodiscard]] LineFit with_output(const Far& each, const Codes& output) const { return layers_.fit(*each.layer, each.expected, output); }
  [[nodiscard]] LineFit with_inputs(const Far& each, const std::map<std::int32_t, Codes>& inputs, const Codes& output) const {
    return layers_.fit(*each.layer, layers_.expected(*each.layer, inputs), output);
  }
  /// A layer that reads what was misread is judged by what it should have read. Whether nothing more has to be said of it.
  bool follows_from_the_true(Far& each) const {
    const std::map<std::int32_t, Codes> inputs = true_inputs(*each.layer, causes_);
    if (inputs.empty()) return false;
    each.expected = layers_.expected(*each.layer, inputs);
    each.fit = with_output(each, layers_.codes(each.layer->output));
    return is_near(each.fit);
  }

  void judge_output(const Far& each) {
    const std::int32_t output = each.layer->output;
    if (is_named(output)) return;
    const Codes& codes = layers_.codes(output);
    for (const CodeView& view : views_of(info(output))) {
      Codes truth = seen(view, info(output), codes);
      const LineFit fit = with_output(each, truth);
      const bool fits = is_nearer(fit, each.fit) || (view.inverted != 0 && offset_of(each.fit) && is_near(fit));
      if (fits && is_confirmed(each, truth)) return name(each, output, view.cause, Ground::misread_as, std::move(truth));
    }
    if (judge_offset(each) || judge_scale(each) || judge_order(each) || judge_exchange(each) || judge_sample(each)) return;
    if (is_constant(codes) && is_confirmed(each, each.expected))
      name(each, output, "every value is " + std::to_string(std::llround(codes[0])) + ": it was not written", Ground::likely,
           each.expected);
  }

  bool judge_offset(const Far& each) {
    const auto offset = offset_of(each.fit);
    if (!offset) return false;
    Codes truth = layers_.codes(each.layer->output);
    for (float& code : truth) code -= static_cast<float>(*offset);
    if (!is_confirmed(each, truth)) return false;
    name(each, each.layer->output, offset_text(*offset), Ground::what_if, std::move(truth), with_offset(each.layer->output, *offset));
    return true;
  }

  /// The codes with an offset, as far as their type holds it.
  [[nodiscard]] std::function<Integers(const Integers&)> with_offset(std::int32_t tensor, std::int64_t offset) const {
    return [range = range_of(info(tensor).type), offset](Integers codes) {
      for (std::int64_t& code : codes) code = std::clamp(code + offset, range.min, range.max);
      return codes;
    };
  }

  bool judge_scale(const Far& each) {
    const auto scale = scale_of(each.fit);
    if (!scale) return false;
    Codes truth = layers_.codes(each.layer->output);
    for (float& code : truth) code = static_cast<float>(std::round((double{code} - each.fit.at_zero) / *scale));
    if (!is_confirmed(each, truth)) return false;
    name(each, each.layer->output, "its codes are " + std::to_string(*scale) + " times those expected: of another scale", Ground::likely,
         std::move(truth));
    return true;
  }

  /// Values that stand elsewhere.
  bool judge_order(const Far& each) {
    const std::int32_t output = each.layer->output;
    const Codes& codes = layers_.codes(output);
    for (const CodeView& view : mirrored_views_of(info(output))) {
      Codes truth = seen(view, info(output), codes);
      if (!is_nearer(with_output(each, truth), each.fit) || !is_confirmed(each, truth)) continue;
      name(each, output, view.cause, Ground::likely, std::move(truth));
      return true;
    }
    const auto places = places_moved(each.expected, codes, info(output));
    if (!places) return false;
    Codes truth = moved_back(codes, *places, each.expected);
    if (!is_nearer(with_output(each, truth), each.fit) || !is_confirmed(each, truth)) return false;
    name(each, output, moved_text(*places), Ground::likely, std::move(truth));
    return true;
  }

  bool judge_exchange(const Far& each) {
    const std::int32_t output = each.layer->output;
    const Codes& codes = layers_.codes(output);
    for (const auto& [other, others] : layers_.codes()) {
      if (other == output || others.size() != codes.size() || is_vouched_for(other)) continue;
      if (!is_nearer(with_output(each, others), each.fit)) continue;
      const bool both = is_exchanged(each, other);
      if (!both && !is_confirmed(each, others)) continue;
      name(each, output, exchanged_text(other), Ground::what_if, others);
      if (both) name(layer_writing(other), other, exchanged_text(output), Ground::what_if, codes);
      return true;
    }
    return false;
  }

  bool judge_sample(const Far& each) {
    const auto sample = other_sample(each, each.expected, layers_.codes(each.layer->output));
    if (!sample || !is_confirmed(each, each.expected)) return false;
    name(each, each.layer->output, "it is of another sample: the values of its sample " + std::to_string(*sample) + " stand in sample 0",
         Ground::other_sample, each.expected);
    return true;
  }

  /// What follows the layer follows from these codes rather than from those of the dump. Where nothing follows, another layer of the kind has
  /// to be near: a device that computes all of them so has rules of its own.
  [[nodiscard]] bool is_confirmed(const Far& each, const Codes& true_codes) const {
    const std::int32_t output = each.layer->output;
    bool is_read = false;
    for (const DumpedLayer& next : layers_.layers()) {
      if (std::ranges::find(next.inputs, output) == next.inputs.end()) continue;
      is_read = true;
      const Codes& after = layers_.codes(next.output);
      const LineFit given = layers_.fit(next, layers_.expected(next), after);
      const LineFit fit = layers_.fit(next, layers_.expected(next, {{output, true_codes}}), after);
      constexpr double clearly = 0.9;
      if (fit.correlation >= near && fit.error < clearly * given.error) return true;
    }
    return !is_read && has_like(each) &&
           (scale_of(each.fit) || std::abs(each.fit.offset) >= (each.fit.correlation >= near ? of_roundings : 0));
  }

  /// Where the other tensor is computed as well, from this one maybe, the codes of this one stand for it.
  [[nodiscard]] bool is_exchanged(const Far& each, std::int32_t other) const {
    const std::int32_t output = each.layer->output;
    return std::ranges::any_of(far_, [&](const Far& second) {
      if (second.layer->output != other) return false;
      return is_nearer(with_inputs(second, {{output, layers_.codes(other)}}, layers_.codes(output)), second.fit);
    });
  }

  [[nodiscard]] const Far& layer_writing(std::int32_t tensor) const {
    return *std::ranges::find_if(far_, [&](const Far& each) { return each.layer->output == tensor; });
  }

  [[nodiscard]] bool has_like(const Far& each) const {
    const auto type_of = [&](const Operation& operation) {
      return std::tuple(operation.kind, info(operation.inputs[0]).type, info(operation.outputs[0]).type);
    };
    return std::ranges::any_of(near_, [&](const DumpedLayer* layer) {
      return type_of(model_.operations[layer->operation]) == type_of(model_.operations[each.layer->operation]);
    });
  }

  void name(const Far& by, std::int32_t tensor, std::string text, Ground ground, std::optional<Codes> truth = std::nullopt,
            std::function<Integers(const Integers&)> as_dumped = {}) {
    name(*by.layer, tensor, std::move(text), ground, std::move(truth), std::move(as_dumped));
  }
  void name(const DumpedLayer& by, std::int32_t tensor, std::string text, Ground ground, std::optional<Codes> truth,
            std::function<Integers(const Integers&)> as_dumped) {
    causes_.emplace(tensor, TensorCause{std::move(text), ground, &by, std::move(truth), std::move(as_dumped)});
  }

  [[nodiscard]] std::string exchanged_text(std::int32_t other) const {
    return "the values of " + in_quotes(info(other).name) + " stand where its own should: two files exchanged?";
  }

  [[nodiscard]] Codes sample_of(const Codes& all, std::int64_t sample) const {
    const auto size = std::ssize(all) / layers_.samples();
    return Codes(all.begin() + sample * size, all.begin() + (sample + 1) * size);
  }

  /// Which of the samples of `moved` fits the first one of `fixed`, which its own does not.
  [[nodiscard]] std::optional<std::int64_t> other_sample(const Far& each, const Codes& fixed, const Codes& moved) const {
    const IntegerRange range = range_of(info(each.layer->output).type);
    const Codes first = sample_of(fixed, 0);
    const LineFit given = fit_of(first, sample_of(moved, 0), range);
    for (std::int64_t sample = 1; sample < layers_.samples(); ++sample) {
      if (is_nearer(fit_of(first, sample_of(moved, sample), range), given)) return sample;
    }
    return std::nullopt;
  }

  void judge_inputs(const Far& each) {
    const Codes& output = layers_.codes(each.layer->output);
    for (const std::int32_t input : each.layer->inputs) {
      if (!is_open(each)) return;
      if (is_vouched_for(input)) continue;
      const Codes& codes = layers_.codes(input);
      const auto judge_views = [&](const std::vector<CodeView>& views, Ground ground) {
        return std::ranges::any_of(views, [&](const CodeView& view) {
          Codes truth = seen(view, info(input), codes);
          if (!is_nearer(with_inputs(each, {{input, truth}}, output), each.fit)) return false;
          name(each, input, view.cause, ground, std::move(truth));
          return true;
        });
      };
      if (judge_views(views_of(info(input)), Ground::misread_as)) return;
      if (!is_model_input(input)) continue;
      if (judge_views(mirrored_views_of(info(input)), Ground::likely) || judge_moved_input(each, input)) return;
      for (const auto& [other, others] : layers_.codes()) {
        const bool fits = other != input && other != each.layer->output && others.size() == codes.size() && !is_vouched_for(other);
        if (!fits || !is_nearer(with_inputs(each, {{input, others}}, output), each.fit)) continue;
        return name(each, input, exchanged_text(other), Ground::what_if, others);
      }
      const auto sample = other_sample(each, output, each.expected);
      if (!sample) continue;
      return name(each, input, "it is of another sample: what follows from its sample " + std::to_string(*sample) + " stands in sample 0",
                  Ground::other_sample);
    }
  }

  /// A few places: each of them is a run of the layer.
  bool judge_moved_input(const Far& each, std::int32_t input) {
    for (const std::int64_t places : {1, -1, 2, -2, 4, -4, 8, -8}) {
      Codes truth = moved_back(layers_.codes(input), places, layers_.codes(input));
      if (!is_nearer(with_inputs(each, {{input, truth}}, layers_.codes(each.layer->output)), each.fit)) continue;
      name(each, input, moved_text(places), Ground::likely, std::move(truth));
      return true;
    }
    return false;
  }

  /// A whole dump that was misread in one way.
  void judge_all(const Far& each) {
    const std::int32_t output = each.layer->output;
    if (is_named(output) || is_near(each.fit)) return;
    for (const CodeView& view : views_of(info(output))) {
      std::map<std::int32_t, Codes> inputs, named;
      for (const std::int32_t input : each.layer->inputs) {
        for (const CodeView& same : views_of(info(input))) {
          if (same.cause != view.cause || (is_named(input) && causes_.at(input).text != view.cause)) continue;
          inputs.emplace(input, seen(same, info(input), layers_.codes(input)));
          if (is_named(input)) named.emplace(*inputs.find(input));
        }
      }
      if (inputs.empty()) continue;
      const Codes& outputs = layers_.codes(output);
      const LineFit given = named.empty() ? each.fit : with_inputs(each, named, outputs);
      Codes truth = seen(view, info(output), outputs);
      if (!is_nearer(with_inputs(each, inputs, truth), given)) continue;
      for (const auto& [input, codes] : inputs) name(each, input, view.cause, Ground::misread_as, codes);
      name(each, output, view.cause, Ground::misread_as, std::move(truth));
      return;
    }
  }

  /// What comes after a tensor follows from what stands before it, and neither has to do with what the dump holds of it.
  void judge_by_the_next(const Far& each) {
    if (!is_open(each)) return;
    const std::int32_t between = each.layer->output;
    for (const Far& next : far_) {
      if (std::ranges::find(next.layer->inputs, between) == next.layer->inputs.end() || is_named(next.layer->output)) continue;
      if (!is_nearer(with_inputs(next, {{between, each.expected}}, layers_.codes(next.layer->output)), next.fit)) continue;
      return name(each, between, "what follows it was computed from other values: of another run, or overwritten", Ground::likely,
                  each.expected);
    }
  }

  void judge_offsets_of_inputs() {
    for (const DumpedLayer& layer : layers_.layers()) {
      for (const std::int32_t input : layer.inputs) {
        if (!is_model_input(input) || is_named(input) || is_named(layer.output)) continue;
        const auto offset = input_offset(layer, input);
        if (!offset) continue;
        Codes truth = layers_.codes(input);
        for (float& code : truth) code -= static_cast<float>(*offset);
        name(layer, input, offset_text(*offset), Ground::what_if, std::move(truth), {});
      }
    }
  }

  /// What has to be taken away from every value of the input, so that the output follows from it.
  [[nodiscard]] std::optional<std::int64_t> input_offset(const DumpedLayer& layer, std::int32_t input) const {
    const auto with_offset = [&](double offset) {
      Codes moved = layers_.codes(input);
      for (float& code : moved) code = static_cast<float>(double{code} + offset);
      return layers_.expected(layer, {{input, std::move(moved)}});
    };
    const Codes& output = layers_.codes(layer.output);
    double needed = 0;
    constexpr int newton_steps = 4;
    for (int i = 0; i < newton_steps; ++i) {
      const auto step = newton_step(with_offset(needed), with_offset(needed + 1), output);
      if (!step) return std::nullopt;
      needed += *step;
    }
    const std::int64_t whole = std::llround(needed);
    if (whole == 0 || std::ssize(output) < fewest_values) return std::nullopt;
    const LineFit fit = layers_.fit(layer, with_offset(static_cast<double>(whole)), output);
    const LineFit given = layers_.fit(layer, with_offset(0), output);
    const bool explains = is_nearer(fit, given) || (fit.spread < one_rounding && given.spread > one_rounding);
    return given.tells && is_near(fit) && explains ? std::optional(-whole) : std::nullopt;
  }

  /// By how much the input has to move: least squares, beside a constant that the roundings may have added to the output.
  static std::optional<double> newton_step(const Codes& here, const Codes& beside, const Codes& output) {
    const auto count = static_cast<double>(output.size());
    double slopes = 0, errors = 0, squares = 0, products = 0;
    for (std::size_t k = 0; k < output.size(); ++k) {
      const double slope = double{beside[k]} - double{here[k]}, error = double{output[k]} - double{here[k]};
      slopes += slope, errors += error, squares += slope * slope, products += slope * error;
    }
    const double variance = squares - slopes * slopes / count;
    if (variance <= 1e-9 * squares) return std::nullopt;
    return (products - slopes * errors / count) / variance;
  }

  [[nodiscard]] bool is_model_input(std::int32_t tensor) const { return std::ranges::find(model_.inputs, tensor) != model_.inputs.end(); }

  /// Everything is near but what reads one input of the model, although a layer of the same kind is near elsewhere.
  void judge_model_inputs() {
    if (!causes_.empty() || far_.empty() || near_.size() < 2 * far_.size()) return;
    const auto reads = [&](const Far& each, std::int32_t input) {
      return std::ranges::find(each.layer->inputs, input) != each.layer->inputs.end();
    };
    for (const std::int32_t input : model_.inputs) {
      if (!std::ranges::all_of(far_, [&](const Far& each) { return reads(each, input) && has_like(each); })) continue;
      suspect_ = input;
      return;
    }
  }

  const Model& model_;
  GoldenLayers layers_;
  std::vector<const DumpedLayer*> near_;
  std::vector<Far> far_;
  TensorCauses causes_;
  std::optional<std::int32_t> suspect_;
};

}  // namespace

std::string text_of(const Misread& misread) { return "tensor " + in_quotes(misread.tensor) + ": " + misread.cause; }

std::vector<Misread> find_misshapen(const Model& model, const NamedTrace& dump) {
  std::vector<Misread> list;
  for (const NamedTensor& tensor : dump.tensors) {
    if (tensor.stored.rank() == 0) continue;
    std::string cause = cause_in_shape(tensor.stored, model.tensor(tensor.index).shape);
    if (!cause.empty()) list.push_back({tensor.name, std::move(cause)});
  }
  return list;
}

std::vector<Misread> find_misread(const Model& model, const NamedTrace& dump) {
  std::vector<Misread> list = find_misshapen(model, dump);
  if (!list.empty()) return list;
  Examination examination(model, dump);
  const TensorCauses causes = examination.causes();
  for (const NamedTensor& tensor : dump.tensors) {
    const auto found = causes.find(tensor.index);
    if (found != causes.end()) list.push_back({tensor.name, found->second.text, found->second.certainty});
  }
  if (const auto input = examination.suspect())
    list.push_back({model.tensor(*input).name,
                    "of another sample or run? Every layer but those that read it was computed from what stands before it",
                    Certainty::suspected});
  return list;
}

void add_misread(CompareReport& report, const std::vector<Misread>& list) {
  for (const Misread& one : list) (one.certainty == Certainty::certain ? report.misread : report.suspected).push_back(text_of(one));
}

void require_well_read(const Model& model, const NamedTrace& dump) { require_well_read(find_misread(model, dump)); }

void require_well_read(std::vector<Misread> list) {
  std::erase_if(list, [](const Misread& one) { return one.certainty == Certainty::suspected; });
  if (list.empty()) return;
  std::string others;
  if (list.size() > 1)
    others = "; " + std::to_string(list.size() - 1) + (list.size() == 2 ? " other tensor is" : " other tensors are") + " misread too";
  throw Error(ErrorCode::bad_input, "tensor " + in_quotes(list[0].tensor), "misread: " + list[0].cause + others);
}

}  // namespace lastbit
