// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_gna_concat.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/layer.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"

namespace lastbit::tool {
namespace gna_concat {
namespace {

constexpr std::int64_t part_channels = 2;
constexpr std::size_t joined = 3;
constexpr int random_networks = 200;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Half away from zero of value * factor.
template <class T>
Tensor codes(const Tensor& values, double factor) {
  Tensor tensor(element_type_of<T>, values.shape());
  std::ranges::transform(values.values<float>(), tensor.values<T>().begin(), [&](float value) {
    const double scaled = std::trunc(double{value} * factor + (value > 0 ? 0.5 : -0.5));
    return static_cast<T>(std::clamp(scaled, double{std::numeric_limits<T>::min()}, double{std::numeric_limits<T>::max()}));
  });
  return tensor;
}

double largest(const Tensor& tensor) {
  const auto [low, high] = std::ranges::minmax(tensor.values<float>());
  return std::max(-double{low}, double{high});
}

Tensor three_times(const Tensor& input) {
  Tensor joint(input.type(), {1, channels, times});
  for (std::size_t i = 0; i < joined; ++i) std::ranges::copy(input.bytes(), joint.bytes().subspan(i * input.bytes().size()).begin());
  return joint;
}

/// The float network in double: [channel][time] of the concat, [position][filter] of the convolution.
std::vector<double> in_double(const Network& network, Part part) {
  const Tensor joint = three_times(network.input);
  const auto input = joint.values<float>(), weights = network.weights.values<float>();
  if (part == Part::concat) return {input.begin(), input.end()};
  std::vector<double> output;
  for (std::int64_t p = 0; p < positions; ++p) {
    for (std::int64_t f = 0; f < filters; ++f) {
      double sum = network.bias.values<float>()[at(f)];
      for (std::int64_t i = 0; i < channels * taps; ++i)
        sum += double{weights[at(f * channels * taps + i)]} * input[at(i / taps * times + p * stride + i % taps)];
      output.push_back(sum);
    }
  }
  return output;
}

/// The part as a model of the device, with the data movement that puts `memory` before the convolution.
Model model_of(const Quantized& network, Part part, Memory memory) {
  using enum OperationKind;
  const Quantization unit{{1 / network.input_factor}, {}, 0};
  const auto int16 = ElementType::int16;
  ModelBuilder builder("concat and convolution");
  const bool joins = part != Part::convolution;
  std::int32_t last = builder.input({"input", int16, {1, joins ? part_channels : channels, times}, unit});
  if (joins)
    last = builder.operation(concat, std::vector(joined, last), {"concat", int16, {1, channels, times}, unit}, ConcatAttributes{1});
  if (part == Part::concat) return builder.finished({last});
  // What is in the right order is transposed once; the missing transposition is what a permutation by hand adds.
  if (memory != Memory::channel_major)
    last = builder.operation(transpose, {last}, {"permuted", int16, {1, times, channels}, unit}, TransposeAttributes{{0, 2, 1}});
  last = builder.operation(reshape, {last}, {"memory", int16, {1, 1, times, channels}, unit});
  const std::int32_t weights = builder.constant("weights", network.weights), bias = builder.constant("bias", network.bias);
  return builder.finished({builder.operation(conv2d, {last, weights, bias}, {"convolution", ElementType::int32, {1, 1, positions, filters}},
                                             Conv2dAttributes{.stride = {1, stride}, .dilation = {}, .padding = {}})});
}

double sum_of_products(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace

Network random_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](const Shape& shape, double low, double high) {
    Tensor tensor(ElementType::float32, shape);
    for (float& value : tensor.values<float>())
      value = static_cast<float>(low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53));
    return tensor;
  };
  const double bound = 1 / std::sqrt(static_cast<double>(channels * taps));
  Tensor input = draw({1, part_channels, times}, 0, 1), weights = draw({filters, channels, taps}, -bound, bound);
  return {std::move(input), std::move(weights), draw({filters}, -bound, bound)};
}

Quantized quantized(const Network& network, double input_factor) {
  const double output_factor = std::min(16384 / largest(network.weights) * input_factor, 0x1p30 / largest(network.bias));
  Tensor weights = codes<std::int16_t>(permuted(network.weights, {0, 2, 1}), output_factor / input_factor);  // as the device reads
  weights.reshape({filters, 1, taps, channels});
  return {input_factor, output_factor, codes<std::int16_t>(network.input, input_factor), std::move(weights),
          codes<std::int32_t>(network.bias, output_factor)};
}

Figures run_part(const Network& network, double input_factor, Part part, Memory memory, const SpecSheet& sheet) {
  const Quantized integers = quantized(network, input_factor);
  const Model model = model_of(integers, part, memory);
  const std::vector<Tensor> inputs{part == Part::convolution ? three_times(integers.input) : integers.input};
  const Trace trace = run(model, sheet.backend, inputs, {.count_events = true});
  const Tensor& output = *trace.tensors[at(model.outputs[0])];
  const std::vector<double> truth = in_double(network, part);
  std::vector<double> mine;
  Figures figures;
  for (std::int64_t i = 0; i < output.element_count(); ++i) {
    figures.integers.push_back(output.integer_at(i));
    mine.push_back(static_cast<double>(figures.integers.back()) / (part == Part::concat ? input_factor : integers.output_factor));
    figures.mean_absolute_error += std::abs(mine.back() - truth[at(i)]) / static_cast<double>(output.element_count());
  }
  for (const Events& events : trace.events) figures.saturations += events.accumulator_overflows;
  figures.cosine = sum_of_products(mine, truth) / std::sqrt(sum_of_products(mine, mine) * sum_of_products(truth, truth));
  return figures;
}

std::vector<Recording> recordings(const std::filesystem::path& folder) {
  const auto read = [&](const char* name, ElementType type, const Shape& shape) {
    Tensor tensor = read_npy(folder / name);
    if (tensor.type() == type && tensor.shape() == shape) return tensor;
    throw Error(ErrorCode::bad_input, (folder / name).string(), std::string(name_of(type)) + " " + shape.text() + " is needed");
  };
  constexpr std::int64_t networks = 4, orders = 2, factors = std::ssize(scale_factors);
  const Tensor inputs = read("inputs.npy", ElementType::float32, {networks, part_channels, times});
  const Tensor weights = read("weights.npy", ElementType::float32, {networks, filters, channels, taps});
  const Tensor biases = read("biases.npy", ElementType::float32, {networks, filters});
  const Tensor outputs = read("outputs.npy", ElementType::int32, {networks, factors, orders, positions, filters});
  const Tensor figures = read("figures.npy", ElementType::float64, {networks, factors, orders, 2});
  const auto part = [](const Tensor& tensor, std::int64_t index, const Shape& shape) {
    Tensor one(tensor.type(), shape);
    std::ranges::copy(tensor.bytes().subspan(at(index) * one.bytes().size(), one.bytes().size()), one.bytes().begin());
    return one;
  };
  std::vector<Recording> all;
  for (std::int64_t run = 0; run < networks * factors * orders; ++run) {
    const std::int64_t net = run / (factors * orders);
    const Tensor integers = part(outputs, run, {positions, filters});
    all.push_back(
        {{part(inputs, net, {1, part_channels, times}), part(weights, net, {filters, channels, taps}), part(biases, net, {filters})},
         scale_factors[at(run / orders % factors)],
         run % orders == 0 ? Memory::time_major : Memory::channel_major,
         {integers.values<std::int32_t>().begin(), integers.values<std::int32_t>().end()},
         figures.values<double>()[at(2 * run)],
         figures.values<double>()[at(2 * run + 1)]});
  }
  return all;
}

std::vector<Row> table_over(int networks) {
  const SpecSheet sheet = find_backend(device);
  std::vector<Row> rows;
  for (const Part part : {Part::convolution, Part::concat, Part::whole}) {
    for (const double factor : scale_factors) {
      for (const Memory memory : {Memory::time_major, Memory::channel_major}) {
        std::vector<double> errors;
        Row row{part, factor, memory, {}, {}, {}};
        for (int seed = 0; seed < networks; ++seed) {
          const Figures figures = run_part(random_network(static_cast<std::uint64_t>(seed)), factor, part, memory, sheet);
          row.cosines.push_back(figures.cosine);
          errors.push_back(figures.mean_absolute_error);
        }
        row.cosine = spread_of(row.cosines);
        row.mean_absolute_error = spread_of(std::move(errors));
        std::ranges::sort(row.cosines);
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

RuleSearch search_rules(const Network& network) {
  const SpecSheet sheet = find_backend(device);
  const double factor = scale_factors.back();
  const Figures right = run_part(network, factor, Part::whole, Memory::time_major, sheet);
  const Figures wrong = run_part(network, factor, Part::whole, Memory::channel_major, sheet);
  RuleSearch search{.cosine = wrong.cosine, .best = wrong.cosine};
  std::vector<std::string> values{"wrap", "saturate", "exact", "every_add", "every_tile", "at_end", "accumulator_start", "accumulator_end"};
  for (int bits = 2; bits <= 64; ++bits) values.push_back(std::to_string(bits));
  for (const RuleText& rule : list_rules(sheet.backend)) {
    if (!rule.path.starts_with("conv.i16")) continue;
    for (const std::string& value : values) {
      SpecSheet changed = sheet;
      try {
        set_rule(changed.backend, rule.path, value);
      } catch (const Error&) {
        continue;  // not a value of this rule
      }
      if (changed.backend == sheet.backend ||
          !check(model_of(quantized(network, factor), Part::whole, Memory::time_major), changed.backend).empty())
        continue;
      ++search.settings;
      const Figures changed_right = run_part(network, factor, Part::whole, Memory::time_major, changed);
      const Figures changed_wrong = run_part(network, factor, Part::whole, Memory::channel_major, changed);
      search.changed += changed_right.integers != right.integers || changed_wrong.integers != wrong.integers ? 1 : 0;
      search.best = std::max(search.best, changed_wrong.cosine);
    }
  }
  return search;
}

}  // namespace gna_concat

namespace {

using namespace gna_concat;

std::string with_range(const Spread& spread, int digits) {
  return fixed(spread.median, digits) + " (" + fixed(spread.low, 2) + "-" + fixed(spread.high, 2) + ")";
}

Rows rows_of(const std::vector<Row>& all) {
  const std::array<std::string, 3> parts{"convolution", "concat", "concat + convolution"}, memories{"[time][channel]", "[channel][time]"};
  Rows rows;
  for (const Row& row : all) {
    const bool concat_alone = row.part == Part::concat;
    if (concat_alone && row.memory == Memory::channel_major) continue;  // a copy
    rows.push_back({parts[static_cast<std::size_t>(row.part)], fixed(row.input_factor, 0),
                    concat_alone ? "either" : memories[static_cast<std::size_t>(row.memory)], with_range(row.cosine, 4),
                    scientific(row.mean_absolute_error.median, 1)});
  }
  return rows;
}

Plot plot_of(const std::vector<Row>& rows) {
  Plot plot{.title = "concat + convolution: cosine to float of " + std::to_string(random_networks) + " random networks, sorted",
            .x_label = "network",
            .y_label = "cosine",
            .series = {}};
  for (const Row& row : rows) {
    if (row.part != Part::whole) continue;
    std::vector<double> network(row.cosines.size());
    std::iota(network.begin(), network.end(), 1.0);
    plot.series.push_back({.title = std::string(row.memory == Memory::time_major ? "right" : "wrong") + " memory order, scale factor " +
                                    fixed(row.input_factor, 0),
                           .x = std::move(network),
                           .y = row.cosines});
  }
  return plot;
}

void add_recordings(StoryFigures& page, const std::filesystem::path& data) {
  const SpecSheet sheet = find_backend(device);
  std::int64_t equal = 0, values = 0, runs = 0;
  const std::vector<Recording> all = recordings(data / "gna-concat");
  for (const Recording& recording : all) {
    const Figures figures = run_part(recording.network, recording.input_factor, Part::whole, recording.memory, sheet);
    std::int64_t same = 0;
    for (std::size_t i = 0; i < figures.integers.size(); ++i) same += figures.integers[i] == recording.integers[i] ? 1 : 0;
    equal += same;
    values += std::ssize(figures.integers);
    runs += same == std::ssize(figures.integers) ? 1 : 0;
  }
  page.texts["runs"] = std::to_string(all.size());
  page.texts["equal runs"] = std::to_string(runs);
  page.texts["equal integers"] = std::to_string(equal) + " of " + std::to_string(values);
}

void add_cause(StoryFigures& page) {
  const Network network = random_network(0);
  const auto run_whole = [&](Memory memory) { return run_part(network, scale_factors.back(), Part::whole, memory, find_backend(device)); };
  const Figures right = run_whole(Memory::time_major), wrong = run_whole(Memory::channel_major), cured = run_whole(Memory::permuted);
  const auto [low, high] = std::ranges::minmax(wrong.integers);
  const RuleSearch search = search_rules(network);
  page.texts["margin"] = fixed(31 - std::log2(static_cast<double>(std::max(-low, high))), 1);
  page.texts["saturations"] = std::to_string(wrong.saturations);
  page.texts["settings"] = std::to_string(search.settings);
  page.texts["unchanged"] = std::to_string(search.settings - search.changed);
  page.texts["best"] = fixed(search.best, 3);
  page.texts["first"] = fixed(search.cosine, 3);
  page.texts["those"] = cured.integers == right.integers ? "those of the right run, every one" : "NOT those of the right run";
  page.texts["cured"] = fixed(cured.cosine, 4);
  page.texts["wrong"] = fixed(wrong.cosine, 4);
}

}  // namespace

int story_gna_concat(const StoryOptions& options) {
  const std::vector<Row> rows = table_over(random_networks);
  StoryFigures figures{.texts = {{"networks", std::to_string(random_networks)}, {"device", device}},
                       .tables = {{"networks", rows_of(rows)}}};
  add_recordings(figures, options.data);
  add_cause(figures);
  return tell(options, "gna-concat", figures, plot_of(rows));
}

}  // namespace lastbit::tool
