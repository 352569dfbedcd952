// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Detected boxes of scored ones. Contract, for box b of `count` with codes (y, x, h, w), an anchor (y, x, h, w) and a score for each class:
//   1. centre = float(double(y) / scale_y * anchor_h + anchor_y), half = float(0.5 * exp(double(h) / scale_h) * anchor_h), x and w alike;
//      the box is (centre_y - half_h, centre_x - half_w, centre_y + half_h, centre_x + half_w) in float32;
//   2. suppression of a list of scores: those of least_score and more in descending order, of equal ones the first; each is taken unless its overlap
//      with one that was taken before is above most_overlap; it ends with as many as are wanted;
//      overlap = area of both / (area + area - area of both) in float32, 0 where a box has no area;
//   3. best_class: one list, the best score of every box; each taken box is detected as its classes_per_detection best classes (no more than there are),
//      of equal ones the first; the count is that of boxes;
//      each_class: a list for each class, detections_per_class of it; the best most_detections of all lists, of equal scores that of the earlier class and
//      then of the earlier place in its list; the count is that of detections;
//   4. the outputs behind these are 0, where the kernel leaves whatever was there. A NaN among a box's scores is the last of them.
// Source: tensorflow/lite/kernels/detection_postprocess.cc; the order of equal scores is that of TFLite Micro's kernel of this name.
#pragma once

#include <span>

#include "lastbit/model.hpp"

namespace lastbit {

struct DetectionInputs {
  std::span<const float> boxes, scores, anchors;
  std::size_t coordinates = 4;          ///< of a box: 4, and others that are not read
  std::size_t classes_with_background;  ///< of a row of scores
};

struct DetectionOutputs {
  std::span<float> boxes, classes, scores, count;
};

void detect(const DetectionAttributes& attributes, const DetectionInputs& in, const DetectionOutputs& out);

}  // namespace lastbit
