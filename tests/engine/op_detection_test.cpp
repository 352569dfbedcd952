// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// detection_postprocess: boxes decoded from anchors, thinned out by their best class or class by class.
#include <cmath>
#include <functional>
#include <random>

#include "lastbit/backends/golden.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "support/catch.hpp"
#include "support/layer_model.hpp"
#include "support/one_operation.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

struct Input {
  Tensor tensor;
  Quantization codes{};
};

Model network(const std::array<Input, 3>& inputs, const DetectionAttributes& attributes) {
  ModelBuilder builder;
  std::vector<std::int32_t> in;
  for (const auto& [tensor, codes] : inputs)
    in.push_back(builder.input({"x" + std::to_string(in.size()), tensor.type(), tensor.shape(), codes}));
  const bool by_best = attributes.suppression == Suppression::best_class;
  const std::int64_t found = attributes.most_detections * (by_best ? attributes.classes_per_detection : 1);
  std::vector<std::int32_t> out;
  for (const Shape& shape : {Shape{1, found, 4}, Shape{1, found}, Shape{1, found}, Shape{1}})
    out.push_back(builder.tensor({"y" + std::to_string(out.size()), ElementType::float32, shape}));
  builder.operation(OperationKind::detection_postprocess, "detected", in, out, attributes);
  return builder.finished(out);
}

struct Found {
  std::vector<float> boxes, classes, scores, count;
};

Found detected(const std::array<Input, 3>& inputs, const DetectionAttributes& attributes, const Backend& backend) {
  const Model model = network(inputs, attributes);
  const Trace trace = run(model, backend, {{inputs[0].tensor, inputs[1].tensor, inputs[2].tensor}});
  const auto values = [&](std::size_t output) { return values_of<float>(*trace.tensors[static_cast<std::size_t>(model.outputs[output])]); };
  return {values(0), values(1), values(2), values(3)};
}

// The example of the kernel's own test in numbers: six boxes around three anchor places, three classes behind a background.

const std::array<Input, 3> example{
    Input{tensor_of<float>({1, 6, 4}, {0, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0})},
    Input{tensor_of<float>({1, 6, 3}, {0, .9F, .8F, 0, .75F, .72F, 0, .6F, .5F, 0, .93F, .95F, 0, .5F, .4F, 0, .3F, .2F})},
    Input{
        tensor_of<float>({6, 4}, {.5F, .5F, 1, 1, .5F, .5F, 1, 1, .5F, .5F, 1, 1, .5F, 10.5F, 1, 1, .5F, 10.5F, 1, 1, .5F, 100.5F, 1, 1})}};

DetectionAttributes rules() {
  DetectionAttributes attributes;
  attributes.classes = 2;
  attributes.most_detections = 3;
  attributes.least_score = 0;
  attributes.most_overlap = 0.5;
  attributes.scales = {10, 10, 5, 5};
  return attributes;
}

TEST_CASE("the best class of every box: those that overlap a better one are gone") {
  for (const Backend& backend : {float_golden, tflite_double}) {
    const Found found = detected(example, rules(), backend);
    CHECK(found.count == std::vector<float>{3});
    CHECK(found.classes == std::vector<float>{1, 0, 0});
    CHECK(found.scores == std::vector<float>{.95F, .9F, .3F});
    CHECK(found.boxes == std::vector<float>{0, 10, 1, 11, 0, 0, 1, 1, 0, 100, 1, 101});
  }
}

TEST_CASE("several classes for each box, fewer than are asked for, and a threshold") {
  DetectionAttributes attributes = rules();
  attributes.classes_per_detection = 3;
  attributes.least_score = static_cast<double>(.9F);
  const Found found = detected(example, attributes, float_golden);
  CHECK(found.count == std::vector<float>{2});
  CHECK(found.classes == std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 0});
  CHECK(found.scores == std::vector<float>{.95F, .93F, 0, .9F, .8F, 0, 0, 0, 0});
}

TEST_CASE("class by class: a box may be found twice, and no class has more than its share") {
  DetectionAttributes attributes = rules();
  attributes.suppression = Suppression::each_class;
  Found found = detected(example, attributes, tflite_double);
  CHECK(found.count == std::vector<float>{3});
  CHECK(found.classes == std::vector<float>{1, 0, 0});
  CHECK(found.scores == std::vector<float>{.95F, .93F, .9F});
  CHECK(found.boxes == std::vector<float>{0, 10, 1, 11, 0, 10, 1, 11, 0, 0, 1, 1});
  attributes.detections_per_class = 1;
  found = detected(example, attributes, tflite_double);
  CHECK(found.count == std::vector<float>{2});
  CHECK(found.scores == std::vector<float>{.95F, .93F, 0});
}

// Against the kernel's procedure, box by box, on random scenes with many equal scores.

struct Corners {
  float y0, x0, y1, x1;
};

float share(const Corners& a, const Corners& b) {
  const float of_a = (a.y1 - a.y0) * (a.x1 - a.x0), of_b = (b.y1 - b.y0) * (b.x1 - b.x0);
  if (of_a <= 0 || of_b <= 0) return 0;
  const float y0 = std::max(a.y0, b.y0), x0 = std::max(a.x0, b.x0), y1 = std::min(a.y1, b.y1), x1 = std::min(a.x1, b.x1);
  const float both = std::max<float>(y1 - y0, 0) * std::max<float>(x1 - x0, 0);
  return both / (of_a + of_b - both);
}

/// The indices that survive, as the kernel marks candidates one after the other.
std::vector<std::size_t> survivors(const std::vector<Corners>& boxes, const std::vector<float>& scores, const DetectionAttributes& rule,
                                   std::size_t most) {
  std::vector<std::size_t> order, selected;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= static_cast<float>(rule.least_score)) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<bool> active(order.size(), true);
  for (std::size_t i = 0; i < order.size() && selected.size() < most; ++i) {
    if (!active[i]) continue;
    selected.push_back(order[i]);
    for (std::size_t j = i + 1; j < order.size(); ++j)
      if (share(boxes[order[i]], boxes[order[j]]) > static_cast<float>(rule.most_overlap)) active[j] = false;
  }
  return selected;
}

TEST_CASE("uint8 codes: dequantised by one product in float32, then as reals; random scenes with equal scores") {
  std::mt19937 random(11);
  for (int scene = 0; scene < 40; ++scene) {
    const std::int64_t count = 30, classes = 3;
    const auto codes = [&](const Shape& shape, unsigned least, unsigned most, float scale, std::int64_t zero) {
      Tensor tensor(ElementType::uint8, shape);
      for (std::uint8_t& code : tensor.values<std::uint8_t>()) code = static_cast<std::uint8_t>(least + random() % (most - least + 1));
      return Input{std::move(tensor), {{double{scale}}, {zero}, 0}};
    };
    const std::array<Input, 3> inputs{codes({1, count, 5}, 0, 255, 0.0721F, 131), codes({1, count, classes + 1}, 100, 112, 0.0039F, 0),
                                      codes({count, 4}, 20, 60, 0.0123F, 3)};
    DetectionAttributes rule = rules();
    rule.classes = classes;
    rule.most_detections = 7;
    rule.least_score = double{104 * 0.0039F};
    rule.most_overlap = double{0.4F};
    rule.detections_per_class = 4;
    const auto real = [&](std::size_t input, std::int64_t at) {
      const auto& [tensor, quantization] = inputs[input];
      return static_cast<float>(tensor.integer_at(at) - quantization.zero_point()) * static_cast<float>(quantization.scale());
    };
    std::vector<Corners> boxes;
    for (std::int64_t b = 0; b < count; ++b) {
      const auto side = [&](std::int64_t k) {
        const double size = double{real(2, 4 * b + 2 + k)};
        const auto centre = static_cast<float>(double{real(0, 5 * b + k)} / 10.0 * size + double{real(2, 4 * b + k)});
        const auto half = static_cast<float>(0.5 * std::exp(double{real(0, 5 * b + 2 + k)} / 5.0) * size);
        return std::pair(centre - half, centre + half);
      };
      const auto [y0, y1] = side(0);
      const auto [x0, x1] = side(1);
      boxes.push_back({y0, x0, y1, x1});
    }
    const auto score = [&](std::size_t box, std::int64_t c) { return real(1, static_cast<std::int64_t>(box) * (classes + 1) + 1 + c); };
    struct Detected {
      std::size_t box;
      std::int64_t class_index;
    };
    std::vector<Detected> wanted;
    rule.suppression = scene % 2 == 0 ? Suppression::best_class : Suppression::each_class;
    if (rule.suppression == Suppression::best_class) {
      std::vector<float> best;
      std::vector<std::int64_t> of_class;
      for (std::size_t b = 0; b < boxes.size(); ++b) {
        std::int64_t top = 0;
        for (std::int64_t c = 1; c < classes; ++c)
          if (score(b, c) > score(b, top)) top = c;
        of_class.push_back(top);
        best.push_back(score(b, top));
      }
      for (const std::size_t b : survivors(boxes, best, rule, 7)) wanted.push_back({b, of_class[b]});
    } else {
      for (std::int64_t c = 0; c < classes; ++c) {
        std::vector<float> scores;
        for (std::size_t b = 0; b < boxes.size(); ++b) scores.push_back(score(b, c));
        for (const std::size_t b : survivors(boxes, scores, rule, 4)) wanted.push_back({b, c});
      }
      std::stable_sort(wanted.begin(), wanted.end(),
                       [&](const Detected& a, const Detected& b) { return score(a.box, a.class_index) > score(b.box, b.class_index); });
      wanted.resize(std::min<std::size_t>(wanted.size(), 7));
    }
    const Found found = detected(inputs, rule, tflite_double);
    REQUIRE(found.count[0] == static_cast<float>(wanted.size()));
    for (std::size_t i = 0; i < 7; ++i) {
      const bool is_there = i < wanted.size();
      REQUIRE(found.classes[i] == (is_there ? static_cast<float>(wanted[i].class_index) : 0.0F));
      REQUIRE(found.scores[i] == (is_there ? score(wanted[i].box, wanted[i].class_index) : 0.0F));
      const Corners box = is_there ? boxes[wanted[i].box] : Corners{0, 0, 0, 0};
      REQUIRE(std::vector(found.boxes.begin() + static_cast<std::ptrdiff_t>(4 * i),
                          found.boxes.begin() + static_cast<std::ptrdiff_t>(4 * i + 4)) == std::vector{box.y0, box.x0, box.y1, box.x1});
    }
  }
}

TEST_CASE("detections: what does not fit is refused by name, and a device without them says so") {
  const auto refused = [](const std::function<void(DetectionAttributes&)>& spoil) {
    DetectionAttributes attributes = rules();
    spoil(attributes);
    try {
      static_cast<void>(network(example, attributes));
    } catch (const Error& error) {
      return error.diagnostics().front().message;
    }
    return std::string();
  };
  CHECK(refused([](auto&) {}).empty());
  CHECK(refused([](auto& rule) { rule.classes = 4; }).find("for 4 classes") != std::string::npos);
  CHECK(refused([](auto& rule) { rule.most_overlap = 0; }) == "most_overlap is not above 0 and at most 1");
  CHECK(refused([](auto& rule) { rule.scales[2] = 0; }) == "a scale is not between 1e-6 and 1e6");
  CHECK(refused([](auto& rule) { rule.detections_per_class = 0; }).find("detections_per_class 0") != std::string::npos);
  const auto problems = check(network(example, rules()), no_rules);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message == "the backend has no such arithmetic");
}

}  // namespace
}  // namespace lastbit
