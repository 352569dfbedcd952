// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Constants of which a .tflite file stores only some values.
#include "lastbit/io/tflite.hpp"
#include "support/catch.hpp"
#include "support/one_operation.hpp"
#include "support/refusal.hpp"
#include "support/tflite_file.hpp"

using namespace lastbit;
using namespace lastbit::test;
using namespace lastbit::tflite_format;

namespace {

using Integers = std::vector<std::int32_t>;

/// A dimension: dense of a size, or compressed.
struct Dimension {
  std::int32_t dense_size = 0;
  Integers segments{}, indices{};
};

struct Sparse {
  Integers shape, order;
  std::vector<Dimension> dimensions;
  std::vector<std::uint8_t> stored;
  Integers block_map = {};
};

/// add(x, sparse constant) -> y
TfliteFile file_of(const Sparse& sparse) {
  TfliteFile file;
  file.tensors = {{.shape = sparse.shape, .name = "x"},
                  {.shape = sparse.shape, .data = sparse.stored, .name = "c"},
                  {.shape = sparse.shape, .name = "y"}};
  file.inputs = {0};
  file.op_inputs = {0, 1};
  file.op_outputs = file.outputs = {2};
  file.tensors[1].sparsity = [=](flatbuffers::FlatBufferBuilder& builder) {
    std::vector<flatbuffers::Offset<DimensionMetadata>> metadata;
    for (const Dimension& one : sparse.dimensions) {
      if (one.segments.empty()) {
        metadata.push_back(CreateDimensionMetadata(builder, DimensionType::DENSE, one.dense_size));
        continue;
      }
      const std::vector<std::uint8_t> segments(one.segments.begin(), one.segments.end());
      metadata.push_back(CreateDimensionMetadata(builder, DimensionType::SPARSE_CSR, one.dense_size, SparseIndexVector::Uint8Vector,
                                                 CreateUint8VectorDirect(builder, &segments).Union(), SparseIndexVector::Int32Vector,
                                                 CreateInt32VectorDirect(builder, &one.indices).Union()));
    }
    return CreateSparsityParametersDirect(builder, &sparse.order, &sparse.block_map, &metadata);
  };
  return file;
}

std::vector<std::int8_t> read(const Sparse& sparse) {
  return values_of<std::int8_t>(*parse_tflite(file_of(sparse).bytes(), "sparse.tflite").tensors[1].constant);
}

const Sparse rows{{2, 3}, {0, 1}, {{2}, {0, {0, 2, 3}, {0, 2, 1}}}, {5, 6, 7}};

}  // namespace

TEST_CASE("sparse constants: rows, columns first, a compressed dimension inside another, and blocks") {
  using Codes = std::vector<std::int8_t>;
  CHECK(read(rows) == Codes{5, 0, 6, 0, 7, 0});
  CHECK(read({{2, 3}, {1, 0}, {{3}, {0, {0, 1, 1, 3}, {1, 0, 1}}}, {5, 6, 7}}) == Codes{0, 0, 6, 5, 0, 7});
  CHECK(read({{3, 2}, {0, 1}, {{0, {0, 2}, {0, 2}}, {0, {0, 1, 3}, {1, 0, 1}}}, {5, 6, 7}}) == Codes{0, 5, 0, 0, 6, 7});
  // blocks of two columns: the second of the first row
  CHECK(read({{2, 4}, {0, 1, 2}, {{2}, {0, {0, 1, 1}, {1}}, {2}}, {8, 9}, {1}}) == Codes{0, 0, 8, 9, 0, 0, 0, 0});
}

TEST_CASE("a sparse constant that contradicts itself is refused in one line") {
  const auto refuses = [](Sparse sparse, auto spoil, const std::string& text) {
    spoil(sparse);
    const auto refusal = refusal_of([&] { return parse_tflite(file_of(sparse).bytes(), "bad.tflite"); });
    REQUIRE(refusal);
    INFO(refusal->message);
    CHECK(refusal->says(text));
    CHECK(refusal->is_one_line());
  };
  refuses(
      rows,
      [](Sparse& s) {
        s.order = {0, 0};
      },
      "no order of its dimensions");
  refuses(
      rows, [](Sparse& s) { s.dimensions.pop_back(); }, "does not describe every dimension");
  refuses(
      rows, [](Sparse& s) { s.dimensions[0].dense_size = 3; }, "another size than the tensor");
  refuses(
      rows,
      [](Sparse& s) {
        s.dimensions[1].segments = {0, 2, 4};
      },
      "do not follow each other");
  refuses(
      rows,
      [](Sparse& s) {
        s.dimensions[1].segments = {0, 3, 2};
      },
      "do not follow each other");
  refuses(
      rows,
      [](Sparse& s) {
        s.dimensions[1] = {0, {0, 3}, {0, 1, 2}};
      },
      "too few segments");
  refuses(
      rows,
      [](Sparse& s) {
        s.dimensions[1].indices = {0, 3, 1};
      },
      "outside its dimension");
  refuses(
      rows,
      [](Sparse& s) {
        s.dimensions[1].indices = {2, 2, 1};
      },
      "out of order");
  refuses(
      rows,
      [](Sparse& s) {
        s.stored = {5, 6};
      },
      "not in order");
  refuses(
      rows,
      [](Sparse& s) {
        s.stored = {5, 6, 7, 8};
      },
      "another number of values");
  refuses(
      rows,
      [](Sparse& s) {
        s.block_map = {0, 1, 0};
      },
      "traversal order");
  const Sparse blocks{{2, 4}, {0, 1, 2}, {{2}, {0, {0, 1, 1}, {1}}, {2}}, {8, 9}, {1}};
  refuses(
      blocks, [](Sparse& s) { s.block_map = {2}; }, "that the tensor lacks");
  refuses(
      blocks, [](Sparse& s) { s.dimensions[2].dense_size = 3; }, "do not divide");
  refuses(
      blocks, [](Sparse& s) { s.dimensions[2].dense_size = 0; }, "do not divide");
}
