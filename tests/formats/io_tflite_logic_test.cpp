// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators of .tflite files that compare, choose, order or detect, as the golden path runs what is read.
#include <cmath>
#include <cstring>
#include <functional>

#include "flatbuffers/flexbuffers.h"
#include "lastbit/backends/golden.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/tflite.hpp"
#include "support/catch.hpp"
#include "support/layer_model.hpp"
#include "support/one_operation.hpp"
#include "support/refusal.hpp"
#include "support/tflite_file.hpp"

using namespace lastbit;
using namespace lastbit::test;
using namespace lastbit::tflite_format;

namespace {

using Sizes = std::vector<std::int32_t>;
using Reals = std::vector<float>;
using enum BuiltinOperator;

FileTensor of_type(TensorType type, const Sizes& shape, std::vector<std::uint8_t> data = {}) {
  return {.shape = shape, .type = type, .data = std::move(data), .scale = {}, .zero_point = {}};
}
FileTensor real(const Sizes& shape) { return of_type(TensorType::FLOAT32, shape); }
FileTensor truth(const Sizes& shape) { return of_type(TensorType::BOOL, shape); }
FileTensor integers(const Sizes& shape, const Sizes& values) { return of_type(TensorType::INT32, shape, int32_bytes(values)); }
FileTensor reals(const Sizes& shape, const Reals& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return of_type(TensorType::FLOAT32, shape, bytes);
}

/// An operator of these inputs and outputs; those without data are given at run time.
TfliteFile file_of(BuiltinOperator code, std::vector<FileTensor> inputs, const std::vector<FileTensor>& outputs) {
  TfliteFile file;
  file.code = code;
  file.tensors = std::move(inputs);
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    file.tensors[i].name = "x" + std::to_string(i);
    file.op_inputs.push_back(static_cast<std::int32_t>(i));
    if (file.tensors[i].data.empty()) file.inputs.push_back(static_cast<std::int32_t>(i));
  }
  for (const FileTensor& output : outputs) {
    file.op_outputs.push_back(static_cast<std::int32_t>(file.tensors.size()));
    file.tensors.push_back(output);
    file.tensors.back().name = "y" + std::to_string(file.op_outputs.size());
  }
  file.outputs = file.op_outputs;
  return file;
}

/// Every tensor of the golden path is float32.
std::vector<Reals> golden(const TfliteFile& file, const std::vector<Reals>& inputs) {
  const lastbit::Model model = parse_tflite(file.bytes(), "logic.tflite");
  std::vector<lastbit::Tensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    given.push_back(lastbit::Tensor::from<float>(model.tensor(model.inputs[i]).shape, std::span<const float>(inputs[i])));
  const Trace trace = run(model, float_golden, given);
  std::vector<Reals> found;
  for (const std::int32_t output : model.outputs) found.push_back(values_of<float>(*trace.tensors[static_cast<std::size_t>(output)]));
  return found;
}
Reals one_golden(const TfliteFile& file, const std::vector<Reals>& inputs) { return golden(file, inputs).front(); }

void refuses(const TfliteFile& file, const std::string& text) {
  const auto refusal = refusal_of([&] { return parse_tflite(file.bytes(), "bad.tflite"); });
  REQUIRE(refusal);
  INFO(refusal->message);
  CHECK(refusal->says(text));
  CHECK(refusal->is_one_line());
}

struct DetectionFile {
  std::int64_t classes = 2;
  float overlap = 0.5F;
  bool regular = false;
  std::int64_t per_detection = 1;
  bool has_scales = true;

  [[nodiscard]] TfliteFile file(TensorType type, const Sizes& to) const {
    std::vector<FileTensor> inputs{of_type(type, {1, 2, 4}), of_type(type, {1, 2, 3}), of_type(type, {2, 4})};
    if (type != TensorType::FLOAT32)
      for (FileTensor& input : inputs) input.scale = {0.25F}, input.zero_point = {8};
    const FileTensor unknown = real({});
    TfliteFile file = to.empty() ? file_of(CUSTOM, inputs, {unknown, unknown, unknown, unknown})
                                 : file_of(CUSTOM, inputs, {real({1, to[0], 4}), real({1, to[0]}), real({1, to[0]}), real({1})});
    file.custom_code = "TFLite_Detection_PostProcess";
    flexbuffers::Builder builder;
    builder.Map([&] {
      builder.Int("max_detections", 2);
      builder.Int("max_classes_per_detection", per_detection);
      builder.Int("num_classes", classes);
      builder.Float("nms_score_threshold", 0.5F);
      builder.Float("nms_iou_threshold", overlap);
      builder.Bool("use_regular_nms", regular);
      for (const char* const name : {"y_scale", "x_scale", "h_scale", "w_scale"})
        if (has_scales) builder.Float(name, 1);
    });
    builder.Finish();
    file.custom_options = builder.GetBuffer();
    return file;
  }
};

}  // namespace

TEST_CASE("comparisons of reals and of integers, with broadcasting") {
  const Reals a{1, 2, 3, -1}, b{2, -1};
  const auto compared = [&](BuiltinOperator code) { return one_golden(file_of(code, {real({2, 2}), real({2})}, {truth({2, 2})}), {a, b}); };
  CHECK(compared(LESS) == Reals{1, 0, 0, 0});
  CHECK(compared(LESS_EQUAL) == Reals{1, 0, 0, 1});
  CHECK(compared(GREATER) == Reals{0, 1, 1, 0});
  CHECK(compared(GREATER_EQUAL) == Reals{0, 1, 1, 1});
  CHECK(compared(EQUAL) == Reals{0, 0, 0, 1});
  CHECK(compared(NOT_EQUAL) == Reals{1, 1, 1, 0});
  const TfliteFile of_integers = file_of(EQUAL, {of_type(TensorType::INT32, {3}), integers({3}, {1, -2, 5})}, {truth({3})});
  CHECK(one_golden(of_integers, {{1, 2, 5}}) == Reals{1, 0, 1});
  refuses(file_of(LESS, {real({2}), integers({2}, {1, 2})}, {truth({2})}), "is int32; allowed: float32");
  refuses(file_of(LESS, {real({2}), real({3})}, {truth({2})}), "do not broadcast");
}

TEST_CASE("truths are joined, turned and choose") {
  const Reals p{0, 0, 1, 1}, q{0, 1, 0, 1};
  const auto joined = [&](BuiltinOperator code) { return one_golden(file_of(code, {truth({4}), truth({4})}, {truth({4})}), {p, q}); };
  CHECK(joined(LOGICAL_AND) == Reals{0, 0, 0, 1});
  CHECK(joined(LOGICAL_OR) == Reals{0, 1, 1, 1});
  CHECK(one_golden(file_of(LOGICAL_NOT, {truth({4})}, {truth({4})}), {p}) == Reals{1, 1, 0, 0});
  const auto rows = file_of(SELECT, {truth({2}), real({2, 2}), real({2, 2})}, {real({2, 2})});
  CHECK(one_golden(rows, {{1, 0}, {1, 2, 3, 4}, {5, 6, 7, 8}}) == Reals{1, 2, 7, 8});
  const auto broadcast = file_of(SELECT_V2, {truth({2, 1}), real({2}), real({1})}, {real({2, 2})});
  CHECK(one_golden(broadcast, {{1, 0}, {1, 2}, {9}}) == Reals{1, 2, 9, 9});
  refuses(file_of(SELECT, {truth({3}), real({2, 2}), real({2, 2})}, {real({2, 2})}), "a condition of 3 for 2x2");
  refuses(file_of(SELECT, {truth({2}), real({2}), real({1})}, {real({2})}), "differs in shape");
}

TEST_CASE("truths are the golden path's alone: a device names the tensor that it lacks") {
  const lastbit::Model model = parse_tflite(file_of(LESS, {real({2}), real({2})}, {truth({2})}).bytes(), "less.tflite");
  const auto problems = check(model, tflite_double);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message.find("integer backends need quantised data") != std::string::npos);
}

TEST_CASE("CAST: toward zero, to and from truth values, and of no codes") {
  const auto cast = [](TensorType from, TensorType to) { return file_of(CAST, {of_type(from, {3})}, {of_type(to, {3})}); };
  CHECK(one_golden(cast(TensorType::FLOAT32, TensorType::INT32), {{2.75F, -2.75F, 0}}) == Reals{2, -2, 0});
  CHECK(one_golden(cast(TensorType::UINT8, TensorType::FLOAT32), {{255, 0, 7}}) == Reals{255, 0, 7});
  CHECK(one_golden(cast(TensorType::FLOAT32, TensorType::BOOL), {{0.25F, -3, 0}}) == Reals{1, 1, 0});
  CHECK(one_golden(cast(TensorType::BOOL, TensorType::INT64), {{1, 0, 1}}) == Reals{1, 0, 1});
  CHECK(one_golden(cast(TensorType::INT32, TensorType::INT32), {{5, 6, 7}}) == Reals{5, 6, 7});
  const lastbit::Model model = parse_tflite(cast(TensorType::INT64, TensorType::INT32).bytes(), "cast.tflite");
  const auto values = lastbit::Tensor::from<std::int64_t>({3}, std::vector<std::int64_t>{(std::int64_t{1} << 32) + 1, -1, 5});
  const Trace trace = run(model, tflite_double, {{values}});
  CHECK(values_of<std::int32_t>(*trace.tensors[static_cast<std::size_t>(model.outputs[0])]) == std::vector<std::int32_t>{1, -1, 5});
  TfliteFile codes = cast(TensorType::INT8, TensorType::FLOAT32);
  codes.tensors[0].scale = {0.5F};
  refuses(codes, "a cast of codes with a scale");
  refuses(cast(TensorType::FLOAT64, TensorType::INT32), "is float64");
}

TEST_CASE("ADD, SUB, MUL, FLOOR_DIV, NEG, ABS, MAXIMUM and MINIMUM of integers without a scale run on devices") {
  const auto of = [](BuiltinOperator code, const Sizes& a, const Sizes& b) {
    const FileTensor integer = of_type(TensorType::INT32, {2});
    const bool unary = code == NEG || code == ABS;
    const auto file = unary ? file_of(code, {integer}, {integer}) : file_of(code, {integer, integers({2}, b)}, {integer});
    const lastbit::Model model = parse_tflite(file.bytes(), "integers.tflite");
    const Trace trace = run(model, tflite_double, {{lastbit::Tensor::from<std::int32_t>({2}, a)}});
    return values_of<std::int32_t>(*trace.tensors[static_cast<std::size_t>(model.outputs[0])]);
  };
  using Found = std::vector<std::int32_t>;
  CHECK(of(ADD, {2147483647, 5}, {1, -7}) == Found{-2147483647 - 1, -2});
  CHECK(of(SUB, {3, 5}, {4, -7}) == Found{-1, 12});
  CHECK(of(MUL, {65536, -3}, {65536, 4}) == Found{0, -12});
  CHECK(of(FLOOR_DIV, {-7, 7}, {2, 2}) == Found{-4, 3});
  CHECK(of(NEG, {3, -4}, {}) == Found{-3, 4});
  CHECK(of(ABS, {3, -4}, {}) == Found{3, 4});
  CHECK(of(MAXIMUM, {16777217, -4}, {16777216, 9}) == Found{16777217, 9});
  CHECK(of(MINIMUM, {16777217, -4}, {16777216, 9}) == Found{16777216, -4});
}

TEST_CASE("ONE_HOT: on at the index, nowhere for one that the depth has not; any axis") {
  const auto file = [](std::int32_t axis, const Sizes& to) {
    return with(file_of(ONE_HOT, {of_type(TensorType::INT32, {2}), integers({}, {3}), reals({}, {2.5F}), reals({}, {-1})}, {real(to)}),
                BuiltinOptions::OneHotOptions, CreateOneHotOptions, axis);
  };
  CHECK(one_golden(file(-1, {2, 3}), {{1, -1}}) == Reals{-1, 2.5F, -1, -1, -1, -1});
  CHECK(one_golden(file(0, {3, 2}), {{2, 0}}) == Reals{-1, 2.5F, -1, -1, 2.5F, -1});
  refuses(file(-1, {2, 4}), "the depth is not that of its output");
  refuses(file(3, {2, 3}), "axis 3");
}

TEST_CASE("ELU, FLOOR, CEIL, ROUND, FLOOR_DIV, LOG_SOFTMAX and L2_NORMALIZATION") {
  const Reals x{-1.5F, 2.25F};
  const auto of_one = [&](BuiltinOperator code) { return one_golden(file_of(code, {real({1, 2})}, {real({1, 2})}), {x}); };
  CHECK(of_one(ELU) == Reals{static_cast<float>(std::expm1(-1.5)), 2.25F});
  CHECK(of_one(FLOOR) == Reals{-2, 2});
  CHECK(of_one(CEIL) == Reals{-1, 3});
  CHECK(of_one(LOG_SOFTMAX) ==
        Reals{static_cast<float>(-3.75 - std::log(1 + std::exp(-3.75))), static_cast<float>(-std::log(1 + std::exp(-3.75)))});
  const double length = std::sqrt(1.5 * 1.5 + 2.25 * 2.25);
  CHECK(of_one(L2_NORMALIZATION) == Reals{static_cast<float>(-1.5 / length), static_cast<float>(2.25 / length)});
  CHECK(one_golden(file_of(FLOOR_DIV, {real({4}), real({1})}, {real({4})}), {{7, -7, 6, -0.5F}, {2}}) == Reals{3, -4, 3, -1});
  CHECK(one_golden(file_of(ROUND, {real({4})}, {real({4})}), {{0.5F, 1.5F, -2.5F, 2.75F}}) == Reals{0, 2, -2, 3});
  refuses(with(file_of(L2_NORMALIZATION, {real({2})}, {real({2})}), BuiltinOptions::L2NormOptions, CreateL2NormOptions,
               ActivationFunctionType::RELU),
          "a fused activation");
}

TEST_CASE("quantised forms that no device here has are refused by name") {
  for (const BuiltinOperator code : {ELU, LOG_SOFTMAX, FLOOR}) {
    const lastbit::Model model = parse_tflite(file_of(code, {{.shape = {1, 2}}}, {{.shape = {1, 2}}}).bytes(), "codes.tflite");
    const auto problems = check(model, tflite_double);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == "the backend has no such arithmetic");
  }
}

TEST_CASE("ARG_MIN, CUMSUM, TOPK_V2 and GATHER_ND") {
  const Reals x{3, 1, 1, -2, 5, -2};
  const auto argmin = file_of(ARG_MIN, {real({2, 3}), integers({}, {-1})}, {of_type(TensorType::INT32, {2})});
  CHECK(one_golden(argmin, {x}) == Reals{1, 0});
  const auto sums = with(file_of(CUMSUM, {real({2, 3}), integers({}, {1})}, {real({2, 3})}), BuiltinOptions::CumsumOptions,
                         CreateCumsumOptions, true, true);
  CHECK(one_golden(sums, {x}) == Reals{2, 1, 0, 3, -2, 0});
  const auto best = file_of(TOPK_V2, {real({2, 3}), integers({}, {2})}, {real({2, 2}), of_type(TensorType::INT32, {2, 2})});
  CHECK(golden(best, {x}) == std::vector<Reals>{{3, 1, 5, -2}, {0, 1, 1, 0}});
  refuses(file_of(TOPK_V2, {real({2, 3}), integers({}, {3})}, {real({2, 2}), of_type(TensorType::INT32, {2, 2})}), "the count is not");
  const auto entries = file_of(GATHER_ND, {real({2, 3}), integers({3, 2}, {1, 2, 0, 0, 1, 1})}, {real({3})});
  CHECK(one_golden(entries, {x}) == Reals{-2, 3, 5});
  const auto rows = file_of(GATHER_ND, {real({2, 3}), of_type(TensorType::INT32, {1, 1})}, {real({1, 3})});
  CHECK(one_golden(rows, {x, {1}}) == Reals{-2, 5, -2});
  refuses(file_of(GATHER_ND, {real({2, 3}), integers({1, 2}, {1, 3})}, {real({1})}), "index 3 of an axis of 3");
  const auto computed = file_of(GATHER_ND, {real({2, 3}), of_type(TensorType::INT32, {3, 2})}, {real({3})});
  CHECK(one_golden(computed, {x, {1, 2, 0, 0, 1, 1}}) == Reals{-2, 3, 5});
  CHECK(one_golden(computed, {x, {1, 7, -1, 0, 9, 9}}) == Reals{-2, 3, -2});  // the nearest entry that there is
  const auto parts = file_of(GATHER_ND, {real({2, 1, 3}), of_type(TensorType::INT64, {1, 2, 2})}, {real({1, 2, 3})});
  CHECK(one_golden(parts, {x, {1, 0, 0, 0}}) == Reals{-2, 5, -2, 3, 1, 1});
  refuses(file_of(GATHER_ND, {real({2, 3}), of_type(TensorType::INT16, {1, 2})}, {real({1})}), "computed indices of int16");
  refuses(file_of(GATHER_ND, {real({2}), integers({1, 2}, {1, 1})}, {real({1})}), "indices of 1x2 into 2");
}

TEST_CASE("TFLite_Detection_PostProcess: its options, and outputs whose shapes the file leaves out") {
  const std::vector<Reals> inputs{{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0.25F, 0.75F, 0, 1, 0.5F}, {0, 0, 1, 1, 2, 2, 1, 1}};
  for (const Sizes& to : {Sizes{2}, Sizes{}}) {
    const std::vector<Reals> found = golden(DetectionFile().file(TensorType::FLOAT32, to), inputs);
    CHECK(found == std::vector<Reals>{{1.5F, 1.5F, 2.5F, 2.5F, -0.5F, -0.5F, 0.5F, 0.5F}, {0, 1}, {1, 0.75F}, {2}});
  }
  DetectionFile regular;
  regular.regular = true;
  CHECK(golden(regular.file(TensorType::FLOAT32, {2}), inputs)[2] == Reals{1, 0.75F});
  const lastbit::Model coded = parse_tflite(DetectionFile().file(TensorType::UINT8, {}).bytes(), "coded.tflite");
  CHECK(check(coded, tflite_double).empty());
  CHECK(std::get<DetectionAttributes>(coded.operations[0].attributes).detections_per_class == 100);
}

TEST_CASE("RESHAPE to a single value is given a shape without sizes") {
  const TfliteFile file = file_of(RESHAPE, {real({1, 1}), of_type(TensorType::INT32, {0})}, {real({})});
  const lastbit::Model model = parse_tflite(file.bytes(), "scalar.tflite");
  CHECK(model.tensor(model.outputs[0]).shape == Shape{});
  TfliteFile wrong = file_of(NEG, {of_type(TensorType::INT32, {0})}, {of_type(TensorType::INT32, {1})});
  CHECK(refusal_of([&] { return parse_tflite(wrong.bytes(), "wrong.tflite"); }));
}

TEST_CASE("where the shapes do not fit, sizes that the file leaves open are named") {
  FileTensor open = real({1, 1});
  open.signature = {-1, -1};
  const TfliteFile file = file_of(ADD, {open, real({2, 3})}, {real({2, 4})});
  refuses(file, "; input 'x0' is ?x?, for which the file puts 1x1; --shape x0=?x? states others");
  FileTensor batch = real({1, 3});
  batch.signature = {-1, 3};
  CHECK_FALSE(refusal_of([&] { return parse_tflite(file_of(NEG, {batch}, {real({1, 3})}).bytes(), "open.tflite"); }));
  const auto fixed = refusal_of([&] {
    return parse_tflite(file_of(ADD, {real({1, 1}), real({2, 3})}, {real({2, 4})}).bytes(), "fixed.tflite");
  });
  REQUIRE(fixed);
  CHECK_FALSE(fixed->says("the file puts"));
}

TEST_CASE("sizes that a file leaves open can be given; what is behind them follows") {
  FileTensor open = real({1, 1, 1, 2}), between = real({1, 1, 1, 3});
  open.signature = {1, -1, -1, 2};
  TfliteFile file = file_of(CONV_2D, {open, reals({3, 2, 2, 2}, Reals(24, 1)), reals({3}, {0, 0, 0})}, {between});
  file = with(std::move(file), BuiltinOptions::Conv2DOptions,
              [](auto& builder) { return CreateConv2DOptions(builder, Padding::VALID, 1, 1); });
  refuses(file, "; input 'x0' is 1x?x?x2, for which the file puts 1x1x1x2; --shape x0=1x?x?x2 states others");
  const auto read = [&](const std::map<std::string, Shape, std::less<>>& shapes) {
    return parse_tflite(file.bytes(), "open.tflite", {}, shapes);
  };
  const lastbit::Model model = read({{"x0", {1, 4, 6, 2}}});
  CHECK(model.tensor(model.inputs[0]).shape == Shape{1, 4, 6, 2});
  CHECK(model.tensor(model.outputs[0]).shape == Shape{1, 3, 5, 3});
  const auto refused = [&](const std::map<std::string, Shape, std::less<>>& shapes) {
    const auto refusal = refusal_of([&] { return read(shapes); });
    return refusal ? refusal->message : std::string("no error");
  };
  CHECK(refused({{"x", {1, 4, 6, 2}}}) == "open.tflite: a shape is given for 'x', which is no input");
  CHECK(refused({{"x0", {1, 4, 6, 3}}}) == "open.tflite: input 'x0': shape 1x4x6x3 is given; the file says 1x?x?x2");
}

TEST_CASE("sizes that a file leaves open can be given of what a part begins with; what is left out is not looked at") {
  FileTensor open = real({1, 3});
  open.signature = {-1, 3};
  TfliteFile file = file_of(TOPK_V2, {open, integers({}, {2})}, {real({1, 2}), real({1, 2})});
  file.earlier = {{NEG, {4}, {0}}};
  file.tensors.push_back(open);
  file.tensors.back().name = "first";
  file.inputs = {4};
  const auto read = [&](const Cut& cut, const std::string& name) {
    return parse_tflite(file.bytes(), "part.tflite", cut, {{name, {5, 3}}});
  };
  CHECK(refusal_of([&] { return read({}, "first"); })->says("TOPK_V2 (operation 1): what it makes of an input of another size"));
  const lastbit::Model before = read({{}, {"x0"}}, "first");
  CHECK(before.tensor(before.outputs[0]).shape == Shape{5, 3});
  CHECK(refusal_of([&] { return read({{"x0"}, {}}, "first"); }));  // its outputs stay as the file puts them
  CHECK(refusal_of([&] { return read({{"x0"}, {}}, "x0"); })->says("TOPK_V2 (operation 1)"));
}

TEST_CASE("the shapes behind sizes that are given, operator by operator") {
  const auto resized = [](const TfliteFile& file, const Shape& given) {
    TfliteFile open = file;
    open.tensors[0].signature.assign(open.tensors[0].shape.size(), -1);
    const lastbit::Model model = parse_tflite(open.bytes(), "open.tflite", {}, {{"x0", given}});
    return model.tensor(model.outputs[0]).shape;
  };
  const auto squeezed = with(file_of(SQUEEZE, {real({1, 1, 2, 1})}, {real({2, 1})}), BuiltinOptions::SqueezeOptions, [](auto& builder) {
    return CreateSqueezeOptions(builder, builder.CreateVector(Sizes{0, 1}));
  });
  CHECK(resized(squeezed, {1, 1, 7, 1}) == Shape{7, 1});
  CHECK(resized(file_of(EXPAND_DIMS, {real({1, 1}), integers({}, {-1})}, {real({1, 1, 1})}), {2, 9}) == Shape{2, 9, 1});
  CHECK(resized(file_of(RESHAPE, {real({1, 4}), integers({2}, {-1, 2})}, {real({2, 2})}), {3, 4}) == Shape{6, 2});
  CHECK(resized(file_of(TRANSPOSE, {real({1, 2}), integers({2}, {1, 0})}, {real({2, 1})}), {5, 3}) == Shape{3, 5});
  CHECK(resized(file_of(ADD, {real({1, 3}), reals({3}, {1, 2, 3})}, {real({1, 3})}), {5, 3}) == Shape{5, 3});
  CHECK(resized(file_of(NEG, {real({1})}, {real({1})}), {8}) == Shape{8});
  const auto largest = with(file_of(REDUCE_MAX, {real({1, 1, 2}), integers({1}, {1})}, {real({1, 2})}), BuiltinOptions::ReducerOptions,
                            CreateReducerOptions, false);
  CHECK(resized(largest, {3, 7, 2}) == Shape{3, 2});
  const auto refused = refusal_of([&] {
    return resized(file_of(TOPK_V2, {real({1, 3}), integers({}, {2})}, {real({1, 2}), real({1, 2})}), {4, 3});
  });
  REQUIRE(refused);
  CHECK(refused->says("TOPK_V2 (operation 0): what it makes of an input of another size than the file puts is not known here"));
}

TEST_CASE("what is read is written as JSON and read again as it was") {
  const auto again = [](const TfliteFile& file) {
    const std::string text = json_model_text(parse_tflite(file.bytes(), "first.tflite"));
    lastbit::Model model = parse_json_model(text, "", "again");
    CHECK(json_model_text(model) == text);
    return model.operations[0].attributes;
  };
  DetectionFile detection;
  detection.regular = true;
  const auto detected = std::get<DetectionAttributes>(again(detection.file(TensorType::FLOAT32, {2})));
  CHECK(detected.suppression == Suppression::each_class);
  CHECK(detected.most_overlap == 0.5);
  CHECK(detected.classes == 2);
  const auto sums = std::get<CumsumAttributes>(again(with(file_of(CUMSUM, {real({2, 3}), integers({}, {1})}, {real({2, 3})}),
                                                          BuiltinOptions::CumsumOptions, CreateCumsumOptions, true, true)));
  CHECK((sums.axis == 1 && sums.exclusive && sums.reverse));
  const auto best = file_of(TOPK_V2, {real({2, 3}), integers({}, {2})}, {real({2, 2}), of_type(TensorType::INT32, {2, 2})});
  CHECK(std::get<TopKAttributes>(again(best)).axis == 1);
  CHECK(std::get<LeakyReluAttributes>(again(file_of(ELU, {real({2})}, {real({2})}))).alpha == 1);
}

TEST_CASE("TFLite_Detection_PostProcess: options that are missing, corrupt or do not fit; other custom operators") {
  const auto spoilt = [](const std::function<void(DetectionFile&)>& spoil) {
    DetectionFile file;
    spoil(file);
    return file.file(TensorType::FLOAT32, {2});
  };
  refuses(spoilt([](DetectionFile& file) { file.has_scales = false; }), "its option y_scale is missing");
  refuses(spoilt([](DetectionFile& file) { file.overlap = 1.5F; }), "most_overlap is not above 0 and at most 1");
  refuses(spoilt([](DetectionFile& file) { file.classes = 5; }), "for 5 classes");
  refuses(spoilt([](DetectionFile& file) { file.regular = true, file.per_detection = 2; }), "use_regular_nms with several classes");
  TfliteFile file = spoilt([](DetectionFile&) {});
  const std::vector<std::uint8_t> whole = file.custom_options;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    file.custom_options = {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)};
    CHECK(refusal_of([&] { return parse_tflite(file.bytes(), "bad.tflite"); }));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {  // whatever a byte becomes, it is read or refused
    for (const int flip : {0x01, 0x80, 0xFF}) {
      file.custom_options = whole;
      file.custom_options[at] = static_cast<std::uint8_t>(whole[at] ^ flip);
      static_cast<void>(refusal_of([&] { return parse_tflite(file.bytes(), "bad.tflite"); }));
    }
  }
  file.custom_code = "TFLite_Detection";
  refuses(file, "operators that are not supported: CUSTOM 'TFLite_Detection' (1)");
}
