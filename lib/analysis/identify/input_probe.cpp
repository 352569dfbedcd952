// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// An input for a layer whose weights, bias and scales are what they are.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "analysis/identify/class_proof.hpp"
#include "analysis/identify/outcomes.hpp"
#include "analysis/identify/probe.hpp"

namespace lastbit {
namespace {

class InputDesigner {
 public:
  /// `telling`: accumulators at which the combinations are known to differ.
  InputDesigner(const ConvSpace& space, const std::vector<Block>& blocks, const IdentifyPair& like, const std::vector<TellingSum>& telling,
                unsigned seed)
      : space_(space), blocks_(blocks), like_(like), telling_(telling), data_(like), random_(seed) {
    const ModelTensor& input = like.layer.tensor(like.layer.inputs[0]);
    const IntegerRange range = range_of(input.type);
    zero_ = input.quantization.zero_point();
    range_ = {range.min - zero_, range.max - zero_};
    size_ = static_cast<std::size_t>(input.shape.element_count());
  }

  [[nodiscard]] std::optional<DesignedProbe> design() {
    std::optional<DesignedProbe> best;
    for (int attempt = 0; attempt < (telling_.empty() ? 8 : 24); ++attempt) {
      const std::vector<std::int64_t> values = some_values(most_values);
      auto probe = judged(attempt % 2 == 0 ? aimed_input(values) : random_input(), values);
      if (probe && (!best || probe->bits > best->bits)) best = std::move(probe);
    }
    return best;
  }

 private:
  static constexpr std::size_t most_values = 300, most_combinations = 1200, most_chosen = 64;

  [[nodiscard]] const ConvLayer& layer() const { return data_.variants[0].layer(); }
  [[nodiscard]] std::int64_t any_value() {
    return range_.min + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(range_.max - range_.min + 1));
  }

  [[nodiscard]] std::vector<std::int32_t> random_input() {
    std::vector<std::int32_t> input(size_);
    const bool extreme = random_() % 2 == 0;
    for (auto& value : input) value = static_cast<std::int32_t>(extreme ? (random_() % 2 == 0 ? range_.min : range_.max) : any_value());
    return input;
  }

  /// Windows that do not touch, each with a sum at which combinations differ.
  [[nodiscard]] std::vector<std::int32_t> aimed_input(const std::vector<std::int64_t>& values) {
    std::vector<std::int32_t> input(size_, 0);
    std::vector<bool> used(size_, false);
    for (const std::int64_t index : values) {
      std::vector<ConvTerm> terms = terms_of(layer(), output_at(layer().shape, index));
      if (std::any_of(terms.begin(), terms.end(), [&](const ConvTerm& term) { return used[term.input]; })) continue;
      for (const ConvTerm& term : terms) used[term.input] = true;
      const ConvIndex at = output_at(layer().shape, index);
      const std::int64_t offset = bias_at_output(layer().shape, at, data_.variants[0].given_bias());
      fill(input, terms, target(index) - offset);
    }
    return input;
  }

  [[nodiscard]] std::int64_t target(std::int64_t index) {
    const auto sum = telling_sum(data_.channel(index));
    return sum && random_() % 8 != 0 ? *sum : threshold_sum(index);
  }

  /// One at which combinations are known to differ on this channel.
  [[nodiscard]] std::optional<std::int64_t> telling_sum(std::int64_t channel) {
    std::vector<std::int64_t> sums;
    for (const TellingSum& one : telling_)
      if (one.any_channel || one.channel == channel) sums.push_back(one.sum);
    if (sums.empty()) return std::nullopt;
    return sums[random_() % sums.size()];
  }

  /// One at which some combination goes over from one output to the next.
  [[nodiscard]] std::int64_t threshold_sum(std::int64_t index) {
    const Block& block = blocks_[random_() % blocks_.size()];
    const std::uint32_t number = block.rescales[random_() % block.rescales.size()];
    const RescaleRule& rule = space_.rescales[number];
    const ChannelScales& scales = data_.variants[0].scales();
    const std::vector<EncodedScale>* const encoded =
        applies_scale(rule.chain) ? scales.encoded(rule.scale, space_.encodings[number]) : nullptr;
    if (encoded == nullptr || random_() % 6 == 0) return static_cast<std::int64_t>(random_()) >> (32 + random_() % 20);
    const std::int64_t channel = data_.channel(index);
    const RescaleOperands operands = scales.operands(channel, *encoded);
    const std::int64_t output =
        operands.min + 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(operands.max - operands.min));
    return threshold(rule.chain, operands, output, {-(std::int64_t{1} << 40), std::int64_t{1} << 40}) +
           static_cast<std::int64_t>(random_() % 3) - 1;
  }

  /// Values that bring the terms' sum to `wanted`, or near it: of some orders of the terms the one that comes nearest.
  void fill(std::vector<std::int32_t>& input, std::vector<ConvTerm> terms, std::int64_t wanted) {
    constexpr int orders = 24;
    std::vector<std::pair<std::size_t, std::int32_t>> best;
    std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
    for (int order = 0; order < orders && nearest > 0; ++order) {
      std::shuffle(terms.begin(), terms.end(), random_);
      const std::int64_t missing = fill_in_order(input, terms, wanted, order == 0 ? 0 : 1);
      if (std::abs(missing) >= nearest) continue;
      nearest = std::abs(missing);
      best.clear();
      for (const ConvTerm& term : terms) best.emplace_back(term.input, input[term.input]);
    }
    for (const auto& [at, value] : best) input[at] = value;
  }

  /// So many terms at random, then the largest weights first. What is missing in the end.
  std::int64_t fill_in_order(std::vector<std::int32_t>& input, std::vector<ConvTerm>& terms, std::int64_t wanted, std::size_t at_random) {
    const auto weight = [this](const ConvTerm& term) { return std::int64_t{layer().weights[term.weight]}; };
    const std::size_t first = std::min(terms.size(), at_random);
    std::stable_sort(terms.begin() + static_cast<std::ptrdiff_t>(first), terms.end(),
                     [&](const ConvTerm& a, const ConvTerm& b) { return std::abs(weight(a)) > std::abs(weight(b)); });
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const std::int64_t each = weight(terms[i]);
      const std::int64_t value = i < first ? any_value() : each == 0 ? 0 : std::clamp(wanted / each, range_.min, range_.max);
      input[terms[i].input] = static_cast<std::int32_t>(value);
      wanted -= value * each;
    }
    return wanted;
  }

  [[nodiscard]] std::vector<std::int64_t> some_values(std::size_t most) {
    std::vector<std::int64_t> values(data_.expected.size());
    std::iota(values.begin(), values.end(), 0);
    std::shuffle(values.begin(), values.end(), random_);
    if (values.size() > most) values.resize(most);
    return values;
  }

  void set_input(const std::vector<std::int32_t>& input) {
    for (ConvVariant& variant : data_.variants) variant.set_input(input);
  }

  /// The input with everything at the zero point that the telling outputs do not see.
  [[nodiscard]] std::optional<DesignedProbe> judged(std::vector<std::int32_t> input, const std::vector<std::int64_t>& values) {
    set_input(input);
    std::vector<Combination> combinations = distinct_combinations(space_, blocks_, data_, values);
    std::shuffle(combinations.begin(), combinations.end(), random_);
    if (combinations.size() > most_combinations) combinations.resize(most_combinations);
    if (combinations.size() < 2) return std::nullopt;
    const Choice choice = choose(OutcomeTable(space_, data_, values, combinations), combinations.size(), most_chosen);
    if (choice.cells < 2) return std::nullopt;
    std::set<std::size_t> seen;
    for (const std::size_t position : choice.values) {
      for (const ConvTerm& term : terms_of(layer(), output_at(layer().shape, values[position]))) seen.insert(term.input);
    }
    for (std::size_t i = 0; i < input.size(); ++i) {
      if (!seen.contains(i)) input[i] = 0;
    }
    return DesignedProbe{{pair_with(input)}, combinations.size(), choice.cells, choice.bits};
  }

  [[nodiscard]] IdentifyPair pair_with(const std::vector<std::int32_t>& input) const {
    IdentifyPair pair{"probe", like_.layer, {}, Tensor(like_.output.type(), like_.output.shape())};
    const ModelTensor& info = like_.layer.tensor(like_.layer.inputs[0]);
    Tensor tensor(info.type, info.shape);
    visit_element_type(info.type, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        for (std::size_t i = 0; i < input.size(); ++i) tensor.values<T>()[i] = static_cast<T>(input[i] + zero_);
      }
    });
    pair.inputs.push_back(std::move(tensor));
    return pair;
  }

  const ConvSpace& space_;
  const std::vector<Block>& blocks_;
  const IdentifyPair& like_;
  const std::vector<TellingSum>& telling_;
  ConvData data_;
  std::mt19937_64 random_;
  IntegerRange range_;  ///< of the input, centred
  std::int64_t zero_ = 0;
  std::size_t size_ = 0;
};

}  // namespace

std::optional<DesignedProbe> design_input_probe(const ConvSpace& space, const std::vector<Block>& blocks, const IdentifyPair& like,
                                                const ProbeOptions& options) {
  if (blocks.empty()) return std::nullopt;
  const IdentifyPair* const layer = &like;
  const PartedClass parts = parted(space, blocks, {&layer, 1});
  if (parts.is_one()) return std::nullopt;
  for (unsigned attempt = 0; attempt < 3; ++attempt) {
    auto probe = InputDesigner(space, blocks, like, parts.telling, options.seed * 1000 + attempt).design();
    if (probe) return probe;
  }
  return std::nullopt;
}

}  // namespace lastbit
