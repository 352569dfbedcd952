// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which types, shapes and attributes operations on blocks take: codes [..., blocks, 32], scales [..., blocks] (BlockAttributes).
#include "lastbit/shape.hpp"
#include "model/input_shapes.hpp"
#include "model/operation_checks.hpp"

namespace lastbit {
namespace {

void require_codes(const OperationView& operation, const ModelTensor& codes, const ModelTensor& scales, BlockFormat format) {
  require_type(operation, codes, {codes_of(format).type});
  require_type(operation, scales, {ElementType::float16});
  operation.require(!codes.quantization.present(), ErrorCode::bad_quantization,
                    "tensor '" + codes.name + "' has a scale; that of its blocks is '" + scales.name + "'");
}

BlockFormat format_of(const OperationView& operation) { return operation.attributes<BlockAttributes>().format; }

}  // namespace

Shape shape_of_blocks(const InputShapes& of) {
  std::vector<std::int64_t> sizes = of.sizes_of(0);
  if (sizes.empty() || sizes.back() % block_length != 0)
    of.fail("the input is " + of.input(0).text() + "; rows of whole blocks of " + std::to_string(block_length) + " values are needed");
  sizes.back() /= block_length;
  sizes.push_back(block_length);
  return Shape(std::move(sizes));
}

Shape shape_of_block_product(const InputShapes& of) {
  std::vector<std::int64_t> sizes = of.sizes_of(0);
  if (sizes.size() < 2) of.fail("the input is " + of.input(0).text() + "; [..., blocks, " + std::to_string(block_length) + "] is needed");
  sizes.pop_back();
  sizes.back() = of.ranked(2, 3)[0];
  return Shape(std::move(sizes));
}

void check_block_quantize_types(const OperationView& operation) {
  operation.require(operation.output_count() == 2, ErrorCode::malformed_file, "2 outputs needed: codes and scales");
  require_type(operation, operation.input(), {ElementType::float32});
  require_codes(operation, operation.output(0), operation.output(1), format_of(operation));
}

void check_block_matmul_types(const OperationView& operation) {
  require_codes(operation, operation.input(0), operation.input(1), BlockFormat::q8_0);
  require_codes(operation, operation.input(2), operation.input(3), format_of(operation));
  require_type(operation, operation.output(), {ElementType::float32});
}

void check_block_quantize(const OperationView& operation) {
  const ModelTensor& input = operation.input();
  operation.require(input.shape.rank() >= 1 && input.shape.back() % block_length == 0, ErrorCode::shape_mismatch,
                    "tensor '" + input.name + "' is " + input.shape.text() + "; rows of whole blocks of " + std::to_string(block_length) +
                        " values are needed");
  std::vector<std::int64_t> codes = sizes_of(input);
  codes.back() /= block_length;
  operation.require_shape(operation.output(1), Shape(codes));
  codes.push_back(block_length);
  operation.require_shape(operation.output(0), Shape(codes));
}

void check_block_matmul(const OperationView& operation) {
  const ModelTensor &input = operation.input(0), &weights = operation.input(2);
  operation.require(
      input.shape.rank() >= 2 && input.shape.back() == block_length, ErrorCode::shape_mismatch,
      "tensor '" + input.name + "' is " + input.shape.text() + "; [..., blocks, " + std::to_string(block_length) + "] is needed");
  operation.require_rank(weights, 3);
  std::vector<std::int64_t> rows = sizes_of(input);
  rows.pop_back();
  operation.require_shape(operation.input(1), Shape(rows));
  operation.require_shape(weights, {weights.shape[0], rows.back(), block_length});
  operation.require_shape(operation.input(3), {weights.shape[0], rows.back()});
  rows.back() = weights.shape[0];
  operation.require_shape(operation.output(), Shape(rows));
}

}  // namespace lastbit
