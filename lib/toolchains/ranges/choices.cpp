// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "toolchains/ranges/choices.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "compare/report_fields.hpp"
#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

constexpr std::size_t most_listed = 10;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_listed); ++i) text += (i == 0 ? "'" : ", '") + names[i] + "'";
  return text + (names.size() > most_listed ? " and " + std::to_string(names.size() - most_listed) + " more" : "");
}

/// Names of a network's tensors and operations, and what ranges call them.
class RangeNames {
 public:
  explicit RangeNames(const Model& model) : model_(model) {
    for (std::size_t i = 0; i < model.operations.size(); ++i) {
      const Operation& operation = model.operations[i];
      operations_.emplace(operation.name, i);
      for (const std::int32_t output : operation.outputs) writers_.emplace(model.tensor(output).name, i);
    }
    for (std::size_t t = 0; t < model.tensors.size(); ++t) tensors_.emplace(model.tensors[t].name, static_cast<std::int32_t>(t));
  }

  [[nodiscard]] std::optional<std::int32_t> find(const TensorRange& range) const {
    if (range.of == RangeOf::input || range.of == RangeOf::output) return of_operation(range.name, range.of, range.position);
    if (const auto tensor = tensor_called(range.name)) return tensor;
    if (range.of == RangeOf::network_input && range.position < model_.inputs.size()) return model_.inputs[range.position];
    return of_operation(range.name, RangeOf::output, 0);
  }

  /// The tensor that holds the same values before they were reordered: of an .onnx model's convolution the one in NHWC.
  [[nodiscard]] std::int32_t before_reordering(std::int32_t tensor) const {
    using enum OperationKind;
    for (;;) {
      const auto writer = writers_.find(model_.tensor(tensor).name);
      if (writer == writers_.end()) return tensor;
      const Operation& operation = model_.operations[writer->second];
      if (operation.kind != transpose && operation.kind != reshape && operation.kind != squeeze) return tensor;
      tensor = operation.inputs[0];
    }
  }

  [[nodiscard]] std::string nearest(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const auto& [own, index] : tensors_) names.push_back(own);
    for (const auto& [own, index] : operations_)
      if (!tensors_.contains(own)) names.push_back(own);
    return did_you_mean(name, names);
  }

 private:
  /// ONNX Runtime's quantiser names codes after the tensor that they stand for (onnxruntime/python/tools/quantization/quant_utils.py), which is
  /// the one that a float network has.
  [[nodiscard]] std::optional<std::int32_t> tensor_called(const std::string& name) const {
    for (const std::string_view suffix : {"", "_QuantizeLinear_Output", "_DequantizeLinear_Output", "_quantized"}) {
      if (!name.ends_with(suffix)) continue;
      const auto found = tensors_.find(std::string_view(name).substr(0, name.size() - suffix.size()));
      if (found != tensors_.end()) return found->second;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::int32_t> of_operation(const std::string& name, RangeOf of, std::size_t position) const {
    auto found = operations_.find(name);
    if (found == operations_.end()) found = writers_.find(name);
    if (found == writers_.end()) return std::nullopt;
    const Operation& operation = model_.operations[found->second];
    const auto& list = of == RangeOf::input ? operation.inputs : operation.outputs;
    if (position >= list.size() || list[position] == absent_tensor) return std::nullopt;
    return list[position];
  }

  const Model& model_;
  std::map<std::string, std::size_t, std::less<>> operations_, writers_;
  std::map<std::string, std::int32_t, std::less<>> tensors_;
};

bool say_the_same(const TensorRange& a, const TensorRange& b) { return a.min == b.min && a.max == b.max && a.codes == b.codes; }

[[noreturn]] void refuse_range(const TensorRange& range, const std::string& what) {
  throw Error(ErrorCode::bad_quantization, range.where, "'" + printable(range.name) + "': " + what);
}

/// Of uint8 codes, what it is for the same codes less 128.
std::int64_t shifted_zero_point(const TensorRange& range, std::size_t channel, ElementType type) {
  const bool shifts = range.type == ElementType::uint8 && type == ElementType::int8;
  return range.codes.zero_point(channel) - (shifts ? 128 : 0);
}

void require_type(const TensorRange& range, ElementType type) {
  const bool fits = !range.type || *range.type == type || (*range.type == ElementType::uint8 && type == ElementType::int8);
  if (!fits)
    refuse_range(range, "its scale is for " + std::string(name_of(*range.type)) + " codes, those here are " + std::string(name_of(type)));
}

/// As models may have it.
double float32_scale(const TensorRange& range, double scale) {
  const double rounded{static_cast<float>(scale)};
  if (!(rounded >= 0x1p-126 && rounded <= 0x1p30))
    refuse_range(range, "scale " + number_text("%g", scale) + " is not between 2^-126 and 2^30");
  return rounded;
}

}  // namespace

RangeChoices::RangeChoices(const Model& real, const RangeFile& given) : real_(real), file_(given) {
  if (given.ranges.empty()) return;
  const RangeNames names(real);
  for (const TensorRange& range : given.ranges) {
    const std::optional<std::int32_t> tensor = names.find(range);
    if (!tensor) {
      if (unknown_.empty() && !given.names_others)
        throw Error(ErrorCode::bad_input, range.where,
                    "the network has no tensor '" + printable(range.name) + "'" + names.nearest(range.name));
      unknown_.push_back(printable(range.name));
      continue;
    }
    const auto [place, is_new] = given_.emplace(*tensor, &range);
    if (is_new || (given.names_others && say_the_same(range, *place->second))) continue;
    if (!given.names_others) refuse_range(range, "has a range already, in " + place->second->where);
    ++contradicted_;
  }
  for (const auto& [tensor, range] : std::map(given_)) {
    const std::int32_t origin = names.before_reordering(tensor);
    if (origin != tensor && given_.emplace(origin, range).second) given_.erase(tensor);
  }
  if (given_.empty()) {
    throw Error(ErrorCode::bad_input, given.path,
                "none of the " + count_of(std::ssize(given.ranges), "name") + " in it, " + listed(unknown_) + ", is of this network" +
                    names.nearest(given.ranges.front().name));
  }
}

const TensorRange* RangeChoices::given(std::int32_t tensor) {
  asked_ = true;
  const auto found = given_.find(tensor);
  if (found == given_.end()) return nullptr;
  used_.insert(tensor);
  return found->second;
}

double RangeChoices::magnitude(const TensorRange& range) { return std::max(-range.min, range.max); }

void RangeChoices::calibrate(std::int32_t tensor, const TensorStatistics& seen) {
  (seen.values > 0 ? calibrated_ : missing_).insert(tensor);
}

void RangeChoices::require_complete() const {
  if (missing_.empty()) return;
  throw Error(ErrorCode::bad_input, file_.path.empty() ? "calibration" : file_.path,
              "no range for " + count_of(std::ssize(missing_), "tensor") + ", " + names_of(missing_) +
                  "; samples to calibrate with are needed for them (--input)");
}

void RangeChoices::choose(std::int32_t tensor, ClippingRange range) {
  if (real_.tensor(tensor).constant) return;
  chosen_[tensor] = {.name = real_.tensor(tensor).name, .where = {}, .min = range.min, .max = range.max};
}

void RangeChoices::choose(std::int32_t tensor, const Quantization& codes) {
  if (real_.tensor(tensor).constant) return;
  chosen_[tensor] = {.name = real_.tensor(tensor).name, .where = {}, .codes = codes};
}

void RangeChoices::note(const std::string& text) {
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(text);
}

std::string RangeChoices::names_of(const std::set<std::int32_t>& tensors) const {
  std::vector<std::string> names;
  for (const std::int32_t tensor : tensors) names.push_back(printable(real_.tensor(tensor).name));
  return listed(names);
}

std::set<std::int32_t> RangeChoices::unused() const {
  std::set<std::int32_t> unused;
  for (const auto& [tensor, range] : given_)
    if (!used_.contains(tensor)) unused.insert(tensor);
  return unused;
}

std::vector<std::string> RangeChoices::notes() const {
  std::vector<std::string> lines;
  if (file_.ranges.empty()) return notes_;
  lines.push_back(count_of(std::ssize(used_), "range") + " of " + file_.path + ", " + file_.form);
  if (!unknown_.empty()) {
    lines.push_back(std::to_string(unknown_.size()) + " of " + count_of(std::ssize(file_.ranges), "range") +
                    (unknown_.size() == 1 ? " names" : " name") + " no tensor of this network: " + listed(unknown_));
  }
  if (contradicted_ > 0)
    lines.push_back(count_of(static_cast<std::int64_t>(contradicted_), "range") +
                    " of tensors that have another one before it: the first counts");
  if (const auto idle = unused(); !idle.empty()) {
    lines.push_back(count_of(std::ssize(idle), "range") + (idle.size() == 1 ? " decides" : " decide") +
                    " nothing, the codes follow from others by the quantiser's rules: " + names_of(idle));
  }
  if (!calibrated_.empty())
    lines.push_back(count_of(std::ssize(calibrated_), "tensor") + " calibrated from the samples: " + names_of(calibrated_));
  lines.insert(lines.end(), notes_.begin(), notes_.end());
  return lines;
}

std::vector<TensorRange> RangeChoices::chosen() const {
  std::vector<TensorRange> list;
  for (const auto& [tensor, range] : chosen_) list.push_back(range);
  return list;
}

Quantization given_codes(const TensorRange& range, ElementType type, Coding coding) {
  require_type(range, type);
  if (range.codes.per_channel()) refuse_range(range, count_of(std::ssize(range.codes.scales), "scale") + "; data have one");
  const std::int64_t zero_point = shifted_zero_point(range, 0, type);
  const IntegerRange limits = coding == Coding::affine && type == ElementType::int8 ? range_of(type) : IntegerRange{0, 0};
  if (zero_point < limits.min || zero_point > limits.max) {
    refuse_range(range, "zero point " + std::to_string(zero_point) + "; " + std::string(name_of(type)) + " codes here have " +
                            std::to_string(limits.min) + (limits.max == limits.min ? "" : " to " + std::to_string(limits.max)));
  }
  return {{float32_scale(range, range.codes.scale())}, {zero_point}, 0};
}

Quantization given_weights(const TensorRange& range, const ModelTensor& weights, std::int64_t axis) {
  if (!range.codes.present()) return {{float32_scale(range, double{static_cast<float>(RangeChoices::magnitude(range)) / 127.0F})}, {0}, 0};
  require_type(range, ElementType::int8);
  const std::int64_t channels = weights.shape[static_cast<std::size_t>(axis)], found = std::ssize(range.codes.scales);
  if (found > 1 && (found != channels || (range.codes.axis >= 0 && range.codes.axis != axis)))
    refuse_range(range, count_of(found, "scale") + " along axis " + std::to_string(range.codes.axis) + "; its weights have " +
                            count_of(channels, "output channel") + " along axis " + std::to_string(axis));
  Quantization codes{{}, std::vector<std::int64_t>(range.codes.scales.size(), 0), found > 1 ? axis : 0};
  for (std::size_t channel = 0; channel < range.codes.scales.size(); ++channel) {
    const std::int64_t zero_point = shifted_zero_point(range, channel, ElementType::int8);
    if (zero_point != 0) refuse_range(range, "zero point " + std::to_string(zero_point) + "; weights here have 0");
    codes.scales.push_back(float32_scale(range, range.codes.scale(channel)));
  }
  return codes;
}

void GroupRanges::give(std::int32_t tensor, std::int32_t origin, ElementType type, Coding coding) {
  const TensorRange* const range = choices_.given(origin);
  if (range == nullptr) return;
  Decided& group = of(tensor);
  if (range->codes.present()) join_codes(group, *range, given_codes(*range, type, coding));
  else group.range = hull(group.range, {range->min, range->max});
  if (group.by == nullptr || (range->codes.present() && !group.by->codes.present())) group.by = range;
}

void GroupRanges::join_codes(Decided& group, const TensorRange& other, const Quantization& codes) {
  if (!group.codes) {
    group.codes = codes;
    return;
  }
  if (*group.codes == codes) return;
  const std::string both = "'" + printable(group.by->name) + "' and '" + printable(other.name) + "' have one quantisation here";
  if (group.codes->zero_point() != 0 || codes.zero_point() != 0)
    throw Error(ErrorCode::bad_quantization, other.where, both + ", " + group.by->where + " gives another");
  if (codes.scale() > group.codes->scale()) group.codes = codes;
  choices_.note(both + ": of the scales that are given, the wider one counts");
}

}  // namespace lastbit
