// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an accumulator can hold, whatever the input. The largest value of the k-th partial sum is reached by giving every one of its first k
// terms the input that makes it largest, so the bounds here are attained, not estimated; borders, where taps are missing, are outputs of their
// own. An accumulator is safe where no running sum that the device narrows can leave its width; where one can, an input that makes it leave is
// built and run.
//
// A network in float16 is proven by ranges of values: every tensor that stays below the largest float16 with all its intermediate sums is safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/arith/accumulator.hpp"
#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/layer_view.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/verdict_assumptions.hpp"

namespace lastbit {

/// Which inputs a layer is proven for. type: every code that the tensor's type and the clamp of the operation before it allow. data: between
/// the least and the largest code that the tensor had on the given samples, which proves nothing for other data.
enum class InputRange : std::uint8_t { type, data };

/// From the smallest to the largest value.
struct SumRange {
  Int128 lower = 0, upper = 0;
  friend constexpr bool operator==(const SumRange&, const SumRange&) = default;
};

/// The smallest width, at least 2, that holds both ends.
[[nodiscard]] int bits_for(const SumRange& range);
/// By how many bits, fractions of bits included, the range could grow before it leaves the width; negative: it does leave.
[[nodiscard]] double margin_in_bits(const SumRange& range, int width);

/// Every running sum of one output channel where the device narrows it. Steps are terms added so far; the bias at the end is a step as well.
struct ChannelProof {
  SumRange sums;  ///< exact: as if nothing had been narrowed before
  std::int64_t lower_steps = 0, upper_steps = 0;
  [[nodiscard]] int bits() const { return bits_for(sums); }
};

/// What arrives at one narrowing point of an accumulator that narrows once per tile, after what the points before have saturated.
struct TileProof {
  std::int64_t steps = 0;
  SumRange sums;             ///< over all channels
  std::int64_t channel = 0;  ///< the one with the least margin
};

/// An input that makes an accumulator overflow, built from the bound and run.
struct OverflowExample {
  std::int64_t index = 0;  ///< of the output that overflows
  std::int64_t channel = 0;
  std::int64_t step = 0;        ///< after so many steps the sum has left the width; 0: the bias by itself
  std::int64_t terms = 0;       ///< of that sum
  Int128 sum = 0;               ///< that leaves it
  bool in_partial_sum = false;  ///< not the accumulator but a partial sum on the way to it
  std::vector<Tensor> inputs;   ///< one per data input of the operation; empty where the terms are no codes of an input
  std::int64_t overflows = 0;   ///< of this sum, in the device's accumulator
  std::int64_t counted = 0;     ///< when the whole operation was run with these inputs; 0 as well where the device does not count
};

/// Overflows of one layer on given data.
struct OverflowCount {
  /// Where the first overflow stands: sample, output, and after how many terms.
  struct First {
    std::int64_t sample = 0, index = 0, step = 0, terms = 0;
    Int128 sum = 0;
  };
  std::int64_t sums = 0;         ///< computed; 0: only events were counted
  std::int64_t overflowing = 0;  ///< of them
  std::int64_t events = 0;       ///< sums that had left the width where they were narrowed
  std::optional<First> first;
};

/// One kind of sum of one operation.
struct LayerProof {
  std::size_t operation = 0;  ///< position in the model
  std::string name;           ///< of the output, or "operation 3" where the file has none
  std::string kind;
  std::string part;  ///< of an operation with several kinds of sums: "feature sums"
  Shape output;
  AccumulatorRule rule;    ///< with the width that was asked about
  bool has_width = true;   ///< false: the device's sheet names none; `rule` then has 64 bits
  IntegerRange inputs;     ///< codes
  std::int64_t terms = 0;  ///< the most terms of a sum
  std::vector<ChannelProof> channels;
  std::size_t worst = 0;            ///< of `channels`: the one with the least margin
  std::vector<TileProof> tiles;     ///< where `rule` narrows every tile
  std::optional<SumRange> partial;  ///< of partial sums, which have a width of their own
  std::optional<OverflowExample> example;
  std::optional<OverflowCount> on_data;

  [[nodiscard]] SumRange sums() const;  ///< over all channels
  [[nodiscard]] int bits() const { return bits_for(sums()); }
  [[nodiscard]] double margin() const { return margin_in_bits(sums(), rule.bits); }
  [[nodiscard]] std::int64_t unsafe_channels() const;
  [[nodiscard]] bool partial_sums_fit() const { return !partial || bits_for(*partial) <= rule.partial.bits; }
  [[nodiscard]] bool safe() const { return unsafe_channels() == 0 && partial_sums_fit(); }
};

/// A stage behind the sums, or on an operand's way to them, that can wrap, or saturate so that something else is delivered.
struct StageProof {
  std::size_t operation = 0;
  std::string name{};  ///< as of LayerProof
  std::string kind{};
  std::string part{};   ///< of an operation with several chains: "operand 1"
  std::string stage{};  ///< as in a backend file: "shift_left 32 bits wrap"
  int bits = 0;
  bool wraps = false;
  SumRange values{};                      ///< that it narrows, in the channel
  std::int64_t channel = 0;               ///< the first in which it does
  std::int64_t channels = 1;              ///< in how many it does
  std::int64_t entering = 0;              ///< what enters the chain where it does: a sum, or a code less its zero point
  Int128 value = 0;                       ///< what the stage has of that before it narrows it,
  Int128 narrowed = 0;                    ///< and after
  std::vector<Tensor> inputs{};           ///< that do it: one per data input of the operation; empty: none was found
  std::int64_t counted = 0;               ///< events when the operation was run with these inputs
  std::optional<std::int64_t> on_data{};  ///< events on the samples given
};

/// One tensor of a network in float16.
struct Float16Tensor {
  std::string name;
  std::string operation;  ///< the name of the one that writes it; empty: an input or a constant
  std::string kind;       ///< of that operation, "input" or "constant"
  bool constant = false;
  double largest_on_data = 0;    ///< magnitude in float32
  std::optional<double> bound;   ///< for every input of the range asked about, rounding included; absent: none is known
  std::optional<double> inside;  ///< of the sums inside the operation that are rounded to float16
};

/// Which tensors can leave float16, and what keeps them in.
struct Float16Proof {
  std::vector<Float16Tensor> tensors;         ///< in the order of computation
  std::optional<std::size_t> first_on_data;   ///< of `tensors`: the first that leaves float16
  std::optional<std::size_t> first_by_bound;  ///< the first that is not proven to stay
  std::vector<std::string> keep;              ///< the smallest set of operations to keep in float32
  std::vector<std::string> missing;           ///< of them, those that the device has not in float16
  /// The other way out: tensors divided by 2^bits between the constants of the operations before and behind them (advise.hpp).
  struct Rescale {
    std::vector<std::string> tensors;
    std::vector<std::string> before, behind;  ///< operations whose constants take 2^-bits and 2^bits
    int bits = 0;
  };
  std::vector<Rescale> rescale;
  std::vector<std::string> unscalable;    ///< tensors that leave float16 and cannot be divided so
  std::int64_t left_after_rescaling = 0;  ///< values that leave float16 on the data once it is done
  [[nodiscard]] bool safe() const { return !first_on_data && !first_by_bound; }
};

/// Whether the sums of a network can leave their accumulators, layer by layer.
struct ProveReport {
  std::string model, backend;
  InputRange range = InputRange::type;
  std::int64_t samples = 0;               ///< 0: no data given
  std::optional<int> bits;                ///< the width asked about; absent: the device's own
  std::vector<LayerProof> layers;         ///< in order
  std::int64_t without_sums = 0;          ///< operations that add nothing up
  std::vector<StageProof> behind;         ///< what stages make of sums and operands
  std::vector<std::size_t> not_followed;  ///< operations with stages that wrap and that are not bounded
  std::optional<Float16Proof> float16;
  std::vector<Assumption> assumptions;  ///< that the accumulators, or the operations in float16, rest on

  [[nodiscard]] bool safe() const;
  /// Safe whatever is not known, or the assumptions are accepted.
  [[nodiscard]] bool holds(AssumptionsAre are) const { return safe() && (are == AssumptionsAre::accepted || assumptions.empty()); }
};

/// For prove(): which inputs count, how wide the accumulator is, which layer.
struct ProveOptions {
  InputRange range = InputRange::type;
  std::optional<int> bits{};           ///< another accumulator width, 2 to 64, for every layer
  std::optional<std::string> layer{};  ///< only this one: an operation's number or name, or that of its output
  int threads = 1;
  std::function<void(std::size_t done, std::size_t all)> on_progress{};
};

/// `inputs` as for Emulator::run, or empty for InputRange::type. Of a backend with float16 a float network is proven in float16, for which inputs
/// are needed: type then stands for every input of the network between the least and the largest values given, through all operations; data for
/// every operation by itself. Throws Error where the backend cannot run the model.
[[nodiscard]] ProveReport prove(const Model& model, const Device& sheet, std::span<const Tensor> inputs, const ProveOptions& options = {});

[[nodiscard]] std::string to_text(const ProveReport& report, const LayerView& view = {},
                                  AssumptionsAre assumptions = AssumptionsAre::named);
[[nodiscard]] std::string to_json(const ProveReport& report);

}  // namespace lastbit
