// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators of .tflite files that only move data: which input value each output value is. And operators that compute shapes alone.
#include <numeric>

#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/tflite.hpp"
#include "support/catch.hpp"
#include "support/one_operation.hpp"
#include "support/refusal.hpp"
#include "support/tflite_file.hpp"

using namespace lastbit;
using namespace lastbit::test;
using namespace lastbit::tflite_format;

namespace {

using Sizes = std::vector<std::int32_t>;
using Codes = std::vector<std::int8_t>;

FileTensor integers(const Sizes& values) {
  return {.shape = {static_cast<std::int32_t>(values.size())},
          .type = TensorType::INT32,
          .data = int32_bytes(values),
          .scale = {},
          .zero_point = {}};
}

/// An operator of one data input, constants behind it, and these outputs.
TfliteFile moving(BuiltinOperator code, const Sizes& from, const std::vector<Sizes>& constants, const std::vector<Sizes>& to) {
  TfliteFile file;
  file.code = code;
  file.tensors = {{.shape = from, .name = "x"}};
  file.inputs = file.op_inputs = {0};
  for (const Sizes& values : constants) {
    file.op_inputs.push_back(static_cast<std::int32_t>(file.tensors.size()));
    file.tensors.push_back(integers(values));
  }
  for (const Sizes& shape : to) {
    file.op_outputs.push_back(static_cast<std::int32_t>(file.tensors.size()));
    file.tensors.push_back({.shape = shape, .name = "y" + std::to_string(file.op_outputs.size())});
  }
  file.outputs = file.op_outputs;
  return file;
}

/// What each output holds where the input counts from 0.
std::vector<Codes> read_and_run(const TfliteFile& file) {
  const lastbit::Model model = parse_tflite(file.bytes(), "moving.tflite");
  lastbit::Tensor input(ElementType::int8, model.tensor(model.inputs[0]).shape);
  std::iota(input.values<std::int8_t>().begin(), input.values<std::int8_t>().end(), std::int8_t{0});
  const Trace trace = run(model, tflite_double, {{input}});
  std::vector<Codes> found;
  for (const std::int32_t output : model.outputs) found.push_back(values_of<std::int8_t>(*trace.tensors[static_cast<std::size_t>(output)]));
  return found;
}

void refuses(const TfliteFile& file, const std::string& text) {
  const auto refusal = refusal_of([&] { return parse_tflite(file.bytes(), "bad.tflite"); });
  REQUIRE(refusal);
  INFO(refusal->message);
  CHECK(refusal->says(text));
}

}  // namespace

TEST_CASE("SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND are each other's inverse, but for paddings and crops") {
  using enum BuiltinOperator;
  CHECK(read_and_run(moving(SPACE_TO_BATCH_ND, {1, 2, 4, 1}, {{2, 2}, {0, 0, 0, 0}}, {{4, 1, 2, 1}})) ==
        std::vector<Codes>{{0, 2, 1, 3, 4, 6, 5, 7}});
  CHECK(read_and_run(moving(SPACE_TO_BATCH_ND, {2, 3, 1}, {{2}, {1, 0}}, {{4, 2, 1}})) == std::vector<Codes>{{0, 1, 0, 4, 0, 2, 3, 5}});
  CHECK(read_and_run(moving(SPACE_TO_BATCH_ND, {1, 2, 1, 2}, {{2, 1}, {0, 0, 1, 1}}, {{2, 1, 3, 2}})) ==
        std::vector<Codes>{{0, 0, 0, 1, 0, 0, 0, 0, 2, 3, 0, 0}});
  CHECK(read_and_run(moving(BATCH_TO_SPACE_ND, {4, 1, 2, 1}, {{2, 2}, {0, 0, 0, 0}}, {{1, 2, 4, 1}})) ==
        std::vector<Codes>{{0, 2, 1, 3, 4, 6, 5, 7}});
  CHECK(read_and_run(moving(BATCH_TO_SPACE_ND, {4, 2, 1}, {{2}, {1, 0}}, {{2, 3, 1}})) == std::vector<Codes>{{4, 1, 5, 6, 3, 7}});
  refuses(moving(SPACE_TO_BATCH_ND, {1, 3, 4, 1}, {{2, 2}, {0, 0, 0, 0}}, {{4, 1, 2, 1}}), "blocks of 2 do not fit the padded image");
  refuses(moving(SPACE_TO_BATCH_ND, {1, 2, 4, 1}, {{2, 2}, {0, 0, 0}}, {{4, 1, 2, 1}}), "a pair of paddings or crops per spatial axis");
  refuses(moving(SPACE_TO_BATCH_ND, {1, 2, 4, 1}, {{2, 2}, {0, 0, 0, -2}}, {{4, 1, 2, 1}}), "a negative padding or crop");
  refuses(moving(SPACE_TO_BATCH_ND, {1, 2, 4, 1}, {{2, 2}, {0, 0, 0, 0}}, {{4, 2, 2, 1}}), "4x1x2x1 follows");
  refuses(moving(BATCH_TO_SPACE_ND, {3, 1, 2, 1}, {{2, 2}, {0, 0, 0, 0}}, {{1, 2, 4, 1}}), "blocks of 2 do not fit the batch");
  refuses(moving(BATCH_TO_SPACE_ND, {4, 1, 2, 1}, {{2, 2}, {1, 1, 0, 0}}, {{1, 1, 4, 1}}), "the crops leave nothing");
  refuses(moving(BATCH_TO_SPACE_ND, {4, 1, 2, 1}, {{0, 2}, {0, 0, 0, 0}}, {{1, 2, 4, 1}}), "a block of 0");
}

TEST_CASE("BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND of sizes, blocks, paddings and crops that are unlike on every axis and side") {
  constexpr int batch = 2, rows = 3, columns = 2, channels = 2, down = 2, across = 3;  // blocks
  constexpr int top = 1, bottom = 3, left = 2, right = 0;
  constexpr int height = rows * down - top - bottom, width = columns * across - left - right;
  const Sizes whole{batch * down * across, rows, columns, channels}, image{batch, height, width, channels};
  // Where the image's value lies among the blocks.
  const auto place = [&](int n, int y, int x, int c) {
    const int row = y + top, column = x + left;
    const int block = (row % down) * across + column % across;
    return ((((block * batch) + n) * rows + row / down) * columns + column / across) * channels + c;
  };
  Codes cropped, spread(static_cast<std::size_t>(whole[0] * rows * columns * channels), 0);
  for (int n = 0; n < batch; ++n)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < channels; ++c) {
          spread[static_cast<std::size_t>(place(n, y, x, c))] = static_cast<std::int8_t>(cropped.size());
          cropped.push_back(static_cast<std::int8_t>(place(n, y, x, c)));
        }
  using enum BuiltinOperator;
  const std::vector<Sizes> how{{down, across}, {top, bottom, left, right}};
  CHECK(read_and_run(moving(BATCH_TO_SPACE_ND, whole, how, {image})) == std::vector<Codes>{cropped});
  CHECK(read_and_run(moving(SPACE_TO_BATCH_ND, image, how, {whole})) == std::vector<Codes>{spread});
}

TEST_CASE("of several subgraphs the first is read") {
  TfliteFile file = moving(BuiltinOperator::SPACE_TO_BATCH_ND, {1, 2, 4, 1}, {{2, 2}, {0, 0, 0, 0}}, {{4, 1, 2, 1}});
  file.subgraphs = 3;
  CHECK(parse_tflite(file.bytes(), "three.tflite").operations.size() == 3);
}

TEST_CASE("GATHER, TILE, BROADCAST_TO, REVERSE_V2 and MIRROR_PAD take the values that they say") {
  using enum BuiltinOperator;
  const auto gather = with(moving(GATHER, {2, 3}, {{2, 0, 2}}, {{2, 3}}), BuiltinOptions::GatherOptions, CreateGatherOptions, -1, 0);
  CHECK(read_and_run(gather) == std::vector<Codes>{{2, 0, 2, 5, 3, 5}});
  CHECK(read_and_run(moving(TILE, {1, 2, 2}, {{1, 2, 3}}, {{1, 4, 6}})) ==
        std::vector<Codes>{{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}});
  CHECK(read_and_run(moving(BROADCAST_TO, {2, 1}, {{3, 2, 2}}, {{3, 2, 2}})) == std::vector<Codes>{{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}});
  CHECK(read_and_run(moving(BROADCAST_TO, {2, 2}, {{2, 2}}, {{2, 2}})) == std::vector<Codes>{{0, 1, 2, 3}});
  CHECK(read_and_run(moving(REVERSE_V2, {2, 3}, {{1}}, {{2, 3}})) == std::vector<Codes>{{2, 1, 0, 5, 4, 3}});
  const auto mirrored = [](MirrorPadMode mode, const Sizes& to) {
    return read_and_run(with(moving(MIRROR_PAD, {3}, {{2, 2}}, {to}), BuiltinOptions::MirrorPadOptions, CreateMirrorPadOptions, mode));
  };
  CHECK(mirrored(MirrorPadMode::REFLECT, {7}) == std::vector<Codes>{{2, 1, 0, 1, 2, 1, 0}});
  CHECK(mirrored(MirrorPadMode::SYMMETRIC, {7}) == std::vector<Codes>{{1, 0, 0, 1, 2, 2, 1}});
}

TEST_CASE("UNPACK, SPLIT_V, PACK, SPACE_TO_DEPTH and DEPTH_TO_SPACE move values between axes") {
  using enum BuiltinOperator;
  const auto unpack = with(moving(UNPACK, {2, 3}, {}, {{2}, {2}, {2}}), BuiltinOptions::UnpackOptions, CreateUnpackOptions, 3, 1);
  CHECK(read_and_run(unpack) == std::vector<Codes>{{0, 3}, {1, 4}, {2, 5}});
  CHECK(read_and_run(moving(SPLIT_V, {2, 3}, {{1, 2}, {-1}}, {{2, 1}, {2, 2}})) == std::vector<Codes>{{0, 3}, {1, 2, 4, 5}});
  TfliteFile pack = with(moving(PACK, {2}, {}, {{2, 2}}), BuiltinOptions::PackOptions, CreatePackOptions, 2, 1);
  pack.op_inputs = {0, 0};
  CHECK(read_and_run(pack) == std::vector<Codes>{{0, 0, 1, 1}});
  const auto depth =
      with(moving(SPACE_TO_DEPTH, {1, 2, 4, 1}, {}, {{1, 1, 2, 4}}), BuiltinOptions::SpaceToDepthOptions, CreateSpaceToDepthOptions, 2);
  CHECK(read_and_run(depth) == std::vector<Codes>{{0, 1, 4, 5, 2, 3, 6, 7}});
  const auto space =
      with(moving(DEPTH_TO_SPACE, {1, 1, 2, 4}, {}, {{1, 2, 4, 1}}), BuiltinOptions::DepthToSpaceOptions, CreateDepthToSpaceOptions, 2);
  CHECK(read_and_run(space) == std::vector<Codes>{{0, 1, 4, 5, 2, 3, 6, 7}});
}

TEST_CASE("what a moving operator says wrong is refused in one line") {
  using enum BuiltinOperator;
  refuses(with(moving(GATHER, {3}, {{3}}, {{1}}), BuiltinOptions::GatherOptions, CreateGatherOptions, 0, 0), "index 3 of an axis of 3");
  refuses(with(moving(GATHER, {3}, {{-1}}, {{1}}), BuiltinOptions::GatherOptions, CreateGatherOptions, 0, 0), "index -1 of an axis of 3");
  refuses(with(moving(GATHER, {3, 1}, {{0}}, {{1}}), BuiltinOptions::GatherOptions, CreateGatherOptions, 0, 1), "batch_dims");
  refuses(moving(TILE, {3}, {{2}}, {{7}}), "no whole number of its inputs");
  refuses(moving(TILE, {2, 3}, {{2, 1}}, {{6}}), "other dimensions");
  refuses(moving(TILE, {1}, {{100000}}, {{100000}}), "more than 65536 values");
  refuses(moving(TILE, {1}, {{2000000000}}, {{2000000000}}), "more than 65536 values");  // before as many places are listed
  refuses(moving(BROADCAST_TO, {1}, {{1000000000}}, {{1000000000}}), "more than 65536 values");
  refuses(moving(BROADCAST_TO, {2, 3}, {{3}}, {{3}}), "fewer dimensions");
  refuses(moving(BROADCAST_TO, {2}, {{3}}, {{3}}), "does not broadcast");
  const auto mirror = [](const Sizes& paddings, const Sizes& to) {
    return with(moving(MIRROR_PAD, {3}, {paddings}, {to}), BuiltinOptions::MirrorPadOptions, CreateMirrorPadOptions,
                MirrorPadMode::REFLECT);
  };
  refuses(mirror({3, 0}, {6}), "larger than what it mirrors");
  refuses(mirror({-1, 0}, {2}), "larger than what it mirrors");
  refuses(mirror({1, 0}, {5}), "its output is 5; 4 follows");
  refuses(mirror({1}, {4}), "one pair of paddings");
  refuses(with(moving(UNPACK, {2, 3}, {}, {{2}, {2}}), BuiltinOptions::UnpackOptions, CreateUnpackOptions, 2, 1), "2 outputs of an axis");
  refuses(moving(SPLIT_V, {3}, {{1, 1}, {0}}, {{1}, {1}}), "smaller than its input");
  refuses(moving(SPLIT_V, {3}, {{2, 2}, {0}}, {{2}, {2}}), "larger than its input");
  refuses(with(moving(SPACE_TO_DEPTH, {1, 3, 4, 1}, {}, {{1, 1, 2, 4}}), BuiltinOptions::SpaceToDepthOptions, CreateSpaceToDepthOptions, 2),
          "do not fit the image");
  refuses(with(moving(DEPTH_TO_SPACE, {1, 1, 2, 6}, {}, {{1, 2, 4, 1}}), BuiltinOptions::DepthToSpaceOptions, CreateDepthToSpaceOptions, 2),
          "do not fit the channels");
  refuses(with(moving(DEPTH_TO_SPACE, {1, 1, 2, 4}, {}, {{1, 2, 4, 1}}), BuiltinOptions::DepthToSpaceOptions, CreateDepthToSpaceOptions, 0),
          "a block of 0");
  refuses(with(moving(RESIZE_BILINEAR, {1, 2, 2, 1}, {{4, 4}}, {{1, 4, 4, 1}}), BuiltinOptions::ResizeBilinearOptions,
               CreateResizeBilinearOptions, true, true),
          "align_corners with half_pixel_centers");
  refuses(moving(RESIZE_NEAREST_NEIGHBOR, {1, 2, 2, 1}, {{4, 3}}, {{1, 4, 4, 1}}), "not that of the output");
}

TEST_CASE("a resize without options is asymmetric; each option is a way to compute coordinates") {
  const auto attributes_of = [](const TfliteFile& file) {
    return std::get<ResizeAttributes>(parse_tflite(file.bytes(), "resize.tflite").operations.front().attributes);
  };
  const auto nearest = moving(BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, {1, 2, 2, 1}, {{4, 4}}, {{1, 4, 4, 1}});
  CHECK(attributes_of(nearest).coordinates == ResizeCoordinates::asymmetric);
  CHECK(attributes_of(nearest).nearest == Rounding::floor);
  const auto with_options = [&](bool corners, bool halves) {
    return attributes_of(with(nearest, BuiltinOptions::ResizeNearestNeighborOptions, CreateResizeNearestNeighborOptions, corners, halves));
  };
  CHECK(with_options(true, false).coordinates == ResizeCoordinates::align_corners);
  CHECK(with_options(true, false).nearest == Rounding::half_up);
  CHECK(with_options(false, true).coordinates == ResizeCoordinates::half_pixel);
  CHECK(with_options(false, true).nearest == Rounding::half_up);
  CHECK(with_options(false, true).mode == ResizeMode::nearest);
  const auto bilinear = moving(BuiltinOperator::RESIZE_BILINEAR, {1, 2, 2, 1}, {{4, 4}}, {{1, 4, 4, 1}});
  CHECK(attributes_of(bilinear).mode == ResizeMode::bilinear);
}

TEST_CASE("operators that compute nothing but a shape are left out, whatever they are; those that are read otherwise are not") {
  using enum BuiltinOperator;
  // x -> SHAPE -> t -> GELU -> u; RESHAPE(x, u) -> y
  TfliteFile file = moving(RESHAPE, {2, 3}, {}, {{3, 2}});
  file.tensors.push_back({.shape = {2}, .type = TensorType::INT32, .scale = {}, .zero_point = {}, .name = "t"});
  file.tensors.push_back({.shape = {2}, .type = TensorType::INT32, .scale = {}, .zero_point = {}, .name = "u"});
  file.op_inputs = {0, 3};
  file.earlier = {{SHAPE, {0}, {2}}, {GELU, {2}, {3}}};
  CHECK(parse_tflite(file.bytes(), "keras.tflite").operations.size() == 1);
  CHECK(read_and_run(file) == std::vector<Codes>{{0, 1, 2, 3, 4, 5}});
  file.outputs = {1, 2};  // the shape is an output too
  refuses(file, "SHAPE");
  file.outputs = {1};
  file.op_inputs = {3, 2};  // what the operator before it gives is data
  refuses(file, "SHAPE");
}
