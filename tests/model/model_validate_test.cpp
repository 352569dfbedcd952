// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Models that must not run: types, quantisation, attributes and shapes of every kind of operation.
#include <limits>

#include "lastbit/io/json_model.hpp"
#include "lastbit/shape.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

struct Unsound {
  const char* name;
  const char* seed;
  const char* from;
  const char* to;
  const char* reason;
};

void require_all_refused(const std::vector<Unsound>& table, ErrorCode code) {
  for (const Unsound& unsound : table) {
    DYNAMIC_SECTION(unsound.name) {
      std::string text = file_text(seed_directory("json_model_fuzz") / (std::string(unsound.seed) + ".json"));
      const std::size_t at = text.find(unsound.from);
      REQUIRE(at != std::string::npos);
      text.replace(at, std::string(unsound.from).size(), unsound.to);
      const auto refusal = refusal_of([&] { static_cast<void>(parse_json_model(text, "/nonexistent", "bad.json")); });
      REQUIRE(refusal);
      INFO(refusal->message);
      CHECK(refusal->code == code);
      CHECK(refusal->says(unsound.reason));
      CHECK(refusal->says("bad.json: "));
    }
  }
}

Model seed_model(const std::string& name) {
  return parse_json_model(file_text(seed_directory("json_model_fuzz") / (name + ".json")), "/nonexistent", name);
}

/// What validate says after a change that no reader lets through.
template <class Change>
Refusal refusal_after(const std::string& seed, Change change) {
  Model model = seed_model(seed);
  change(model);
  const auto refusal = refusal_of([&] { validate(model, "changed"); });
  REQUIRE(refusal);
  INFO(refusal->message);
  CHECK(refusal->is_one_line());
  return *refusal;
}

}  // namespace

TEST_CASE("quantisation that means nothing is refused") {
  require_all_refused(
      {
          {"scale 0", "add", "[0.5]", "[0]", "scale"},
          {"negative scale", "add", "[0.5]", "[-0.5]", "scale"},
          {"scale beyond float32", "add", "[0.5]", "[1e39]", "scale"},
          {"denormal scale", "add", "[0.5]", "[1e-40]", "scale"},
          {"data with the scale of dead weights", "add", "[0.5]", "[1e-30]", "the scale of 't0' is below 2^-64"},
          {"zero point outside int8", "add", "\"zero_point\":[0]", "\"zero_point\":[128]", "zero point 128 is outside int8"},
          {"two zero points for one scale", "add", "\"zero_point\":[0]", "\"zero_point\":[0,0]", "2 zero points for 1 scales"},
          {"scales that do not fit the axis", "conv2d", "[0.5,0.25]", "[0.5,0.25,1]", "3 scales along axis 0"},
          {"axis outside the shape", "conv2d", "\"axis\":0", "\"axis\":4", "along axis 4"},
          {"negative axis", "conv2d", "\"axis\":0", "\"axis\":-1", "along axis -1"},
          {"axis of the input channels", "conv2d", "\"axis\":0", "\"axis\":3", "axis 0 is needed"},
          {"an activation per channel", "add", "[0.5],\"zero_point\":[0]", "[0.5,1],\"axis\":3", "a single one is needed"},
          {"no scale", "add", ",\"quantization\":{\"scale\":[0.5],\"zero_point\":[0]}", "", "needs a scale"},
          {"relu6 without a scale", "max_pool2d",
           "2,2,2],\"quantization\":{\"scale\":[0.5],\"zero_point\":[0]}}],\"operations\":[{\"op\":\"max_pool2d\",\"inputs\":[\"t0\"],"
           "\"outputs\":[\"t1\"],\"attributes\":{",
           "2,2,2]}],\"operations\":[{\"op\":\"max_pool2d\",\"inputs\":[\"t0\"],\"outputs\":[\"t1\"],\"attributes\":{\"activation\":"
           "\"relu6\",",
           "needs the output's scale"},
      },
      ErrorCode::bad_quantization);
}

TEST_CASE("element types that do not go together are refused") {
  require_all_refused(
      {
          {"float weights for integer data", "conv2d", "\"int8\",\"shape\":[2,3,3,2]", "\"float32\",\"shape\":[2,3,3,2]",
           "'t1' is float32"},
          {"float bias", "conv2d", "int32", "float32", "'t2' is float32"},
          {"an integer bias for float data", "fully_connected", "\"int8\",\"shape\":[1,4]", "\"float32\",\"shape\":[1,4]",
           "'t2' is int32; allowed: float32"},
          {"a sum of two types", "add", "\"int8\",\"shape\":[2]", "\"int16\",\"shape\":[2]", "'t1' is int16; allowed: int8"},
          {"movement that changes the type", "transpose", "\"int8\",\"shape\":[1,2,4,4]", "\"uint8\",\"shape\":[1,2,4,4]", "'t1' is uint8"},
          {"quantize of integers", "quantize", "float32", "int8", "'t0' is int8"},
          {"dequantize to integers", "dequantize", "float32", "int8", "'t1' is int8"},
          {"softmax from 16 to 8 bits", "softmax", "int8", "int16", "'t1' is int8"},
      },
      ErrorCode::type_mismatch);
}

TEST_CASE("attributes outside their range are refused") {
  require_all_refused(
      {
          {"stride 0", "conv2d", "\"stride\":[2,2]", "\"stride\":[0,2]", "stride 0"},
          {"huge stride", "conv2d", "\"stride\":[2,2]", "\"stride\":[2,4611686018427387904]", "stride 4611686018427387904"},
          {"dilation 0", "depthwise_conv2d", "\"stride\":[2,2]", "\"dilation\":[1,0]", "dilation 0"},
          {"negative padding", "conv2d", "\"same\"", "[0,0,-1,0]", "padding -1"},
          {"filter 0", "max_pool2d", "\"filter\":[2,2]", "\"filter\":[0,2]", "filter 0"},
          {"windows of padding only", "average_pool2d", "\"filter\":[2,2],\"stride\":[2,2]",
           "\"filter\":[2,2],\"stride\":[4,4],\"padding\":[2,2,2,2]", "leaves windows without a value"},
          {"clamp upside down", "conv2d", "\"activation\":\"relu6\"", "\"clamp\":[5,4]", "clamp"},
          {"clamp outside the type", "conv2d", "\"activation\":\"relu6\"", "\"clamp\":[-129,0]", "clamp"},
          {"clamp and activation", "conv2d", "\"activation\":\"relu6\"", "\"activation\":\"relu6\",\"clamp\":[0,1]", "exclude each other"},
          {"axis outside", "concat", "\"axis\":3", "\"axis\":4", "axis 4 of a tensor with 4 dimensions"},
          {"negative axis", "split", "\"axis\":3", "\"axis\":-1", "axis -1"},
          {"axis twice", "mean", "[1,2]}", "[1,1]}", "named twice"},
          {"no axes", "mean", "[1,2]}", "[]}", "no axes"},
          {"permutation with a repetition", "transpose", "[0,3,1,2]", "[0,3,3,2]", "names an axis twice"},
          {"permutation too short", "transpose", "[0,3,1,2]", "[0,1]", "one entry per dimension"},
          {"padding of too few axes", "pad", "[[0,0],[1,1],[1,1],[0,0]]", "[[1,1]]", "one pair per dimension"},
          {"negative pad", "pad", "[[0,0]", "[[0,-1]", "negative"},
          {"padding value outside the type", "pad", "\"value\":1", "\"value\":1000", "outside the tensor's type"},
          {"begin outside", "slice", "[0,1,2,0]", "[0,1,4,0]", "begin is outside"},
          {"slice with strides", "slice", "[0,1,2,0]", "[0,1,2,0],\"strides\":[1,2,1,1]", "strides of 1"},
          {"stride 0 of a slice", "strided_slice", "[1,-2,2,1]", "[1,0,2,1]", "stride of 0"},
          {"beta 0", "softmax", "\"beta\":1", "\"beta\":0", "beta"},
          {"huge alpha", "leaky_relu", "0.1", "1e300", "alpha"},
      },
      ErrorCode::bad_attribute);
}

TEST_CASE("shapes that do not follow from each other are refused") {
  require_all_refused(
      {
          {"one output row too many", "conv2d", "\"shape\":[1,2,2,2]", "\"shape\":[1,3,2,2]", "windows fit 2x2 times"},
          {"window beyond the image", "conv2d", "\"padding\":\"same\"", "\"dilation\":[2,2]", "larger than the padded input"},
          {"output channels", "conv2d", "\"shape\":[1,2,2,2]", "\"shape\":[1,2,2,1]", "output channels"},
          {"batch", "conv2d", "\"shape\":[1,2,2,2]", "\"shape\":[2,2,2,2]", "batch"},
          {"groups", "conv2d", "\"shape\":[1,4,4,2]", "\"shape\":[1,4,4,3]", "into groups"},
          {"rank", "conv2d", "\"shape\":[1,4,4,2]", "\"shape\":[4,4,2]", "4 dimensions are needed"},
          {"bias", "conv2d", "\"shape\":[2],\"data\":[-2,-1]", "\"shape\":[3],\"data\":[-2,-1,0]", "bias"},
          {"depthwise multiplier", "depthwise_conv2d", "\"shape\":[1,4,4,2]", "\"shape\":[1,4,4,3]", "channels * multiplier"},
          {"transposed output", "transposed_conv2d", "\"shape\":[1,4,4,2]", "\"shape\":[1,5,4,2]", "windows fit 3x2 times"},
          {"rows", "fully_connected", "\"shape\":[1,4]", "\"shape\":[1,5]", "rows of 4"},
          {"row count", "fully_connected", "\"shape\":[1,3]", "\"shape\":[2,3]", "1 rows of 3"},
          {"inner sizes", "matmul", "\"transpose_b\":true", "\"transpose_a\":true,\"transpose_b\":true",
           "rows of 3 values meet columns of 4"},
          {"leading sizes", "matmul", "\"shape\":[2,3,5]", "\"shape\":[1,3,5]", "2x3x5 is needed"},
          {"pool output", "max_pool2d", "\"shape\":[1,2,2,2]", "\"shape\":[1,2,2,3]", "1x2x2x2 is needed"},
          {"global pool output", "global_average_pool", "\"shape\":[1,1,1,2]", "\"shape\":[1,2,1,1]", "1x1x1x2 is needed"},
          {"mean output", "mean", "\"axes\":[1,2]", "\"axes\":[1,2],\"keep_dims\":true", "1x1x1x2 is needed"},
          {"no broadcast", "add", "\"shape\":[2],\"quantization\":{\"scale\":[0.5],\"zero_point\":[0]},\"data\":[-2,-1]",
           "\"shape\":[3],\"quantization\":{\"scale\":[0.5],\"zero_point\":[0]},\"data\":[-2,-1,0]", "do not broadcast"},
          {"joined size", "concat", "\"shape\":[1,2,2,3]", "\"shape\":[1,2,2,4]", "1x2x2x3 is needed"},
          {"sizes beside the joined axis", "concat", "\"axis\":3", "\"axis\":2", "outside the joined axis"},
          {"padded size", "pad", "\"shape\":[1,4,4,2]", "\"shape\":[1,4,5,2]", "1x4x4x2 is needed"},
          {"another count", "reshape", "\"shape\":[2,16]", "\"shape\":[2,15]", "cannot become"},
          {"squeeze of more than ones", "squeeze", "\"shape\":[4,4,2]", "\"shape\":[2,4,4]", "cannot be squeezed"},
          {"read beyond the end", "slice", "\"shape\":[1,2,2,2]", "\"shape\":[1,2,3,2]", "axis 2 would be read beyond its end"},
          {"read before the start", "strided_slice", "\"shape\":[1,2,2,2]", "\"shape\":[1,3,2,2]", "axis 1 would be read beyond its end"},
          {"unequal parts", "split", "\"outputs\":[\"t1\",\"t2\"],\"attributes\":{\"axis\":3",
           "\"outputs\":[\"t1\",\"t2\"],\"attributes\":{\"axis\":0", "cannot be split into 2"},
          {"alpha", "prelu", "\"shape\":[1,1,2],\"quantization\":{\"scale\":[0.5],\"zero_point\":[0]},\"data\":[-2,-1]",
           "\"shape\":[3],\"quantization\":{\"scale\":[0.5],\"zero_point\":[0]},\"data\":[-2,-1,0]", "alpha does not broadcast"},
          {"softmax of a scalar", "softmax", "\"shape\":[1,4]", "\"shape\":[]", "no last axis"},
          {"a function that changes the shape", "logistic", "\"shape\":[1,4]", "\"shape\":[4]", "4 is needed"},
      },
      ErrorCode::shape_mismatch);
}

TEST_CASE("structures that only a program can build are refused") {
  CHECK(refusal_after("add", [](Model& model) { model.operations[0].inputs[0] = 3; }).says("tensor 3 of 3"));
  CHECK(refusal_after("add", [](Model& model) { model.operations[0].outputs[0] = -7; }).says("tensor -7 of 3"));
  CHECK(refusal_after("add", [](Model& model) { model.inputs = {0, 0}; }).says("already given"));
  CHECK(refusal_after("add", [](Model& model) { model.inputs = {1}; }).says("a constant"));
  CHECK(refusal_after("add", [](Model& model) { model.outputs = {99}; }).says("tensor 99 of 3"));
  CHECK(refusal_after("add", [](Model& model) { model.operations[0].kind = static_cast<OperationKind>(200); }).says("unknown kind"));
  CHECK(refusal_after("add", [](Model& model) { model.operations[0].attributes = PadAttributes{}; }).says("another kind of operation"));
  CHECK(refusal_after("add", [](Model& model) { model.operations[0].name.clear(); }).says("name is empty"));
  CHECK(refusal_after("add", [](Model& model) { model.operations[0].name = "\xFF"; }).says("not printable"));
  CHECK(refusal_after("add", [](Model& model) { model.tensors[0].name = "two\nlines"; }).says("not printable"));
  CHECK(refusal_after("add", [](Model& model) { model.tensors[1].constant.edit().reshape({7}); }).says("type and shape"));
  CHECK(refusal_after("add", [](Model& model) {
          model.tensors[0].quantization.scales = {std::numeric_limits<double>::quiet_NaN()};
        }).says("scale"));
  CHECK(refusal_after("add", [](Model& model) { model.tensors[0].quantization.scales.clear(); }).says("a zero point without a scale"));
  CHECK(refusal_after("concat", [](Model& model) { model.operations[0].inputs[1] = absent_tensor; }).says("tensor -1"));
}

TEST_CASE("padding as the frameworks resolve it") {
  const Padding2d same{PaddingMode::same};
  // in 5, filter 3, stride 2: out 3, total (3-1)*2+3-5 = 2.
  CHECK(resolve_padding(same, {5, 5}, {3, 3}, {2, 2}) == ResolvedPadding{1, 1, 1, 1});
  // in 4, filter 3, stride 2: out 2, total 1: all of it after.
  CHECK(resolve_padding(same, {4, 4}, {3, 3}, {2, 2}) == ResolvedPadding{0, 1, 0, 1});
  // A filter smaller than the stride needs none.
  CHECK(resolve_padding(same, {7, 7}, {1, 1}, {3, 3}) == ResolvedPadding{});
  // Dilation 2 makes 3 taps span 5.
  CHECK(resolve_padding(same, {8, 8}, {3, 3}, {1, 1}, {2, 2}) == ResolvedPadding{2, 2, 2, 2});
  CHECK(window_count(same, {5, 7}, {3, 3}, {2, 2}) == Extent2d{3, 4});
  CHECK(window_count({}, {5, 7}, {3, 3}, {2, 2}) == Extent2d{2, 3});
  CHECK(window_count({PaddingMode::explicit_sizes, 1, 0, 0, 2}, {5, 7}, {3, 3}, {2, 2}) == Extent2d{2, 4});
  CHECK(window_count({}, {2, 9}, {3, 3}, {1, 1}) == Extent2d{0, 7});
}

TEST_CASE("broadcasting as NumPy does it") {
  CHECK(broadcast({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast({}, {4, 1}) == Shape{4, 1});
  CHECK(broadcast({4, 1}, {1, 5}) == Shape{4, 5});
  CHECK_FALSE(broadcast({4, 2}, {3}));
}
