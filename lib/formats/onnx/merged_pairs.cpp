// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Contract: codes of both pairs are int8, or uint8; each pair has one scale and one zero point, both stated, the same before and after. The reals that
// both can hold, [max of the lower ends, min of the upper ends], are those of the one pair: scale = (max - min) / 255,
// zero point = half_away(least code - min / scale), all in float32. Pairs that mean the same stay as they are. Of three in a row the first two
// become one, and it and the third.
// A Pad on either side, or a Clip before, has constants in codes of the file's own scale: there nothing is merged.
// Source: ONNX Runtime core/optimizer/double_qdq_pairs_remover.cc; version 1.30 run.
#include "formats/onnx/merged_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/onnx/folding.hpp"

namespace lastbit::onnx_format {
namespace {

struct Pair {
  ElementType type = ElementType::int8;
  Quantization quantization;
};

std::optional<Quantization> one_of(const Pair& first, const Pair& second) {
  const IntegerRange codes = range_of(first.type);
  struct Reals {
    float min, max;
  };
  const auto reals = [&](const Quantization& quantization) {
    const auto scale = static_cast<float>(quantization.scale());
    return Reals{static_cast<float>(codes.min - quantization.zero_point()) * scale,
                 static_cast<float>(codes.max - quantization.zero_point()) * scale};
  };
  const Reals a = reals(first.quantization), b = reals(second.quantization);
  const float min = std::max(a.min, b.min), max = std::min(a.max, b.max);
  const float scale = (max - min) / static_cast<float>(codes.max - codes.min);
  if (!(scale >= std::numeric_limits<float>::min())) return std::nullopt;
  const float zero_point = std::round(static_cast<float>(codes.min) - min / scale);
  return Quantization{.scales = {double{scale}}, .zero_points = {static_cast<std::int64_t>(zero_point)}, .axis = 0};
}

class PairMerger {
 public:
  PairMerger(const onnx::GraphProto& source, Graph& graph) : source_(source), graph_(graph), uses_(source) {}

  void merge() {
    for (int node = 0; node < source_.node_size(); ++node) merge_at(node);
  }

 private:
  [[nodiscard]] bool is(int node, std::string_view name) const { return source_.node(node).op_type() == name; }

  /// The pair that a QuantizeLinear begins: its DequantizeLinear is the only reader, and says the same.
  [[nodiscard]] std::optional<Pair> pair_from(int quantize, int dequantize) const {
    const auto one = stated_by(quantize), other = stated_by(dequantize);
    return one && other && one->type == other->type && one->quantization == other->quantization ? one : std::nullopt;
  }

  [[nodiscard]] std::optional<Pair> stated_by(int index) const {
    const auto& node = source_.node(index);
    if (node.input_size() != 3) return std::nullopt;
    const Tensor* const scale = constant(node.input(1));
    const Tensor* const zero_point = constant(node.input(2));
    if (scale == nullptr || zero_point == nullptr || scale->type() != ElementType::float32 || scale->element_count() != 1 ||
        zero_point->element_count() != 1 || !is_integer(zero_point->type()) || size_of(zero_point->type()) != 1)
      return std::nullopt;
    return Pair{zero_point->type(), {.scales = {double{scale->values<float>()[0]}}, .zero_points = {zero_point->integer_at(0)}, .axis = 0}};
  }

  [[nodiscard]] const Tensor* constant(const std::string& name) const {
    const ValueId id = graph_.find(name);
    return id == no_value ? nullptr : graph_.constant(id);
  }

  /// The node that alone reads what `node` writes, as its first input.
  [[nodiscard]] std::optional<int> next(int node, std::string_view name) const {
    if (source_.node(node).output_size() != 1) return std::nullopt;
    const std::string& output = source_.node(node).output(0);
    const auto reader = uses_.only_reader(output);
    return reader && is(*reader, name) && source_.node(*reader).input(0) == output ? reader : std::nullopt;
  }

  [[nodiscard]] bool has_own_constants(std::optional<int> before, std::optional<int> after) const {
    return (before && (is(*before, "Pad") || is(*before, "Clip"))) || (after && is(*after, "Pad"));
  }

  /// At a QuantizeLinear that no pair stands before.
  void merge_at(int first) {
    if (!is(first, "QuantizeLinear")) return;
    const auto middle = next(first, "DequantizeLinear");
    const auto second = middle ? next(*middle, "QuantizeLinear") : std::nullopt;
    const auto last = second ? next(*second, "DequantizeLinear") : std::nullopt;
    if (!last || !uses_.is_read_once(source_.node(*last).output(0)) || constant(source_.node(first).input(0)) != nullptr) return;
    const auto a = pair_from(first, *middle), b = pair_from(*second, *last);
    if (!a || !b || a->type != b->type ||
        has_own_constants(uses_.writer(source_.node(first).input(0)), uses_.only_reader(source_.node(*last).output(0))))
      return;
    const ValueId codes = graph_.find(source_.node(first).output(0)), others = graph_.find(source_.node(*second).output(0));
    const Pair before{a->type, graph_[codes].merged.value_or(a->quantization)};
    if (before.quantization == b->quantization) return;
    const auto merged = one_of(before, *b);
    if (!merged) return;
    std::vector<ValueId>& run = runs_[codes];
    if (run.empty()) run.push_back(codes);
    run.push_back(others);
    for (const ValueId value : run) graph_[value].merged = merged;
    runs_[others] = run;
  }

  const onnx::GraphProto& source_;
  Graph& graph_;
  Uses uses_;
  std::unordered_map<ValueId, std::vector<ValueId>> runs_;  ///< the values that one pair has become the codes of, by the last of them
};

}  // namespace

void state_merged_pairs(const onnx::GraphProto& source, Graph& graph) { PairMerger(source, graph).merge(); }

}  // namespace lastbit::onnx_format
