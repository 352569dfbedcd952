// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network that the PC computes otherwise than an RK3588: its multiplier of 15 bits, cut and one more, and a carry that a driver loses.
#include <algorithm>
#include <cmath>
#include <random>

#include "lastbit/advise.hpp"
#include "lastbit/arith/multiplier.hpp"
#include "lastbit/arith/rescale.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace {

/// A PC that rounds once, the board, and the board as Mesa's driver programs it.
struct Boards {
  SpecSheet pc = find_backend("tflite_single"), board = find_backend("rk3588"), mesa = find_backend("rk3588_mesa");
};

std::vector<Tensor> random_images() {
  std::mt19937 random(1);
  Tensor tensor(ElementType::int8, {10, 1, 16, 16, 8});
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return {std::move(tensor)};
}

std::string steps(std::optional<std::int64_t> largest) {
  const std::int64_t value = largest.value_or(0);
  return value == 0 ? "none" : (value > 0 ? "+" : "") + std::to_string(value) + " LSB";
}

/// One convolution on the PC's arithmetics and the board, and its first differing value, stage by stage.
void add_layer(StoryFigures& figures, const Boards& boards, const Model& one, const std::vector<Tensor>& inputs) {
  for (const char* const pc : {"tflite_single", "tflite_double", "xnnpack", "onnxruntime"}) {
    const LayerAttribution found = explain(one, inputs, find_backend(pc), boards.board);
    figures.tables["pairs"].push_back(row(pc, found.differing.size(), found.values, summary(found)));
  }
  const AttributedValue first = explain(one, inputs, boards.pc, boards.board).differing.front();
  const SideBySide both = side_by_side(one, inputs, first.index, boards.pc, boards.board).value();
  figures.texts = {{"index", std::to_string(first.index)},
                   {"on the PC", std::to_string(first.a)},
                   {"on the board", std::to_string(first.b)},
                   {"accumulator", std::to_string(both.a.accumulator)}};
  for (const auto& [table, trace] : {std::pair{"stages on the PC", &both.a}, {"stages on the board", &both.b}})
    for (const StageStep& step : trace->steps) figures.tables[table].push_back(row(step.stage, step.value, fixed(step.real, 5)));
}

/// The layers of a chain of twenty, alone and in the chain.
void add_chain(StoryFigures& figures, const Boards& boards, const Model& chain, const std::vector<Tensor>& inputs) {
  Series alone{.title = "each layer alone", .style = SeriesStyle::lines_and_points};
  Series in_chain{.title = "in the chain", .style = SeriesStyle::lines_and_points};
  for (const LayerDifference& layer : compare_backends(chain, boards.pc, boards.board, inputs).layers) {
    if (!layer.same_input) continue;  // the image
    const double own = layer.same_input->share(), all = layer.accumulated.share();
    const auto number = static_cast<double>(in_chain.x.size() + 1);
    if (in_chain.x.size() % 4 == 0 || in_chain.x.size() == 19)
      figures.tables["growth"].push_back(row(layer.name.substr(4), percent(own), percent(all), steps(layer.accumulated.largest_lsb)));
    in_chain.x.push_back(number);
    in_chain.y.push_back(100 * all);
    if (own == 0) continue;  // a logarithm has no place for it
    alone.x.push_back(number);
    alone.y.push_back(100 * own);
  }
  figures.plot.series = {alone, in_chain};
  figures.plot.y_scale = AxisScale::logarithmic;
}

/// What each rule of the board moves: the chain's layers, each fed alike, against a board that had another.
void add_rules(StoryFigures& figures, const Boards& boards, const Model& chain, const std::vector<Tensor>& inputs) {
  using Rules = std::vector<std::pair<const char*, const char*>>;
  const std::pair<const char*, Rules> others[]{
      {"ties away from zero (CVT_ROUND)", {{"*.i8.output.chain.1.rounding", "half_away"}}},
      {"cut, without the one", {{"*.i8.output.scale.added", "nothing"}}},
      {"rounded, without the one", {{"*.i8.output.scale.added", "nothing"}, {"*.i8.output.scale.rounding", "half_away"}}},
      {"31 bits, rounded, without the one",
       {{"*.i8.output.scale.added", "nothing"},
        {"*.i8.output.scale.rounding", "half_away"},
        {"*.i8.output.scale.significant_bits", "31"}}}};
  for (const auto& [name, rules] : others) {
    SpecSheet other = boards.board;
    for (const auto& [rule, value] : rules) set_rule(other.backend, rule, value);
    std::int64_t values = 0, differing = 0, largest = 0;
    for (const LayerDifference& layer : compare_backends(chain, boards.board, other, inputs).layers) {
      if (!layer.same_input) continue;
      values += layer.same_input->values;
      differing += layer.same_input->differing;
      const std::int64_t step = layer.same_input->largest_lsb.value_or(0);
      if (std::abs(step) > std::abs(largest)) largest = step;
    }
    figures.tables["rules"].push_back(row(name, differing, values, steps(largest)));
  }
}

/// Requantisations of their own: 200 scales, every 7th accumulator that they leave in 8 bits.
void add_requantisations(StoryFigures& figures, const Boards& boards) {
  const auto operands_of = [](const RescaleRule& rule, double scale) {
    return RescaleOperands{.scale = encode(rule.scale, scale), .min = -128, .max = 127};
  };
  const RescaleRule& board = boards.board.backend.conv.i8.sum.output;
  for (const char* const pc : {"tflite_single", "tflite_double", "onnxruntime"}) {
    const SpecSheet sheet = find_backend(pc);
    const RescaleRule& other = sheet.backend.conv.i8.sum.output;
    std::mt19937 random(1);
    std::int64_t all = 0, differing = 0;
    for (int i = 0; i < 200; ++i) {
      const double scale = std::ldexp(1 + static_cast<double>(random()) * 0x1p-32, -9);
      const RescaleOperands on_board = operands_of(board, scale), on_pc = operands_of(other, scale);
      const auto end = static_cast<std::int64_t>(128 / scale);
      for (std::int64_t sum = -end; sum <= end; sum += 7, ++all)
        differing += finish(board.chain, sum, on_board) != finish(other.chain, sum, on_pc) ? 1 : 0;
    }
    figures.tables["requantisations"].push_back(
        row(pc, differing, all, percent(static_cast<double>(differing) / static_cast<double>(all))));
  }
}

/// A convolution whose effective scale lies just below a power of two, so that 14 bits of its mantissa are ones.
void add_carry(StoryFigures& figures, const Boards& boards, const Model& one, const std::vector<Tensor>& inputs) {
  const double scale = one.tensor(0).quantization.scale() * one.tensor(1).quantization.scale() / one.tensor(2).quantization.scale();
  for (const int exponent : {-8, -9}) {
    const double wanted = std::ldexp(1 - 0x1p-16, exponent);
    const Model layer = with_output_scale(one, 0, scale / wanted);
    const Tensor expected = *run(layer, boards.board.backend, inputs).tensors.back();
    const auto codes = expected.values<std::int8_t>();
    const auto shown = std::ranges::find_if(codes, [](std::int8_t code) { return code >= 40 && code < 60; }) - codes.begin();
    for (const SpecSheet* const board : {&boards.board, &boards.mesa}) {
      const EncodedScale encoded = encode(board->backend.conv.i8.sum.output.scale, wanted);
      const Tensor output = *run(layer, board->backend, inputs).tensors.back();
      const TensorDifference found = difference(expected, {}, output, {});
      figures.tables["carry"].push_back(row("2^" + std::to_string(exponent) + " less 1/65536", board->name, encoded.multiplier,
                                            encoded.fraction_bits - encoded.exponent, output.integer_at(shown), percent(found.share()),
                                            steps(found.largest_lsb)));
    }
  }
  figures.texts["of fifty layers"] = percent(1 - std::pow(1 - 0x1p-14, 50));
}

}  // namespace

StoryFigures rockchip_board_figures(const std::filesystem::path& data) {
  const Model chain = read_model(data / "vipnano-conv" / "model.json");
  const Boards boards;
  const std::vector<Tensor> inputs = random_images();
  StoryFigures figures;
  add_layer(figures, boards, extract_operation(chain, 1), inputs);
  add_requantisations(figures, boards);
  add_chain(figures, boards, chain, inputs);
  add_rules(figures, boards, chain, inputs);
  add_carry(figures, boards, extract_operation(chain, 1), inputs);
  return figures;
}

}  // namespace lastbit::tool
