// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "compare/report_layout.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/pair_proof.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t largest_code = 255, highest_sum = 32767, lowest_sum = -32768;

/// Two weights and what their products can add up to.
struct Pair {
  std::int64_t first = 0, second = 0;

  [[nodiscard]] std::int64_t highest() const {
    return largest_code * (std::max<std::int64_t>(first, 0) + std::max<std::int64_t>(second, 0));
  }
  [[nodiscard]] std::int64_t lowest() const {
    return largest_code * (std::min<std::int64_t>(first, 0) + std::min<std::int64_t>(second, 0));
  }
  /// By how much it leaves 16 bits; negative: it does not.
  [[nodiscard]] std::int64_t excess() const { return std::max(highest() - highest_sum, lowest_sum - lowest()); }
};

/// The weights of one output in order; `run`: how many stand at one kernel position.
struct Row {
  std::vector<std::int64_t> weights;
  std::size_t run = 1;
};

Pair furthest_neighbours(const Row& row) {
  Pair furthest;
  for (std::size_t start = 0; start < row.weights.size(); start += row.run) {
    for (std::size_t i = 0; i + 1 < row.run; i += 2) {
      const Pair pair{row.weights[start + i], row.weights[start + i + 1]};
      if (pair.excess() > furthest.excess()) furthest = pair;
    }
  }
  return furthest;
}

Pair furthest_of_any(const Row& row) {
  if (row.weights.size() < 2) return {};
  std::vector<std::int64_t> sorted = row.weights;
  std::ranges::sort(sorted);
  const Pair low{sorted[0], sorted[1]}, high{sorted[sorted.size() - 1], sorted[sorted.size() - 2]};
  return low.excess() > high.excess() ? low : high;
}

/// The weights of every output, [outputs, positions, channels]; those of a matmul, [terms, outputs] or transposed, output by output.
std::vector<Row> rows_of(const Model& model, const Operation& operation) {
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  if (!weights.constant) return {Row{{-128, -128, 127, 127}, 4}};
  const bool product = operation.kind == OperationKind::matmul;
  const auto columns = static_cast<std::size_t>(weights.shape.back());
  const std::size_t values = static_cast<std::size_t>(weights.shape.element_count());
  const bool by_column = product && !std::get<MatmulAttributes>(operation.attributes).transpose_b;
  const auto outputs = product ? (by_column ? columns : values / columns) : static_cast<std::size_t>(weights.shape[0]);
  std::vector<Row> rows(outputs);
  for (std::size_t i = 0; i < values; ++i)
    rows[by_column ? i % columns : i / (values / outputs)].weights.push_back(weights.constant->integer_at(static_cast<std::int64_t>(i)));
  for (Row& row : rows) row.run = product ? row.weights.size() : columns;
  return rows;
}

bool is_asked_about(const Model& model, const Operation& operation) {
  using enum OperationKind;
  const auto k = operation.kind;
  if (k != conv2d && k != transposed_conv2d && k != fully_connected && k != matmul) return false;
  const bool is_uint8 = model.tensor(operation.inputs[0]).type == ElementType::uint8 || operation.stated == Statement::fusible_as_uint8;
  return is_uint8 && model.tensor(operation.inputs[1]).type == ElementType::int8;
}

PairProof proof_of(const Model& model, std::size_t index) {
  const Operation& operation = model.operations[index];
  const std::vector<Row> rows = rows_of(model, operation);
  PairProof proof{.operation = index, .name = model.tensor(operation.outputs[0]).name, .kind = std::string(name_of(operation.kind))};
  proof.channels = static_cast<std::int64_t>(rows.size());
  const auto judge = [&](PairVerdict verdict, Pair (*furthest)(const Row&)) {
    Pair worst;
    for (std::size_t o = 0; o < rows.size(); ++o) {
      const Pair pair = furthest(rows[o]);
      if (pair.excess() > 0) ++proof.leaving;
      if (o > 0 && pair.excess() <= worst.excess()) continue;
      worst = pair;
      proof.channel = static_cast<std::int64_t>(o);
    }
    if (worst.excess() > 0) proof.verdict = verdict;
    proof.first = worst.first;
    proof.second = worst.second;
    proof.lowest = worst.lowest();
    proof.highest = worst.highest();
  };
  judge(PairVerdict::differs, furthest_neighbours);
  if (proof.verdict == PairVerdict::same) judge(PairVerdict::same_for_neighbours, furthest_of_any);
  return proof;
}

std::string verdict_text(const PairProof& proof) {
  const std::string pair = "weights " + std::to_string(proof.first) + " and " + std::to_string(proof.second) + " of channel " +
                           std::to_string(proof.channel) + ": " + std::to_string(proof.lowest) + " to " + std::to_string(proof.highest);
  const std::string share = std::to_string(proof.leaving) + " of " + std::to_string(proof.channels) + " channels";
  switch (proof.verdict) {
    case PairVerdict::same: return "the same; " + pair;
    case PairVerdict::same_for_neighbours: return "the same where neighbours are pairs; else " + share + " may differ: " + pair;
    case PairVerdict::differs: break;
  }
  return "may differ in " + share + ": " + pair;
}

PairVerdict worst_of(const std::vector<PairProof>& layers) {
  PairVerdict worst = PairVerdict::same;
  for (const PairProof& layer : layers) worst = std::max(worst, layer.verdict);
  return worst;
}

constexpr std::array<std::string_view, 3> verdict_names{"same", "same_for_neighbours", "differs"};

}  // namespace

std::string_view name_of(PairVerdict verdict) { return verdict_names[static_cast<std::size_t>(verdict)]; }

std::vector<PairProof> prove_pairs(const Model& model) {
  std::vector<PairProof> layers;
  for (std::size_t i = 0; i < model.operations.size(); ++i)
    if (is_asked_about(model, model.operations[i])) layers.push_back(proof_of(model, i));
  return layers;
}

std::string to_text(const std::vector<PairProof>& layers, const std::string& model) {
  std::string text = model + " on x86 processors without VNNI\n";
  text += "Products of uint8 codes and int8 weights are added two by two in 16 bits there, saturating.\n\n";
  for (const PairProof& layer : layers)
    text += right(std::to_string(layer.operation), 3) + " " + left(shortened(layer.name, 19), 20) + left(layer.kind.substr(0, 16), 17) +
            verdict_text(layer) + "\n";
  const std::int64_t same = std::ranges::count(layers, PairVerdict::same, &PairProof::verdict);
  switch (worst_of(layers)) {
    case PairVerdict::same:
      text += layers.empty() ? "No layer has uint8 data and int8 weights: the network is the same for every input.\n"
                             : "\nProven: no pair leaves 16 bits; the network is the same for every input.\n";
      break;
    case PairVerdict::same_for_neighbours:
      text += "\nThe same for every input where neighbours are pairs (oneDNN). Not proven of libraries that pair other weights.\n";
      break;
    case PairVerdict::differs:
      text += "\n" + std::to_string(same) + " of " + std::to_string(layers.size()) +
              " layers are proven the same. Weights of 7 bits (reduce_range) would be the same everywhere.\n";
      break;
  }
  return text;
}

std::string to_json(const std::vector<PairProof>& layers, const std::string& model) {
  JsonValue list = JsonValue::array();
  for (const PairProof& layer : layers)
    list.push_back({{"operation", layer.operation},
                    {"name", layer.name},
                    {"kind", layer.kind},
                    {"verdict", std::string(name_of(layer.verdict))},
                    {"channel", layer.channel},
                    {"weights", {layer.first, layer.second}},
                    {"lowest", layer.lowest},
                    {"highest", layer.highest},
                    {"channels", layer.channels},
                    {"leaving", layer.leaving}});
  const JsonValue json{
      {"model", model}, {"question", "without_vnni"}, {"verdict", std::string(name_of(worst_of(layers)))}, {"layers", list}};
  return json.text(2) + "\n";
}

}  // namespace lastbit
