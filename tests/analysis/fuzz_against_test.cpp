// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random networks and the files that are made of them: what a reader makes of a file computes what the network computes that was written.
#include "lastbit/fuzz_against.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/onnx.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

const Backend& backend() {
  static const SpecSheet sheet = find_backend("tflite_single");
  return sheet.backend;
}

Model network(FuzzFormat format, std::uint64_t index) { return random_network(format, fuzzed_operations(format), backend(), 7, index); }

std::vector<std::byte> file_of(FuzzFormat format, const Model& model) {
  if (format == FuzzFormat::tflite) return tflite_bytes(model, "written");
  const std::string text = onnx_bytes(model);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Model read_back(FuzzFormat format, const Model& model) {
  const std::vector<std::byte> bytes = file_of(format, model);
  return format == FuzzFormat::tflite ? parse_tflite(bytes, "written") : parse_onnx(bytes, "written");
}

/// Axis i of the result is axis order[i] of the tensor, of rank 4.
Tensor moved(const Tensor& tensor, const std::vector<std::size_t>& order) {
  const Shape& in = tensor.shape();
  Tensor result(tensor.type(), Shape{in[order[0]], in[order[1]], in[order[2]], in[order[3]]});
  const std::size_t size = size_of(tensor.type());
  std::size_t to = 0;
  std::vector<std::int64_t> at(4);
  for (at[order[0]] = 0; at[order[0]] < in[order[0]]; ++at[order[0]])
    for (at[order[1]] = 0; at[order[1]] < in[order[1]]; ++at[order[1]])
      for (at[order[2]] = 0; at[order[2]] < in[order[2]]; ++at[order[2]])
        for (at[order[3]] = 0; at[order[3]] < in[order[3]]; ++at[order[3]], to += size) {
          const auto from = static_cast<std::size_t>(((at[0] * in[1] + at[1]) * in[2] + at[2]) * in[3] + at[3]) * size;
          std::copy_n(tensor.bytes().begin() + static_cast<std::ptrdiff_t>(from), size,
                      result.bytes().begin() + static_cast<std::ptrdiff_t>(to));
        }
  return result;
}

Tensor output_of(const Model& model, const std::vector<Tensor>& inputs) {
  return *run(model, backend(), inputs).tensors[static_cast<std::size_t>(model.outputs[0])];
}

/// In an .onnx file an image becomes a matrix by another order of its values, and to requantise is to dequantise and to quantise.
bool means_the_same(FuzzFormat format, const Model& model) {
  const auto differs = [](const Operation& operation) {
    return operation.kind == OperationKind::reshape || operation.kind == OperationKind::requantize;
  };
  return format == FuzzFormat::tflite || std::ranges::none_of(model.operations, differs);
}

}  // namespace

TEST_CASE("what is read from the file of a random network computes what the network does") {
  for (const FuzzFormat format : {FuzzFormat::tflite, FuzzFormat::onnx}) {
    std::int64_t compared = 0, values = 0;
    std::set<OperationKind> kinds;
    for (std::uint64_t index = 0; index < 400; ++index) {
      const Model written = network(format, index);
      if (!means_the_same(format, written) || !check(written, backend()).empty()) continue;
      const Model model = read_back(format, written);
      if (!check(model, backend()).empty()) continue;
      const auto inputs = random_inputs(written, 7, index, 0);
      auto in_file = inputs;
      const bool is_onnx = format == FuzzFormat::onnx;
      for (Tensor& input : in_file)
        if (is_onnx && input.shape().rank() == 4) input = moved(input, {0, 3, 1, 2});
      Tensor got = output_of(model, in_file);
      if (is_onnx && got.shape().rank() == 4) got = moved(got, {0, 2, 3, 1});
      INFO(name_of(format) << " " << index << ", " << name_of(written.operations.front().kind));
      CHECK(got == output_of(written, inputs));
      ++compared;
      values += got.element_count();
      for (const Operation& operation : written.operations) kinds.insert(operation.kind);
    }
    INFO(name_of(format));
    CHECK(compared > 200);
    CHECK(values > 10'000);
    CHECK(kinds.size() >= fuzzed_operations(format).size() - 3);
  }
}

TEST_CASE("random networks are odd enough to decide rules: scales, zero points, channels, ties, networks of several operations") {
  std::int64_t scales = 0, powers = 0, ends = 0, zero_points = 0, per_channel = 0, weights = 0, several = 0;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const Model model = network(index % 2 == 0 ? FuzzFormat::tflite : FuzzFormat::onnx, index);
    several += model.operations.size() > 1 ? 1 : 0;
    for (const ModelTensor& tensor : model.tensors) {
      if (!tensor.quantization.present()) continue;
      int exponent = 0;
      powers += std::frexp(tensor.quantization.scale(), &exponent) == 0.5 ? 1 : 0;
      ++scales;
      if (tensor.constant && tensor.name.starts_with("weights")) {
        ++weights;
        per_channel += tensor.quantization.per_channel() ? 1 : 0;
      } else if (size_of(tensor.type) == 1) {
        const IntegerRange range = range_of(tensor.type);
        ++zero_points;
        ends += tensor.quantization.zero_point() == range.min || tensor.quantization.zero_point() == range.max ? 1 : 0;
      }
    }
  }
  CHECK(powers * 2 < scales);
  CHECK(powers * 10 > scales);
  CHECK(ends * 10 < zero_points * 5);
  CHECK(ends * 50 > zero_points);
  CHECK(per_channel * 5 > weights);
  CHECK(per_channel * 5 < weights * 4);
  CHECK(several > 80);
}

TEST_CASE("the same seed makes the same networks and inputs, another one others") {
  for (const FuzzFormat format : {FuzzFormat::tflite, FuzzFormat::onnx}) {
    const auto file = [&](std::uint64_t seed) {
      return file_of(format, random_network(format, fuzzed_operations(format), backend(), seed, 3));
    };
    CHECK(file(1) == file(1));
    CHECK(file(1) != file(2));
  }
  const Model model = network(FuzzFormat::onnx, 3);
  CHECK(random_inputs(model, 1, 3, 0) == random_inputs(model, 1, 3, 0));
  CHECK(random_inputs(model, 1, 3, 0) != random_inputs(model, 1, 3, 1));
}
