// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/detection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/float/real.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"

namespace lastbit {
namespace {

struct Box {
  float y_min = 0, x_min = 0, y_max = 0, x_max = 0;
};

/// A box, or a class of one, with its score.
struct Scored {
  std::size_t box = 0, class_index = 0;
  float score = 0;
};

bool is_better(const Scored& a, const Scored& b) { return a.score > b.score; }

// Step 1.

struct Side {
  float centre, half;
};

Side decoded(float offset, float size, float anchor, float anchor_size, double offset_scale, double size_scale) {
  const auto d = [](auto value) { return static_cast<double>(static_cast<float>(value)); };
  return {static_cast<float>(d(offset) / d(offset_scale) * d(anchor_size) + d(anchor)),
          static_cast<float>(0.5 * std::exp(d(size) / d(size_scale)) * d(anchor_size))};
}

std::vector<Box> decoded_boxes(const DetectionAttributes& attributes, const DetectionInputs& in) {
  std::vector<Box> boxes(in.anchors.size() / 4);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const auto code = in.boxes.subspan(b * in.coordinates, 4), anchor = in.anchors.subspan(4 * b, 4);
    const Side y = decoded(code[0], code[2], anchor[0], anchor[2], attributes.scales[0], attributes.scales[2]);
    const Side x = decoded(code[1], code[3], anchor[1], anchor[3], attributes.scales[1], attributes.scales[3]);
    boxes[b] = {y.centre - y.half, x.centre - x.half, y.centre + y.half, x.centre + x.half};
  }
  return boxes;
}

// Step 2.

float overlap(const Box& a, const Box& b) {
  const float area_a = (a.y_max - a.y_min) * (a.x_max - a.x_min), area_b = (b.y_max - b.y_min) * (b.x_max - b.x_min);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min), 0.0F);
  const float width = std::max(std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min), 0.0F);
  const float both = height * width;
  return both / (area_a + area_b - both);
}

/// Those of the list that are taken.
std::vector<Scored> suppressed(const DetectionAttributes& attributes, const std::vector<Box>& boxes, std::vector<Scored> list,
                               std::int64_t wanted) {
  const auto least = static_cast<float>(attributes.least_score), most_overlap = static_cast<float>(attributes.most_overlap);
  std::erase_if(list, [&](const Scored& one) { return !(one.score >= least); });
  std::ranges::stable_sort(list, is_better);
  std::vector<Scored> taken;
  for (const Scored& one : list) {
    if (std::ssize(taken) >= wanted) break;
    const auto covers = [&](const Scored& before) { return overlap(boxes[before.box], boxes[one.box]) > most_overlap; };
    if (std::ranges::none_of(taken, covers)) taken.push_back(one);
  }
  return taken;
}

// Step 3.

std::span<const float> scores_of(const DetectionAttributes& attributes, const DetectionInputs& in, std::size_t box) {
  const auto classes = static_cast<std::size_t>(attributes.classes), background = in.classes_with_background - classes;
  return in.scores.subspan(box * in.classes_with_background + background, classes);
}

/// The best classes of a box, in order.
std::vector<std::size_t> best_classes(std::span<const float> scores, std::size_t count) {
  std::vector<std::size_t> classes(scores.size());
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  const auto is_before = [&](std::size_t a, std::size_t b) {
    if (scores[a] > scores[b] || scores[b] > scores[a]) return scores[a] > scores[b];
    const bool a_known = !std::isnan(scores[a]), b_known = !std::isnan(scores[b]);
    return a_known != b_known ? a_known : a < b;
  };
  std::ranges::partial_sort(classes, classes.begin() + static_cast<std::ptrdiff_t>(count), is_before);
  classes.resize(count);
  return classes;
}

void store(const Box& box, const Scored& detected, std::size_t at, const DetectionOutputs& out) {
  std::ranges::copy(std::array{box.y_min, box.x_min, box.y_max, box.x_max}, out.boxes.begin() + static_cast<std::ptrdiff_t>(4 * at));
  out.classes[at] = static_cast<float>(detected.class_index);
  out.scores[at] = detected.score;
}

void detect_by_best_class(const DetectionAttributes& attributes, const DetectionInputs& in, const std::vector<Box>& boxes,
                          const DetectionOutputs& out) {
  const auto per_box = static_cast<std::size_t>(attributes.classes_per_detection);
  const std::size_t known = std::min(per_box, static_cast<std::size_t>(attributes.classes));
  std::vector<Scored> list;
  list.reserve(boxes.size());
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const auto scores = scores_of(attributes, in, b);
    const std::size_t best = best_classes(scores, 1).front();
    list.push_back({b, best, scores[best]});
  }
  const std::vector<Scored> taken = suppressed(attributes, boxes, std::move(list), attributes.most_detections);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const auto scores = scores_of(attributes, in, taken[i].box);
    const std::vector<std::size_t> classes = best_classes(scores, known);
    for (std::size_t c = 0; c < known; ++c)
      store(boxes[taken[i].box], {taken[i].box, classes[c], scores[classes[c]]}, i * per_box + c, out);
  }
  out.count[0] = static_cast<float>(taken.size());
}

void detect_by_each_class(const DetectionAttributes& attributes, const DetectionInputs& in, const std::vector<Box>& boxes,
                          const DetectionOutputs& out) {
  const auto most = static_cast<std::size_t>(attributes.most_detections);
  std::vector<Scored> best;
  for (std::size_t c = 0; c < static_cast<std::size_t>(attributes.classes); ++c) {
    std::vector<Scored> list;
    list.reserve(boxes.size());
    for (std::size_t b = 0; b < boxes.size(); ++b) list.push_back({b, c, scores_of(attributes, in, b)[c]});
    const std::vector<Scored> taken = suppressed(attributes, boxes, std::move(list), attributes.detections_per_class);
    best.insert(best.end(), taken.begin(), taken.end());
    std::ranges::stable_sort(best, is_better);
    best.resize(std::min(best.size(), most));
  }
  for (std::size_t i = 0; i < best.size(); ++i) store(boxes[best[i].box], best[i], i, out);
  out.count[0] = static_cast<float>(best.size());
}

/// What a kernel reads: the codes' reals by one product in float32.
std::vector<float> reals_of(const Tensor& tensor, const Quantization& quantization) {
  if (tensor.type() == ElementType::float32) return {tensor.values<float>().begin(), tensor.values<float>().end()};
  std::vector<float> reals;
  reals.reserve(static_cast<std::size_t>(tensor.element_count()));
  const auto scale = static_cast<float>(quantization.scale());
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    reals.push_back(static_cast<float>(tensor.integer_at(i) - quantization.zero_point()) * scale);
  return reals;
}

struct DetectionShape {
  std::size_t coordinates, classes_with_background;

  DetectionShape(const Model& model, const Operation& operation)
      : coordinates(static_cast<std::size_t>(model.tensor(operation.inputs[0]).shape[2])),
        classes_with_background(static_cast<std::size_t>(model.tensor(operation.inputs[1]).shape[2])) {}
};

DetectionOutputs outputs_of(const Execution& run) {
  const auto values = [&](std::size_t output) { return run.outputs[output].values<float>(); };
  return {values(0), values(1), values(2), values(3)};
}

}  // namespace

void detect(const DetectionAttributes& attributes, const DetectionInputs& in, const DetectionOutputs& out) {
  for (const std::span<float> values : {out.boxes, out.classes, out.scores}) std::ranges::fill(values, 0.0F);  // 4.
  const std::vector<Box> boxes = decoded_boxes(attributes, in);
  if (attributes.suppression == Suppression::best_class) detect_by_best_class(attributes, in, boxes, out);
  else detect_by_each_class(attributes, in, boxes, out);
}

Executor prepare_real_detection(const Model& model, const Operation& operation) {
  return
      [attributes = std::get<DetectionAttributes>(operation.attributes), shape = DetectionShape(model, operation)](const Execution& run) {
        const auto values = [&](std::size_t input) { return run.inputs[input]->values<float>(); };
        detect(attributes, {values(0), values(1), values(2), shape.coordinates, shape.classes_with_background}, outputs_of(run));
      };
}

Executor prepare_detection(const Model& model, const Operation& operation, const Backend& backend) {
  if (backend.detection == Detection::absent) throw_unsupported(operation, "the backend has no such arithmetic");
  std::array<Quantization, 3> codes;
  for (std::size_t i = 0; i < 3; ++i) {
    const ModelTensor& input = model.tensor(operation.inputs[i]);
    if (input.type == ElementType::int8) throw_unsupported(operation, "the backend has no arithmetic for int8 data");
    codes[i] = input.quantization;
  }
  return [codes, attributes = std::get<DetectionAttributes>(operation.attributes),
          shape = DetectionShape(model, operation)](const Execution& run) {
    std::array<std::vector<float>, 3> reals;
    for (std::size_t i = 0; i < 3; ++i) reals[i] = reals_of(*run.inputs[i], codes[i]);
    detect(attributes, {reals[0], reals[1], reals[2], shape.coordinates, shape.classes_with_background}, outputs_of(run));
  };
}

}  // namespace lastbit
