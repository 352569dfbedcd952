// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_gna_concat.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/layer.hpp"
#include "lastbit/metrics.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace gna_concat {
namespace {

constexpr std::int64_t channels = 6, part_channels = 2, times = 255, filters = 4, taps = 3, stride = 2, positions = 127;
constexpr std::size_t joined = 3;
constexpr std::array scale_factors{1.0, 2048.0};

/// Half away from zero of value * factor.
template <class T>
Tensor codes(const Tensor& values, double factor) {
  Tensor tensor(element_type_of<T>, values.shape());
  std::ranges::transform(values.values<float>(), tensor.values<T>().begin(), [&](float value) {
    return static_cast<T>(narrow_saturate(round_to_integer(double{value} * factor, Rounding::half_away), 8 * sizeof(T)));
  });
  return tensor;
}

Model model_of(const ConcatNetwork& network, Part part, Memory memory) {
  using enum OperationKind;
  const ElementType type = network.input.type();
  const Quantization unit = is_integer(type) ? Quantization{{1 / network.input_factor}, {}, 0} : Quantization{};
  ModelBuilder builder("concat and convolution");
  const bool joins = part != Part::convolution;
  std::int32_t last = builder.input({"input", type, {1, joins ? part_channels : channels, times}, unit});
  if (joins) last = builder.operation(concat, std::vector(joined, last), {"concat", type, {1, channels, times}, unit}, ConcatAttributes{1});
  if (part == Part::concat) return builder.finished({last});
  if (memory == Memory::time_major)
    last = builder.operation(transpose, {last}, {"permuted", type, {1, times, channels}, unit}, TransposeAttributes{{0, 2, 1}});
  last = builder.operation(reshape, {last}, {"memory", type, {1, 1, times, channels}, unit});
  Tensor kernel = permuted(network.weights, {0, 2, 1});
  kernel.reshape({filters, 1, taps, channels});
  const std::int32_t weights = builder.constant("weights", std::move(kernel)), bias = builder.constant("bias", network.bias);
  return builder.finished(
      {builder.operation(conv2d, {last, weights, bias}, {"convolution", network.bias.type(), {1, 1, positions, filters}},
                         Conv2dAttributes{.stride = {1, stride}, .dilation = {}, .padding = {}})});
}

Trace run_model(const ConcatNetwork& network, Part part, Memory memory, const Backend& backend) {
  const Tensor input = part == Part::convolution ? *run_model(network, Part::concat, memory, backend).tensors.back() : network.input;
  return run(model_of(network, part, memory), backend, std::vector{input}, {.count_events = true});
}

}  // namespace

ConcatNetwork random_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](const Shape& shape, double low, double high) {
    Tensor tensor(ElementType::float32, shape);
    for (float& value : tensor.values<float>())
      value = static_cast<float>(low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53));
    return tensor;
  };
  const double bound = 1 / std::sqrt(static_cast<double>(channels * taps));
  return {draw({1, part_channels, times}, 0, 1), draw({filters, channels, taps}, -bound, bound), draw({filters}, -bound, bound)};
}

ConcatNetwork quantized(const ConcatNetwork& network, double input_factor) {
  const double output_factor =
      std::min(16384 / largest_magnitude(network.weights) * input_factor, 0x1p30 / largest_magnitude(network.bias));
  return {codes<std::int16_t>(network.input, input_factor), codes<std::int16_t>(network.weights, output_factor / input_factor),
          codes<std::int32_t>(network.bias, output_factor), input_factor, output_factor};
}

Figures run_part(const ConcatNetwork& network, double input_factor, Part part, Memory memory, const SpecSheet& sheet) {
  const ConcatNetwork integers = quantized(network, input_factor);
  const Trace mine = run_model(integers, part, memory, sheet.backend);
  const Trace truth = run_model(network, part, Memory::time_major, float_golden);
  const Tensor& output = *mine.tensors.back();
  const Tensor real = dequantized(output, {{1 / (part == Part::concat ? input_factor : integers.output_factor)}, {}, 0});
  const ElementMetrics metrics = element_metrics(real.values<float>(), truth.tensors.back()->values<float>());
  Figures figures{{}, metrics.cosine, metrics.mean_absolute_error};
  for (std::int64_t i = 0; i < output.element_count(); ++i) figures.integers.push_back(output.integer_at(i));
  for (const Events& events : mine.events) figures.saturations += events.accumulator_overflows;
  return figures;
}

RecordedRuns recorded_runs(const std::filesystem::path& folder, const SpecSheet& sheet) {
  constexpr std::size_t networks = 4, runs = 16;  // of each network two scale factors, of each of these two orders of memory
  const auto read = [&](const char* name, ElementType type, const Shape& shape, std::size_t count) {
    const Tensor all = read_npy(folder / name);
    if (all.type() != type) throw Error(ErrorCode::type_mismatch, (folder / name).string(), std::string(name_of(type)) + " is needed");
    return samples_of(all, shape, count);
  };
  const auto inputs = read("inputs.npy", ElementType::float32, {1, part_channels, times}, networks);
  const auto weights = read("weights.npy", ElementType::float32, {filters, channels, taps}, networks);
  const auto biases = read("biases.npy", ElementType::float32, {filters}, networks);
  const auto outputs = read("outputs.npy", ElementType::int32, {positions, filters}, runs);
  const auto figures = read("figures.npy", ElementType::float64, {2}, runs);
  RecordedRuns all{.runs = runs};
  for (std::size_t run = 0; run < runs; ++run) {
    const Figures mine = run_part({inputs[run / 4], weights[run / 4], biases[run / 4]}, scale_factors[run / 2 % 2], Part::whole,
                                  run % 2 == 0 ? Memory::time_major : Memory::channel_major, sheet);
    const auto recorded = outputs[run].values<std::int32_t>();
    const auto errors = figures[run].values<double>();
    const auto equal = std::inner_product(recorded.begin(), recorded.end(), mine.integers.begin(), 0, std::plus<>(), std::equal_to<>());
    all.values += std::ssize(recorded);
    all.equal_values += equal;
    all.equal_runs += equal == std::ssize(recorded) ? 1 : 0;
    all.largest_distance =
        std::max({all.largest_distance, std::abs(mine.cosine - errors[0]), std::abs(mine.mean_absolute_error - errors[1])});
  }
  return all;
}

}  // namespace gna_concat

namespace {

using namespace gna_concat;

constexpr int random_networks = 200;

/// Every part, scale factor and order of memory over the random networks: a row each, and a curve where all parts are together.
void add_networks(StoryFigures& page, const SpecSheet& sheet) {
  const std::array<std::string, 3> parts{"convolution", "concat", "concat + convolution"}, memories{"[time][channel]", "[channel][time]"};
  for (const Part part : {Part::convolution, Part::concat, Part::whole}) {
    for (const double factor : scale_factors) {
      for (const Memory memory : {Memory::time_major, Memory::channel_major}) {
        if (part == Part::concat && memory == Memory::channel_major) continue;  // a copy, whatever the order
        Series cosines{std::string(memory == Memory::time_major ? "right" : "wrong") + " memory order, scale factor " + fixed(factor, 0)};
        std::vector<double> errors;
        for (int seed = 0; seed < random_networks; ++seed) {
          const Figures figures = run_part(random_network(static_cast<std::uint64_t>(seed)), factor, part, memory, sheet);
          cosines.x.push_back(seed + 1);
          cosines.y.push_back(figures.cosine);
          errors.push_back(figures.mean_absolute_error);
        }
        std::ranges::sort(cosines.y);
        const Spread spread = spread_of(cosines.y);
        page.tables["networks"].push_back(row(parts[static_cast<std::size_t>(part)], fixed(factor, 0),
                                              part == Part::concat ? "either" : memories[static_cast<std::size_t>(memory)],
                                              fixed(spread.median, 4) + " (" + fixed(spread.low, 2) + "-" + fixed(spread.high, 2) + ")",
                                              scientific(spread_of(errors).median, 1)));
        if (part == Part::whole) page.plot.series.push_back(std::move(cosines));
      }
    }
  }
}

/// The thread's figures of both together, beside random networks in the wrong order of memory whose inputs lie in [0, largest).
void add_posts(StoryFigures& page, const SpecSheet& sheet) {
  const auto cosines = [&](float largest, std::optional<double> factor) {
    std::vector<double> all;
    for (int seed = 0; seed < random_networks; ++seed) {
      ConcatNetwork network = random_network(static_cast<std::uint64_t>(seed));
      for (float& value : network.input.values<float>()) value *= largest;
      const double calibrated = 16384 / largest_magnitude(network.input);
      all.push_back(run_part(network, factor.value_or(calibrated), Part::whole, Memory::channel_major, sheet).cosine);
    }
    return all;
  };
  const auto median = [](const std::vector<double>& all) { return fixed(spread_of(all).median, 4); };
  const auto share_up_to = [](const std::vector<double>& all, double most) {
    return percent(static_cast<double>(std::ranges::count_if(all, [&](double cosine) { return cosine <= most; })) /
                   static_cast<double>(all.size()));
  };
  const std::vector<double> fine = cosines(1, scale_factors.back()), coarse = cosines(1, 1.0), calibrated = cosines(1, std::nullopt);
  page.tables["posts"] = {row("0.74 to 0.75", "factor 2048", "0 to 1", median(fine)), row("0.75", "factor 1", "0 to 1", median(coarse)),
                          row("0.75", "factor 1", "0 to 255", median(cosines(255, 1.0))),
                          row("0.60", "calibrated", "0 to 1", median(calibrated))};
  page.texts.insert({{"factor 1", fixed(spread_of(coarse).median, 2)},
                     {"up to 0.60", share_up_to(calibrated, 0.60)},
                     {"up to 0.3", share_up_to(fine, 0.3)}});
}

/// The device with one rule of the convolution set to another of its values, for all of them that can run it.
std::vector<SpecSheet> with_other_rules(const SpecSheet& sheet, const Model& network) {
  std::vector<SpecSheet> all;
  for (const RuleText& rule : list_rules(sheet.backend)) {
    if (!rule.path.starts_with("conv.i16") || covers("conv.*.output", rule.path)) continue;  // it delivers its sums: no output rule is run
    for (const std::string& value : alternatives(sheet.backend, rule.path)) {
      SpecSheet changed = sheet;
      set_rule(changed.backend, rule.path, value);
      if (check(network, changed.backend).empty()) all.push_back(std::move(changed));
    }
  }
  return all;
}

/// What it is not, and what it is.
void add_cause(StoryFigures& page, const SpecSheet& sheet) {
  const ConcatNetwork network = random_network(0);
  const auto run_whole = [&](Memory memory, const SpecSheet& on) {
    return run_part(network, scale_factors.back(), Part::whole, memory, on);
  };
  const Figures right = run_whole(Memory::time_major, sheet), wrong = run_whole(Memory::channel_major, sheet);
  const auto [low, high] = std::ranges::minmax(wrong.integers);
  const auto others = with_other_rules(sheet, model_of(quantized(network, scale_factors.back()), Part::whole, Memory::time_major));
  std::int64_t unchanged = 0;
  double best = wrong.cosine;
  for (const SpecSheet& other : others) {
    const Figures other_wrong = run_whole(Memory::channel_major, other);
    const bool differs = run_whole(Memory::time_major, other).integers != right.integers || other_wrong.integers != wrong.integers;
    unchanged += differs ? 0 : 1;
    best = std::max(best, other_wrong.cosine);
  }
  page.texts.insert({{"margin", fixed(31 - std::log2(static_cast<double>(std::max(-low, high))), 1)},
                     {"saturations", std::to_string(wrong.saturations)},
                     {"settings", std::to_string(others.size())},
                     {"unchanged", std::to_string(unchanged)},
                     {"best", fixed(best, 3)},
                     {"first", fixed(wrong.cosine, 3)},
                     {"cured", fixed(right.cosine, 4)},
                     {"wrong", fixed(wrong.cosine, 4)}});
}

}  // namespace

StoryFigures gna_concat_figures(const std::filesystem::path& data) {
  const SpecSheet sheet = find_backend("gna2");
  StoryFigures figures{.texts = {{"networks", std::to_string(random_networks)}, {"device", sheet.name}}};
  add_networks(figures, sheet);
  add_posts(figures, sheet);
  add_cause(figures, sheet);
  const RecordedRuns recorded = recorded_runs(data / "gna-concat", sheet);
  figures.texts.insert({{"runs", std::to_string(recorded.runs)},
                        {"equal runs", std::to_string(recorded.equal_runs)},
                        {"equal integers", std::to_string(recorded.equal_values) + " of " + std::to_string(recorded.values)}});
  return figures;
}

}  // namespace lastbit::tool
