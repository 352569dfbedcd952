// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/json_model.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

void read(const JsonView& json, std::string_view key, double& value) {
  if (const auto found = json.find(key)) value = found->number();
}
void read(const JsonView& json, std::string_view key, bool& value) {
  if (const auto found = json.find(key)) value = found->boolean();
}
void read(const JsonView& json, std::string_view key, std::vector<std::int64_t>& value) {
  if (const auto found = json.find(key)) value = found->integers();
}

void read(const JsonView& json, Extent2d& value) {
  const auto sizes = json.integers();
  if (sizes.size() != 2) json.fail("[height, width] is needed");
  value = {sizes[0], sizes[1]};
}
void read(const JsonView& json, std::string_view key, Extent2d& value) {
  if (const auto found = json.find(key)) read(*found, value);
}

void read(const JsonView& json, std::string_view key, Padding2d& value) {
  const auto found = json.find(key);
  if (!found) return;
  if (found->value().is_array()) {
    const auto sizes = found->integers();
    if (sizes.size() != 4) found->fail("[top, bottom, left, right] is needed");
    value = {PaddingMode::explicit_sizes, sizes[0], sizes[1], sizes[2], sizes[3]};
    return;
  }
  const std::string mode = found->text();
  if (mode != "same" && mode != "valid") found->fail("'" + mode + "' is neither \"same\" nor \"valid\"");
  value.mode = mode == "same" ? PaddingMode::same : PaddingMode::valid;
}

void read(const JsonView& json, std::string_view key, Activation& value) {
  const auto found = json.find(key);
  if (!found) return;
  const auto activation = activation_from(found->text());
  if (!activation) found->fail("unknown activation '" + found->text() + "'");
  value = *activation;
}

/// An enumerator by name.
template <class E>
void read_name(const JsonView& json, E& value, std::optional<E> (*from_name)(std::string_view)) {
  const auto found = from_name(json.text());
  if (!found) json.fail("unknown name '" + json.text() + "'");
  value = *found;
}

float real_bound(const JsonView& json, double value) {
  if (std::abs(value) > std::numeric_limits<float>::max()) json.fail("a bound beyond float32");
  return static_cast<float>(value);
}

/// One that no device has stays one.
int register_shift(std::int64_t shift) { return static_cast<int>(std::clamp<std::int64_t>(shift, -1, largest_register_shift + 1)); }

void read(const JsonView& json, std::string_view key, std::vector<ScaleRegister>& registers) {
  const auto found = json.find(key);
  if (!found) return;
  found->only({"multiplier", "shift", "offset"});
  const auto multipliers = (*found)["multiplier"].integers(), shifts = (*found)["shift"].integers();
  if (multipliers.size() != shifts.size()) found->fail("as many multipliers as shifts are needed");
  std::vector<std::int64_t> offsets(shifts.size());
  if (const auto stated = found->find("offset")) offsets = stated->integers();
  if (offsets.size() != shifts.size()) found->fail("as many offsets as shifts are needed");
  for (std::size_t i = 0; i < shifts.size(); ++i) registers.push_back({multipliers[i], register_shift(shifts[i]), offsets[i]});
}

/// One table of a layer.
void read(const JsonView& json, std::string_view key, SegmentTable& table) {
  const auto found = json.find(key);
  if (!found) return;
  found->only({"start", "multiplier", "shift", "add"});
  const auto starts = (*found)["start"].integers(), multipliers = (*found)["multiplier"].integers(), shifts = (*found)["shift"].integers(),
             addends = (*found)["add"].integers();
  if (multipliers.size() != starts.size() || shifts.size() != starts.size() || addends.size() != starts.size())
    found->fail("as many multipliers, shifts and addends as starts are needed");
  std::vector<ScaleSegment> segments;
  for (std::size_t i = 0; i < starts.size(); ++i) segments.push_back({starts[i], multipliers[i], register_shift(shifts[i]), addends[i]});
  if (!segments.empty()) table = SegmentTable(std::move(segments));
}

ScaleRegister one_pair(const JsonView& json) {
  json.only({"multiplier", "shift"});
  return {json["multiplier"].integer(), register_shift(json["shift"].integer())};
}

void read(const JsonView& json, std::string_view key, std::optional<CrossTerms>& terms) {
  const auto found = json.find(key);
  if (!found) return;
  found->only({"data", "weights", "per_channel"});
  terms = CrossTerms{one_pair((*found)["data"]), one_pair((*found)["weights"]), (*found)["per_channel"].integer()};
}

/// Bounds are codes of integer data, or real values of floats.
void read_bounds(const JsonView& json, ElementType data_type, OutputBounds& bounds) {
  read(json, "activation", bounds.activation);
  read(json, "accumulator_clip", bounds.accumulator_clip);
  read(json, "registers", bounds.registers);
  read(json, "below_zero", bounds.below_zero);
  read(json, "converter", bounds.converter);
  read(json, "segments", bounds.segments);
  const auto clamp = json.find("clamp");
  if (!clamp) return;
  if (!is_integer(data_type)) {
    const auto range = clamp->numbers();
    if (range.size() != 2) clamp->fail("[min, max] is needed");
    bounds.real_clamp = {real_bound(*clamp, range[0]), real_bound(*clamp, range[1])};
    return;
  }
  const auto range = clamp->integers();
  if (range.size() != 2) clamp->fail("[min, max] is needed");
  bounds.clamp = IntegerRange{range[0], range[1]};
}

void read(const JsonView& json, std::string_view key, PartialWindows& value) {
  const auto found = json.find(key);
  if (!found) return;
  const auto windows = partial_windows_from(found->text());
  if (!windows) found->fail("'" + found->text() + "' is none of dropped, last_truncated, every_start");
  value = *windows;
}

/// One overload per type of attributes: which keys it has, and where each goes.
struct Reader {
  const JsonView& json;
  OperationKind kind;
  ElementType data_type;

  void operator()(std::monostate&) const { json.only({}); }
  void operator()(Conv2dAttributes& attributes) const {
    if (kind == OperationKind::transposed_conv2d)
      json.only({"stride", "padding", "activation", "clamp", "accumulator_clip", "registers", "below_zero", "converter"});
    else
      json.only({"stride", "dilation", "padding", "activation", "clamp", "accumulator_clip", "registers", "below_zero", "converter",
                 "segments", "cross_terms"});
    read(json, "stride", attributes.stride);
    read(json, "dilation", attributes.dilation);
    read(json, "padding", attributes.padding);
    read(json, "cross_terms", attributes.cross_terms);
    read_bounds(json, data_type, attributes.bounds);
  }
  void operator()(FullyConnectedAttributes& attributes) const {
    json.only({"activation", "clamp", "accumulator_clip", "registers", "below_zero", "converter", "segments", "active_rows", "bias_column",
               "stated_by_input", "asymmetric_inputs"});
    read_bounds(json, data_type, attributes.bounds);
    read(json, "active_rows", attributes.active_rows);
    if (const auto column = json.find("bias_column")) attributes.bias_column = column->integer();
    read(json, "stated_by_input", attributes.stated_by_input);
    read(json, "asymmetric_inputs", attributes.asymmetric_inputs);
  }
  void operator()(MatmulAttributes& attributes) const {
    json.only({"transpose_a", "transpose_b", "activation", "clamp"});
    read(json, "transpose_a", attributes.transpose_a);
    read(json, "transpose_b", attributes.transpose_b);
    read_bounds(json, data_type, attributes.bounds);
  }
  void operator()(Pool2dAttributes& attributes) const {
    read_bounds(json, data_type, attributes.bounds);
    read(json, "planar", attributes.planar);
    if (kind == OperationKind::global_average_pool) return json.only({"activation", "clamp", "registers", "planar"});
    json.only({"filter", "stride", "padding", "partial_windows", "activation", "clamp", "counted_padding", "planar"});
    read(json["filter"], attributes.filter);
    read(json, "stride", attributes.stride);
    read(json, "padding", attributes.padding);
    read(json, "partial_windows", attributes.partial_windows);
    read(json, "counted_padding", attributes.counted_padding);
  }
  void operator()(MeanAttributes& attributes) const {
    json.only({"axes", "keep_dims"});
    attributes.axes = json["axes"].integers();
    read(json, "keep_dims", attributes.keep_dims);
  }
  void operator()(ElementwiseAttributes& attributes) const {
    if (kind == OperationKind::mul) json.only({"activation", "clamp", "registers"});
    else if (kind == OperationKind::div) json.only({"activation", "clamp"});
    else if (kind == OperationKind::add_n) json.only({"activation", "clamp", "accumulator_clip", "registers", "below_zero", "converter"});
    else json.only({"activation", "clamp", "power_of_two_scales"});
    read(json, "power_of_two_scales", attributes.power_of_two_scales);
    read_bounds(json, data_type, attributes.bounds);
  }
  void operator()(ConcatAttributes& attributes) const {
    json.only({"axis", "activation"});
    attributes.axis = json["axis"].integer();
    read(json, "activation", attributes.activation);
  }
  void operator()(PadAttributes& attributes) const {
    json.only({"paddings", "value"});
    const JsonView paddings = json["paddings"];
    for (std::size_t i = 0; i < paddings.size(); ++i) {
      const auto pair = paddings.at(i).integers();
      if (pair.size() != 2) paddings.at(i).fail("[before, after] is needed");
      attributes.paddings.push_back({pair[0], pair[1]});
    }
    const auto value = json.find("value");
    if (value && is_integer(data_type)) attributes.value = value->integer();
    else if (value) attributes.real_value = value->number();
  }
  void operator()(TransposeAttributes& attributes) const {
    json.only({"permutation"});
    attributes.permutation = json["permutation"].integers();
  }
  void operator()(SliceAttributes& attributes) const {
    json.only({"begin", "strides"});
    attributes.begin = json["begin"].integers();
    read(json, "strides", attributes.strides);
  }
  void operator()(SplitAttributes& attributes) const {
    json.only({"axis"});
    attributes.axis = json["axis"].integer();
  }
  void operator()(LeakyReluAttributes& attributes) const {
    json.only({"alpha"});
    if (kind == OperationKind::elu && !json.find("alpha")) return;
    attributes.alpha = json["alpha"].number();
  }
  void operator()(ClipAttributes& attributes) const {
    json.only({"clamp"});
    static_cast<void>(json["clamp"]);
    read_bounds(json, data_type, attributes.bounds);
  }
  void operator()(ResizeAttributes& attributes) const {
    json.only({"mode", "coordinates", "nearest_rounding", "scales"});
    read_name(json["mode"], attributes.mode, resize_mode_from);
    if (const auto found = json.find("coordinates")) read_name(*found, attributes.coordinates, resize_coordinates_from);
    if (const auto found = json.find("nearest_rounding")) read_name(*found, attributes.nearest, enumerator_from<Rounding>);
    const auto scales = json.find("scales");
    if (!scales) return;
    if (scales->size() != 2) scales->fail("[height, width] is needed");
    attributes.scales = std::array{scales->at(0).number(), scales->at(1).number()};
  }
  void operator()(SvdfAttributes& attributes) const {
    json.only({"rank", "activation"});
    if (const auto rank = json.find("rank")) attributes.rank = rank->integer();
    read(json, "activation", attributes.activation);
  }
  void operator()(LstmAttributes& attributes) const {
    json.only({"cell_clip", "time_major"});
    read(json, "cell_clip", attributes.cell_clip);
    read(json, "time_major", attributes.time_major);
  }
  void operator()(SoftmaxAttributes& attributes) const {
    json.only({"beta"});
    read(json, "beta", attributes.beta);
  }
  void operator()(FusedConv2dAttributes& attributes) const {
    json.only({"stride", "padding", "pool"});
    read(json, "stride", attributes.stride);
    read(json, "padding", attributes.padding);
    const auto pool = json.find("pool");
    if (!pool) return;
    pool->only({"kind", "filter", "stride", "partial_windows"});
    const std::string kind_name = (*pool)["kind"].text();
    if (kind_name != "max" && kind_name != "sum") pool->fail("kind '" + kind_name + "' is neither \"max\" nor \"sum\"");
    attributes.pool = kind_name == "max" ? PoolKind::max : PoolKind::sum;
    read((*pool)["filter"], attributes.pool_filter);
    read(*pool, "stride", attributes.pool_stride);
    read(*pool, "partial_windows", attributes.partial_windows);
  }
  void operator()(RequantizeAttributes& attributes) const {
    json.only({"activation", "clamp", "accumulator_clip", "registers", "below_zero", "converter"});
    read_bounds(json, data_type, attributes.bounds);
  }
  void operator()(GatherAttributes& attributes) const {
    json.only({"axis"});
    attributes.axis = json["axis"].integer();
  }
  void operator()(ArgmaxAttributes& attributes) const {
    json.only({"axis"});
    attributes.axis = json["axis"].integer();
  }
  void operator()(CumsumAttributes& attributes) const {
    json.only({"axis", "exclusive", "reverse"});
    attributes.axis = json["axis"].integer();
    read(json, "exclusive", attributes.exclusive);
    read(json, "reverse", attributes.reverse);
  }
  void operator()(TopKAttributes& attributes) const {
    json.only({"axis", "smallest"});
    attributes.axis = json["axis"].integer();
    read(json, "smallest", attributes.smallest);
  }
  void operator()(BlockAttributes& attributes) const {
    json.only({"format"});
    if (const auto found = json.find("format")) read_name(*found, attributes.format, block_format_from);
  }
  void operator()(DetectionAttributes& attributes) const {
    json.only({"classes", "most_detections", "classes_per_detection", "detections_per_class", "suppression", "least_score", "most_overlap",
               "scales"});
    attributes.classes = json["classes"].integer();
    attributes.most_detections = json["most_detections"].integer();
    if (const auto found = json.find("classes_per_detection")) attributes.classes_per_detection = found->integer();
    if (const auto found = json.find("detections_per_class")) attributes.detections_per_class = found->integer();
    if (const auto found = json.find("suppression")) read_name(*found, attributes.suppression, suppression_from);
    attributes.least_score = json["least_score"].number();
    attributes.most_overlap = json["most_overlap"].number();
    const auto scales = json.find("scales");
    if (!scales) return;
    if (scales->size() != 4) scales->fail("[y, x, height, width] is needed");
    for (std::size_t i = 0; i < 4; ++i) attributes.scales[i] = scales->at(i).number();
  }
};

}  // namespace

Attributes attributes_from_json(OperationKind kind, const JsonView& json, ElementType data_type) {
  Attributes attributes = default_attributes(kind);
  std::visit(Reader{json, kind, data_type}, attributes);
  return attributes;
}

}  // namespace lastbit
