// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The other direction of json_attributes.cpp: what differs from the default.
#include <algorithm>
#include <limits>

#include "formats/json_model.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

OrderedJson extent(const Extent2d& value) { return {value.height, value.width}; }

OrderedJson padding_to_json(const Padding2d& padding) {
  if (padding.mode == PaddingMode::same) return "same";
  if (padding.mode == PaddingMode::valid) return "valid";
  return {padding.top, padding.bottom, padding.left, padding.right};
}

/// JSON has no infinity: a bound that bounds nothing is the largest float.
double finite(float bound) {
  constexpr float largest = std::numeric_limits<float>::max();
  return double{std::clamp(bound, -largest, largest)};
}

/// One overload per type of attributes, as Reader has.
struct Writer {
  OrderedJson& json;
  OperationKind kind;

  void registers(const char* name, const std::vector<ScaleRegister>& list) const {
    const bool has_offsets = std::ranges::any_of(list, [](const ScaleRegister& each) { return each.offset != 0; });
    for (const ScaleRegister& each : list) {
      json[name]["multiplier"].push_back(each.multiplier);
      json[name]["shift"].push_back(each.shift);
      if (has_offsets) json[name]["offset"].push_back(each.offset);
    }
  }
  void bounds(const OutputBounds& bounds) const {
    if (bounds.activation != Activation::none) json["activation"] = name_of(bounds.activation);
    if (!bounds.accumulator_clip.empty()) json["accumulator_clip"] = bounds.accumulator_clip;
    registers("registers", bounds.registers);
    registers("below_zero", bounds.below_zero);
    registers("converter", bounds.converter);
    for (const ScaleSegment& each : bounds.segments.segments()) {
      json["segments"]["start"].push_back(each.start);
      json["segments"]["multiplier"].push_back(each.multiplier);
      json["segments"]["shift"].push_back(each.shift);
      json["segments"]["add"].push_back(each.add);
    }
    if (bounds.clamp) json["clamp"] = {bounds.clamp->min, bounds.clamp->max};
    if (bounds.real_clamp) json["clamp"] = {finite((*bounds.real_clamp)[0]), finite((*bounds.real_clamp)[1])};
  }

  void operator()(const std::monostate&) const {}
  void operator()(const Conv2dAttributes& attributes) const {
    json["stride"] = extent(attributes.stride);
    if (attributes.dilation != Extent2d{}) json["dilation"] = extent(attributes.dilation);
    json["padding"] = padding_to_json(attributes.padding);
    if (attributes.cross_terms) {
      const auto pair = [](const ScaleRegister& each) { return OrderedJson{{"multiplier", each.multiplier}, {"shift", each.shift}}; };
      json["cross_terms"] = {{"data", pair(attributes.cross_terms->data)},
                             {"weights", pair(attributes.cross_terms->weights)},
                             {"per_channel", attributes.cross_terms->per_channel}};
    }
    bounds(attributes.bounds);
  }
  void operator()(const FullyConnectedAttributes& attributes) const {
    if (!attributes.active_rows.empty()) json["active_rows"] = attributes.active_rows;
    if (attributes.bias_column) json["bias_column"] = *attributes.bias_column;
    if (attributes.stated_by_input) json["stated_by_input"] = true;
    if (attributes.asymmetric_inputs) json["asymmetric_inputs"] = true;
    bounds(attributes.bounds);
  }
  void operator()(const MatmulAttributes& attributes) const {
    if (attributes.transpose_a) json["transpose_a"] = true;
    if (attributes.transpose_b) json["transpose_b"] = true;
    bounds(attributes.bounds);
  }
  void operator()(const Pool2dAttributes& attributes) const {
    if (kind != OperationKind::global_average_pool) {
      json["filter"] = extent(attributes.filter);
      json["stride"] = extent(attributes.stride);
      json["padding"] = padding_to_json(attributes.padding);
      if (attributes.partial_windows != PartialWindows::dropped) json["partial_windows"] = name_of(attributes.partial_windows);
      if (attributes.counted_padding) json["counted_padding"] = true;
    }
    if (attributes.planar) json["planar"] = true;
    bounds(attributes.bounds);
  }
  void operator()(const MeanAttributes& attributes) const {
    json["axes"] = attributes.axes;
    if (attributes.keep_dims) json["keep_dims"] = true;
  }
  void operator()(const ElementwiseAttributes& attributes) const {
    if (attributes.power_of_two_scales) json["power_of_two_scales"] = true;
    bounds(attributes.bounds);
  }
  void operator()(const ConcatAttributes& attributes) const {
    json["axis"] = attributes.axis;
    if (attributes.activation != Activation::none) json["activation"] = name_of(attributes.activation);
  }
  void operator()(const PadAttributes& attributes) const {
    json["paddings"] = attributes.paddings;
    if (attributes.value) json["value"] = *attributes.value;
    if (attributes.real_value) json["value"] = *attributes.real_value;
  }
  void operator()(const TransposeAttributes& attributes) const { json["permutation"] = attributes.permutation; }
  void operator()(const SliceAttributes& attributes) const {
    json["begin"] = attributes.begin;
    if (!attributes.strides.empty()) json["strides"] = attributes.strides;
  }
  void operator()(const SplitAttributes& attributes) const { json["axis"] = attributes.axis; }
  void operator()(const LeakyReluAttributes& attributes) const { json["alpha"] = attributes.alpha; }
  void operator()(const ClipAttributes& attributes) const { bounds(attributes.bounds); }
  void operator()(const ResizeAttributes& attributes) const {
    json["mode"] = name_of(attributes.mode);
    json["coordinates"] = name_of(attributes.coordinates);
    json["nearest_rounding"] = name_of(attributes.nearest);
    if (attributes.scales) json["scales"] = *attributes.scales;
  }
  void operator()(const SvdfAttributes& attributes) const {
    json["rank"] = attributes.rank;
    if (attributes.activation != Activation::none) json["activation"] = name_of(attributes.activation);
  }
  void operator()(const LstmAttributes& attributes) const {
    if (attributes.cell_clip > 0) json["cell_clip"] = attributes.cell_clip;
    if (attributes.time_major) json["time_major"] = true;
  }
  void operator()(const FusedConv2dAttributes& attributes) const {
    json["stride"] = extent(attributes.stride);
    json["padding"] = padding_to_json(attributes.padding);
    if (attributes.pool == PoolKind::none) return;
    json["pool"] = {{"kind", attributes.pool == PoolKind::max ? "max" : "sum"},
                    {"filter", extent(attributes.pool_filter)},
                    {"stride", extent(attributes.pool_stride)},
                    {"partial_windows", name_of(attributes.partial_windows)}};
  }
  void operator()(const RequantizeAttributes& attributes) const { bounds(attributes.bounds); }
  void operator()(const SoftmaxAttributes& attributes) const { json["beta"] = attributes.beta; }
  void operator()(const GatherAttributes& attributes) const { json["axis"] = attributes.axis; }
  void operator()(const ArgmaxAttributes& attributes) const { json["axis"] = attributes.axis; }
  void operator()(const CumsumAttributes& attributes) const {
    json["axis"] = attributes.axis;
    if (attributes.exclusive) json["exclusive"] = true;
    if (attributes.reverse) json["reverse"] = true;
  }
  void operator()(const TopKAttributes& attributes) const {
    json["axis"] = attributes.axis;
    if (attributes.smallest) json["smallest"] = true;
  }
  void operator()(const BlockAttributes& attributes) const { json["format"] = name_of(attributes.format); }
  void operator()(const DetectionAttributes& attributes) const {
    json["classes"] = attributes.classes;
    json["most_detections"] = attributes.most_detections;
    const DetectionAttributes plain;
    if (attributes.classes_per_detection != plain.classes_per_detection) json["classes_per_detection"] = attributes.classes_per_detection;
    if (attributes.detections_per_class != plain.detections_per_class) json["detections_per_class"] = attributes.detections_per_class;
    if (attributes.suppression != plain.suppression) json["suppression"] = name_of(attributes.suppression);
    json["least_score"] = attributes.least_score;
    json["most_overlap"] = attributes.most_overlap;
    if (attributes.scales != plain.scales) json["scales"] = attributes.scales;
  }
};

}  // namespace

OrderedJson attributes_to_json(OperationKind kind, const Attributes& attributes) {
  OrderedJson json = OrderedJson::object();
  std::visit(Writer{json, kind}, attributes);
  return json;
}

}  // namespace lastbit
