// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/walk_probe.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "analysis/identify/outcomes.hpp"
#include "analysis/identify/walk_proof.hpp"
#include "analysis/try_run.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

/// Layers like a given one.
class Variations {
 public:
  Variations(const IdentifyPair& like, ProbeWeights weights, unsigned seed) : like_(like), weights_(weights), random_(seed) {}

  /// Throws Error where windows do not fit.
  [[nodiscard]] IdentifyPair next() {
    IdentifyPair pair{"probe", like_.layer, {}, {}};
    Model& model = pair.layer;
    if (weights_ == ProbeWeights::free) vary(model);
    for (const std::int32_t input : model.inputs) pair.inputs.push_back(codes(model.tensor(input).type, model.tensor(input).shape));
    const ModelTensor& output = model.tensor(model.outputs[0]);
    pair.output = Tensor(output.type, output.shape);
    return pair;
  }

 private:
  enum class Manner : std::uint8_t { any, ends, small, one_end, count };
  enum class Scales : std::uint8_t { as_they_are, powers_of_two, few_bits, near_power, any, far, count };

  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  [[nodiscard]] std::int64_t code(Manner manner, IntegerRange range) {
    switch (manner) {
      case Manner::ends: return random_() % 4 == 0 ? between(range.min, range.max) : random_() % 2 == 0 ? range.min : range.max;
      case Manner::small: return std::clamp<std::int64_t>(between(-9, 9), range.min, range.max);
      case Manner::one_end: return range.max - between(0, 3);
      default: return between(range.min, range.max);
    }
  }

  [[nodiscard]] Tensor codes(ElementType type, const Shape& shape) {
    const auto manner = static_cast<Manner>(random_() % static_cast<unsigned>(Manner::count));
    Tensor tensor(type, shape);
    visit_element_type(type, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        for (T& value : tensor.values<T>()) value = static_cast<T>(code(manner, range_of(type)));
      }
    });
    return tensor;
  }

  /// Ratios of small odd numbers have ties that a multiplier misses by its last bit; some carry
  /// into the next power of two; far powers leave what exponents can hold.
  [[nodiscard]] double scale(Scales scales, double own) {
    const double power = std::ldexp(1.0, static_cast<int>(scales == Scales::far ? between(-36, 36) : between(-4, 2)));
    switch (scales) {
      case Scales::few_bits: return power * static_cast<double>(2 * between(0, 63) + 1) / 64;
      case Scales::near_power: return power * (1 - std::ldexp(1.0, -static_cast<int>(between(9, 24))));
      case Scales::any: return power * static_cast<double>(between(1 << 23, (1 << 24) - 1)) * 0x1p-23;
      case Scales::as_they_are: return own;
      default: return power;
    }
  }

  /// How many values an output is the mean of.
  [[nodiscard]] static std::int64_t terms_of(const Model& model) {
    const Operation& operation = model.operations[0];
    const auto* const pool = std::get_if<Pool2dAttributes>(&operation.attributes);
    if (pool != nullptr && operation.kind != OperationKind::global_average_pool) return pool->filter.height * pool->filter.width;
    const bool reduces = pool != nullptr || std::holds_alternative<MeanAttributes>(operation.attributes);
    return reduces ? model.tensor(operation.inputs[0]).shape.element_count() / model.tensor(operation.outputs[0]).shape.element_count() : 1;
  }

  void vary_tensors(Model& model) {
    const auto scales = static_cast<Scales>(random_() % static_cast<unsigned>(Scales::count));
    const double common = scale(scales, 1);  // some devices share one quantisation among the inputs, or with the output
    const bool shares = scales != Scales::as_they_are && random_() % 4 == 0;
    const auto has_zero_point = [](const ModelTensor& tensor) {
      return tensor.quantization.present() && tensor.quantization.zero_point() != 0;
    };
    const bool has_zeros = random_() % 2 == 0 && std::ranges::any_of(model.tensors, has_zero_point);
    const unsigned seed = static_cast<unsigned>(random_());
    const auto nearly = random_() % model.tensors.size();  // the only one that is no power of two
    for (ModelTensor& tensor : model.tensors) {
      const bool is_power = scales == Scales::near_power && &tensor != &model.tensors[nearly];
      for (double& own : tensor.quantization.scales) {
        const double chosen = shares ? common : scale(is_power ? Scales::powers_of_two : scales, own);
        own = static_cast<double>(static_cast<float>(chosen));  // what a .tflite file can say
      }
      const IntegerRange range = range_of(tensor.type);
      for (std::int64_t& zero : tensor.quantization.zero_points) {
        if (has_zeros)
          zero = shares ? range.min + static_cast<std::int64_t>(seed) % (range.max - range.min) : between(range.min, range.max);
      }
      if (tensor.constant && is_integer(tensor.type)) tensor.constant = codes(tensor.type, tensor.shape);
    }
    if (shares || scales == Scales::as_they_are || scales == Scales::near_power || random_() % 2 == 0) return;
    // An effective scale that is a power of two: whole sums are ties.
    const Operation& operation = model.operations[0];
    double effective = std::ldexp(1.0, static_cast<int>(between(0, 5))) / static_cast<double>(terms_of(model));
    const std::size_t factors = operation.kind == OperationKind::mul ? 2 : 1;
    for (std::size_t i = 0; i < factors; ++i) effective *= model.tensor(operation.inputs[i]).quantization.scale();
    for (double& own : model.tensors[static_cast<std::size_t>(operation.outputs[0])].quantization.scales)
      own = static_cast<double>(static_cast<float>(effective));
  }

  void vary(Model& model) {
    Operation& operation = model.operations[0];
    std::visit([this](auto& attributes) { vary_attributes(attributes); }, operation.attributes);
    if (std::holds_alternative<Pool2dAttributes>(operation.attributes) && operation.kind != OperationKind::global_average_pool)
      model.tensors[static_cast<std::size_t>(operation.outputs[0])].shape = output_shapes(model, operation)[0];
    vary_tensors(model);
    validate(model, "probe");
  }

  template <class T>
  void vary_attributes(T& attributes) {
    if constexpr (requires { attributes.bounds.activation; }) {
      if (random_() % 3 == 0) attributes.bounds = {random_() % 2 == 0 ? Activation::relu : Activation::none, {}, {}, {}};
    }
    if constexpr (std::is_same_v<T, Pool2dAttributes>) {
      attributes.filter = {between(1, 4), between(1, 4)};
      attributes.stride = {between(1, 2), between(1, 2)};
      attributes.padding = {random_() % 2 == 0 ? PaddingMode::same : PaddingMode::valid};
    }
  }

  const IdentifyPair& like_;
  ProbeWeights weights_;
  std::mt19937_64 random_;
};

/// The device's output as a number, one for each different output; nothing where a device refuses the layer.
std::optional<std::vector<std::uint32_t>> outcomes_of(const std::vector<Backend>& devices, const IdentifyPair& pair) {
  std::map<std::uint64_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> outcomes;
  for (const Backend& device : devices) {
    const auto trace = try_run(pair.layer, device, pair.inputs);
    if (!trace) return std::nullopt;
    const Tensor& output = *trace->tensors[static_cast<std::size_t>(pair.layer.outputs[0])];
    std::uint64_t hash = 1;
    for (std::int64_t i = 0; i < output.element_count(); ++i) hash = mixed(hash, output.integer_at(i));
    outcomes.push_back(numbers.try_emplace(hash, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  if (numbers.size() < 2) return std::nullopt;
  return outcomes;
}

/// An input of the layer as it is with the cases at which the devices are proven to differ, as many as there is room for.
std::optional<DesignedProbe> proven_probe(const std::vector<Backend>& devices, const IdentifyPair& like, const PartedDevices& parts,
                                          Variations& variations) {
  IdentifyPair pair = variations.next();
  std::vector<CasePlace> places;
  for (const TellingCase& one : parts.telling) places.push_back(one.place);
  if (place_cases(parts.cases[0], like.layer, places, pair.inputs) == 0) return std::nullopt;
  const auto told = outcomes_of(devices, pair);
  if (!told) return std::nullopt;
  const Choice choice = choose(OutcomeTable({*told}), devices.size(), 1);
  return DesignedProbe{{std::move(pair)}, devices.size(), choice.cells, choice.bits};
}

std::optional<IdentifyPair> next_of(Variations& variations) try { return variations.next(); } catch (const Error&) {
  return std::nullopt;
}

}  // namespace

std::optional<DesignedProbe> design_walk_probe(const std::vector<Backend>& devices, const IdentifyPair& like, const ProbeOptions& options) {
  constexpr int attempts_per_turn = 8;
  Variations variations(like, options.weights, options.seed);
  if (options.weights == ProbeWeights::of_the_layer) {
    const IdentifyPair* const layers[]{&like};
    const PartedDevices parts = parted(list_of(devices), layers);
    if (parts.is_one()) return std::nullopt;
    if (!parts.telling.empty())
      if (auto probe = proven_probe(devices, like, parts, variations)) return probe;
  }
  const std::size_t most_layers = options.weights == ProbeWeights::free ? options.most_layers : 1;
  std::vector<IdentifyPair> layers;
  std::vector<std::vector<std::uint32_t>> outcomes;
  std::uint32_t cells = 1;
  for (int idle = 0; idle < attempts_per_turn * static_cast<int>(options.patience) && cells < devices.size(); ++idle) {
    auto layer = next_of(variations);
    if (!layer) continue;
    auto told = outcomes_of(devices, *layer);
    if (!told) continue;
    outcomes.push_back(std::move(*told));
    const std::uint32_t before = cells;
    cells = choose(OutcomeTable(outcomes), devices.size(), outcomes.size()).cells;
    if (cells == before) outcomes.pop_back();  // what others tell already
    else layers.push_back(std::move(*layer)), idle = 0;
  }
  if (layers.empty()) return std::nullopt;
  const Choice choice = choose(OutcomeTable(outcomes), devices.size(), most_layers);
  DesignedProbe probe{{}, devices.size(), choice.cells, choice.bits};
  for (const std::size_t number : choice.values) probe.layers.push_back(std::move(layers[number]));
  return probe;
}

}  // namespace lastbit
