// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which shapes and attributes these take: operations along the last axis or one axis that order, sum or normalise it, and the detection of boxes.
#include <cmath>

#include "lastbit/shape.hpp"
#include "model/operation_checks.hpp"

namespace lastbit {
namespace {

void require_count(const OperationView& operation, const char* what, std::int64_t count) {
  if (count >= 1 && count <= largest_window_parameter) return;
  operation.fail(ErrorCode::bad_attribute,
                 std::string(what) + " " + std::to_string(count) + " is not between 1 and " + std::to_string(largest_window_parameter));
}

void check_thresholds(const OperationView& operation, const DetectionAttributes& attributes) {
  operation.require(std::isfinite(attributes.least_score), ErrorCode::bad_attribute, "least_score is not finite");
  operation.require(attributes.most_overlap > 0 && attributes.most_overlap <= 1, ErrorCode::bad_attribute,
                    "most_overlap is not above 0 and at most 1");
  for (const double scale : attributes.scales)
    operation.require(scale >= 1e-6 && scale <= 1e6, ErrorCode::bad_attribute, "a scale is not between 1e-6 and 1e6");
  operation.require(attributes.suppression <= Suppression::each_class, ErrorCode::bad_attribute, "unknown suppression");
}

}  // namespace

void check_rows(const OperationView& operation) {
  operation.require(operation.input().shape.rank() >= 1, ErrorCode::shape_mismatch, "a scalar has no last axis");
  check_same_shape(operation);
}

void check_cumsum(const OperationView& operation) {
  require_axis(operation, operation.attributes<CumsumAttributes>().axis);
  check_same_shape(operation);
}

void check_top_k(const OperationView& operation) {
  const std::int64_t axis = operation.attributes<TopKAttributes>().axis;
  require_axis(operation, axis);
  std::vector<std::int64_t> expected = sizes_of(operation.input());
  operation.require_rank(operation.output(), expected.size());
  const std::int64_t count = operation.output().shape[static_cast<std::size_t>(axis)];
  operation.require(count <= expected[static_cast<std::size_t>(axis)], ErrorCode::shape_mismatch,
                    std::to_string(count) + " of " + std::to_string(expected[static_cast<std::size_t>(axis)]) + " values");
  expected[static_cast<std::size_t>(axis)] = count;
  for (std::size_t i = 0; i < 2; ++i) operation.require_shape(operation.output(i), Shape(expected));
}

void check_detection(const OperationView& operation) {
  const auto& attributes = operation.attributes<DetectionAttributes>();
  const ModelTensor &boxes = operation.input(0), &scores = operation.input(1), &anchors = operation.input(2);
  require_count(operation, "classes", attributes.classes);
  require_count(operation, "most_detections", attributes.most_detections);
  require_count(operation, "classes_per_detection", attributes.classes_per_detection);
  require_count(operation, "detections_per_class", attributes.detections_per_class);
  check_thresholds(operation, attributes);
  for (const ModelTensor* const tensor : {&boxes, &scores}) operation.require_rank(*tensor, 3);
  operation.require(boxes.shape[0] == 1 && boxes.shape[2] >= 4, ErrorCode::shape_mismatch,
                    "boxes '" + boxes.name + "' are " + boxes.shape.text() + "; one batch of 4 coordinates or more is needed");
  const std::int64_t background = scores.shape[2] - attributes.classes;
  operation.require(background == 0 || background == 1, ErrorCode::shape_mismatch,
                    "scores '" + scores.name + "' are " + scores.shape.text() + " for " + std::to_string(attributes.classes) + " classes");
  operation.require_shape(scores, {1, boxes.shape[1], scores.shape[2]});
  operation.require_shape(anchors, {boxes.shape[1], 4});
  const bool by_best = attributes.suppression == Suppression::best_class;
  const std::int64_t found = attributes.most_detections * (by_best ? attributes.classes_per_detection : 1);
  operation.require_shape(operation.output(0), {1, found, 4});
  operation.require_shape(operation.output(1), {1, found});
  operation.require_shape(operation.output(2), {1, found});
  operation.require_shape(operation.output(3), {1});
}

}  // namespace lastbit
