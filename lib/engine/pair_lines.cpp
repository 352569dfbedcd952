// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/pair_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "engine/kernels/kernels.hpp"
#include "engine/parallel.hpp"
#include "engine/sought_lines.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t codes = 256, pairs = codes * codes;
constexpr std::int64_t worth = 8 * pairs;           // outputs that finding the lines takes as long as
constexpr std::size_t most_undecided = pairs / 64;  // beyond it too many outputs are left to be looked up
constexpr double rounded_away = 0x1p-13;            // by float32, in two products and two additions
constexpr double steepest = 8;                      // beyond it float32 rounds away more, and few outputs lie within the bounds
constexpr std::int64_t outputs_per_part = units_per_part(0.15);

/// All pairs of codes with what the definition makes of them, a few thousand at a time: layers are small, and so is what they may hold beside their tensors.
class EveryPair {
 public:
  EveryPair(const Executor& exact, ElementType type, ElementType out) : exact_(exact), type_(type), out_(out) {}

  /// visit(codes of a, codes of b, outputs) for each part.
  template <class Visit>
  void each(Visit&& visit) const {
    Tensor a(type_, {part}), b(type_, {part}), outputs(out_, {part});
    const std::array<const Tensor*, 2> inputs{&a, &b};
    for (std::int64_t first = 0; first < pairs; first += part) {
      for (std::int64_t i = 0; i < part; ++i) {
        a.bytes()[static_cast<std::size_t>(i)] = static_cast<std::byte>((first + i) % codes);
        b.bytes()[static_cast<std::size_t>(i)] = static_cast<std::byte>((first + i) / codes);
      }
      exact_({inputs, std::span(&outputs, 1)});
      visit(std::as_const(a), std::as_const(b), std::as_const(outputs));
    }
  }

 private:
  static constexpr std::int64_t part = 8 * codes;

  const Executor& exact_;
  ElementType type_, out_;
};
std::uint16_t pair_at(const Tensor& a, const Tensor& b, std::size_t index) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(a.bytes()[index]) | std::to_integer<unsigned>(b.bytes()[index]) << 8U);
}

/// Lines, and the outputs of pairs that they leave open.
struct Found {
  kernels::PairLines lines;
  std::map<std::uint16_t, std::int8_t> open;
};

/// The outputs of a run from `first` on; open(place) is called of those that the lines leave open.
template <class Open>
void compute(const kernels::Path& path, const kernels::PairLines& lines, const Tensor& a, const Tensor& b, Tensor& output,
             std::size_t first, std::size_t count, Open&& open) {
  std::array<std::uint32_t, kernels::finish_block> undecided;
  for (std::size_t at = first; at < first + count; at += undecided.size()) {
    auto* const outputs = reinterpret_cast<std::int8_t*>(output.bytes().data()) + at;
    const std::size_t listed = path.pair_outputs({&lines, a.bytes().data() + at, b.bytes().data() + at, a.type() == ElementType::int8,
                                                  std::min(undecided.size(), first + count - at), outputs, undecided.data()});
    for (std::size_t i = 0; i < listed; ++i) open(at + undecided[i]);
  }
}

/// Between the outputs of all pairs, and tried on them; nothing where they lie too far from a straight function.
std::optional<Found> found_for(const kernels::Path& path, const EveryPair& every, double slope_a, double slope_b) {
  Found found;
  kernels::PairLines& lines = found.lines;
  lines.slope_a = static_cast<float>(slope_a), lines.slope_b = static_cast<float>(slope_b);
  lines.smallest = std::numeric_limits<std::int32_t>::max(), lines.largest = std::numeric_limits<std::int32_t>::min();
  every.each([&](const Tensor&, const Tensor&, const Tensor& outputs) {
    for (std::int64_t i = 0; i < outputs.element_count(); ++i) {
      lines.smallest = std::min(lines.smallest, static_cast<std::int32_t>(outputs.integer_at(i)));
      lines.largest = std::max(lines.largest, static_cast<std::int32_t>(outputs.integer_at(i)));
    }
  });
  // The upper line lies at or above what an output asks for, the lower one at or below; a bound asks for nothing beyond.
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  every.each([&](const Tensor& a, const Tensor& b, const Tensor& outputs) {
    for (std::int64_t i = 0; i < outputs.element_count(); ++i) {
      const std::int64_t output = outputs.integer_at(i);
      const double from = static_cast<double>(output) - double{lines.slope_a} * static_cast<double>(a.integer_at(i)) -
                          double{lines.slope_b} * static_cast<double>(b.integer_at(i));
      if (output > lines.smallest) least = std::max(least, from - 0.5);
      if (output < lines.largest) most = std::min(most, from + 0.5);
    }
  });
  if (!std::isfinite(least) || !std::isfinite(most)) return std::nullopt;
  const double gap = std::max(0.0, least - most) + rounded_away;
  lines.gap = static_cast<float>(gap);
  lines.offset = static_cast<float>((least + most - gap) / 2);
  bool are_equal = true;
  every.each([&](const Tensor& a, const Tensor& b, const Tensor& expected) {
    if (!are_equal) return;
    Tensor made(expected.type(), expected.shape());
    compute(path, lines, a, b, made, 0, made.bytes().size(), [&](std::size_t at) {
      made.bytes()[at] = expected.bytes()[at];
      found.open.emplace(pair_at(a, b, at), static_cast<std::int8_t>(expected.bytes()[at]));
    });
    are_equal = made == expected && found.open.size() <= most_undecided;
  });
  return are_equal ? std::optional(std::move(found)) : std::nullopt;
}

class PairExecutor {
 public:
  PairExecutor(Executor exact, ElementType type, ElementType out, double slope_a, double slope_b)
      : exact_(std::move(exact)), type_(type), out_(out), slope_a_(slope_a), slope_b_(slope_b) {}

  void operator()(const Execution& run) const {
    const Found* const found = run.events == nullptr ? lines_for(run.outputs[0].element_count()) : nullptr;
    if (found == nullptr) return exact_(run);
    const Tensor &a = *run.inputs[0], &b = *run.inputs[1];
    Tensor& output = run.outputs[0];
    for_each_part(output.element_count(), outputs_per_part, [&](std::int64_t first, std::int64_t last) {
      compute(*path_, found->lines, a, b, output, static_cast<std::size_t>(first), static_cast<std::size_t>(last - first),
              [&](std::size_t at) { output.bytes()[at] = static_cast<std::byte>(found->open.at(pair_at(a, b, at))); });
    });
  }

 private:
  [[nodiscard]] const Found* lines_for(std::int64_t outputs) const {
    return lines_.found(outputs, [&] { return found_for(*path_, EveryPair(exact_, type_, out_), slope_a_, slope_b_); });
  }

  Executor exact_;
  ElementType type_, out_;
  double slope_a_, slope_b_;
  const kernels::Path* path_ = &kernels::selected_path();
  SoughtLines<Found> lines_{worth};
};

bool is_code(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }

}  // namespace

Executor by_pair_lines(Executor exact, const Model& model, const Operation& operation, double slope_a, double slope_b) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  if (operation.inputs.size() != 2 || !is_code(output.type) || kernels::selected_path().pair_outputs == nullptr) return exact;
  const ModelTensor &a = model.tensor(operation.inputs[0]), &b = model.tensor(operation.inputs[1]);
  const auto is_alike = [&](const ModelTensor& tensor) {
    return tensor.type == a.type && tensor.quantization.scales.size() <= 1 && tensor.shape.element_count() == output.shape.element_count();
  };
  if (!is_code(a.type) || !is_alike(a) || !is_alike(b) || output.quantization.scales.size() > 1) return exact;
  if (!(std::abs(slope_a) < steepest && std::abs(slope_b) < steepest)) return exact;
  return PairExecutor(std::move(exact), a.type, output.type, slope_a, slope_b);
}

}  // namespace lastbit
