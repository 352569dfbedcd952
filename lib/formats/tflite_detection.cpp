// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The custom operator TFLite_Detection_PostProcess. Its options are a FlexBuffer; their names and defaults are those of
// tensorflow/lite/kernels/detection_postprocess.cc.
#include <cmath>

#include "flatbuffers/flexbuffers.h"
#include "formats/tflite_operator.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

class DetectionOptions {
 public:
  explicit DetectionOptions(const OperatorReader& source) : source_(source) {
    const std::span<const std::uint8_t> bytes = source.custom_options();
    constexpr std::size_t shortest = 3;  // that a root lies in
    if (bytes.size() < shortest || !flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), nullptr)) source.malformed(corrupt);
    const flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
    if (!root.IsMap()) source.malformed(corrupt);
    map_ = root.AsMap();
  }

  [[nodiscard]] bool has(const char* name) const { return !map_[name].IsNull(); }
  [[nodiscard]] std::int64_t integer(const char* name) const { return number(name).AsInt64(); }
  [[nodiscard]] bool flag(const char* name) const { return has(name) && map_[name].AsBool(); }
  [[nodiscard]] double real(const char* name) const {
    const double value = number(name).AsDouble();
    if (!std::isfinite(value) || std::abs(value) > 1e9) source_.malformed("its option " + std::string(name) + " is no number of use");
    return static_cast<double>(static_cast<float>(value));
  }

 private:
  static constexpr const char* corrupt = "its options are missing or corrupt";

  [[nodiscard]] flexbuffers::Reference number(const char* name) const {
    if (!map_[name].IsNumeric()) source_.malformed("its option " + std::string(name) + " is missing");
    return map_[name];
  }

  const OperatorReader& source_;
  flexbuffers::Map map_ = flexbuffers::Map::EmptyMap();
};

DetectionAttributes attributes_of(const DetectionOptions& options) {
  DetectionAttributes attributes;
  attributes.classes = options.integer("num_classes");
  attributes.most_detections = options.integer("max_detections");
  attributes.classes_per_detection = options.integer("max_classes_per_detection");
  if (options.has("detections_per_class")) attributes.detections_per_class = options.integer("detections_per_class");
  if (options.flag("use_regular_nms")) attributes.suppression = Suppression::each_class;
  attributes.least_score = options.real("nms_score_threshold");
  attributes.most_overlap = options.real("nms_iou_threshold");
  attributes.scales = {options.real("y_scale"), options.real("x_scale"), options.real("h_scale"), options.real("w_scale")};
  return attributes;
}

/// What converters leave out: the kernel gives its outputs their shapes.
void state_shapes(const OperatorReader& source, const DetectionAttributes& attributes) {
  for (const std::int64_t count : {attributes.most_detections, attributes.classes_per_detection})
    if (count < 1 || count > largest_window_parameter) source.malformed("a number of detections of " + std::to_string(count));
  const std::int64_t found = attributes.most_detections * attributes.classes_per_detection;
  source.state_shape(0, {1, found, 4});
  source.state_shape(1, {1, found});
  source.state_shape(2, {1, found});
  source.state_shape(3, {1});
}

}  // namespace

void read_detection_postprocess(const OperatorReader& source) {
  source.require_inputs(3, 3);
  if (source.output_count() != 4) source.malformed(std::to_string(source.output_count()) + " outputs; 4 needed");
  const DetectionAttributes attributes = attributes_of(DetectionOptions(source));
  if (attributes.suppression == Suppression::each_class && attributes.classes_per_detection != 1)
    source.unsupported("use_regular_nms with several classes for each detection");
  state_shapes(source, attributes);
  source.emit(OperationKind::detection_postprocess, source.inputs(), attributes);
}

}  // namespace lastbit::tflite_format
