// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_gna_concat.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/rules.hpp"

namespace lastbit::tool {
namespace gna_concat {
namespace {

constexpr std::int64_t joined = 3, part_channels = channels / joined;
constexpr int random_networks = 200;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// In [0, 1), the same on every machine.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

template <class T>
Tensor codes(const std::vector<float>& values, double factor, const Shape& shape) {
  Tensor tensor(element_type_of<T>, shape);
  const std::span<T> out = tensor.values<T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double scaled = std::trunc(double{values[i]} * factor + (values[i] > 0 ? 0.5 : -0.5));
    out[i] = static_cast<T>(std::clamp(scaled, double{std::numeric_limits<T>::min()}, double{std::numeric_limits<T>::max()}));
  }
  return tensor;
}

double largest(const std::vector<float>& values) {
  double magnitude = 0;
  for (const float value : values) magnitude = std::max(magnitude, std::abs(double{value}));
  return magnitude;
}

/// The float network in double: [channel][time] of the concat, [filter][position] of the convolution.
std::vector<double> concat_of(const Network& network) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < joined; ++i) values.insert(values.end(), network.input.begin(), network.input.end());
  return values;
}
std::vector<double> convolution_of(const Network& network) {
  const std::vector<double> input = concat_of(network);
  std::vector<double> output;
  for (std::int64_t f = 0; f < filters; ++f) {
    for (std::int64_t p = 0; p < positions; ++p) {
      double sum = network.bias[at(f)];
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t k = 0; k < taps; ++k) {
          sum += double{network.weights[at((f * channels + c) * taps + k)]} * input[at(c * times + p * stride + k)];
        }
      }
      output.push_back(sum);
    }
  }
  return output;
}

/// Adds an operation and the tensor that it writes.
std::int32_t append(Model& model, OperationKind kind, const std::string& name, std::vector<std::int32_t> inputs, ElementType type,
                    Shape shape, Quantization quantization, Attributes attributes = {}) {
  const auto index = static_cast<std::int32_t>(model.tensors.size());
  model.tensors.push_back({name, type, std::move(shape), std::move(quantization), {}});
  model.operations.push_back({kind, name, std::move(inputs), {index}, std::move(attributes)});
  return index;
}

std::int32_t append_constant(Model& model, const std::string& name, const Tensor& values) {
  model.tensors.push_back({name, values.type(), values.shape(), {}, values});
  return static_cast<std::int32_t>(model.tensors.size()) - 1;
}

double cosine_of(const std::vector<double>& x, const std::vector<double>& y) {
  const double xy = std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  return xy / std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) * std::inner_product(y.begin(), y.end(), y.begin(), 0.0));
}

/// The device's integers as real values in the float network's order.
std::vector<double> real_values(const Figures& figures, const Quantized& network, Part part) {
  std::vector<double> values;
  const double factor = part == Part::concat ? network.input_factor : network.output_factor;
  const std::int64_t rows = part == Part::concat ? channels : filters, columns = part == Part::concat ? times : positions;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t index = part == Part::concat ? row * columns + column : column * rows + row;
      values.push_back(static_cast<double>(figures.integers[at(index)]) / factor);
    }
  }
  return values;
}

}  // namespace

Network random_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double bound = 1 / std::sqrt(static_cast<double>(channels * taps));
  const auto draw = [&](std::int64_t count, double low, double high) {
    std::vector<float> values(at(count));
    for (float& value : values) value = static_cast<float>(low + (high - low) * uniform(random));
    return values;
  };
  Network network;
  network.input = draw(part_channels * times, 0, 1);
  network.weights = draw(filters * channels * taps, -bound, bound);
  network.bias = draw(filters, -bound, bound);
  return network;
}

Quantized quantized(const Network& network, double input_factor) {
  Quantized result{.input_factor = input_factor, .output_factor = 0, .input = {}, .weights = {}, .bias = {}};
  result.output_factor = std::min(16384 / largest(network.weights) * input_factor, 0x1p30 / largest(network.bias));
  std::vector<float> ordered;  // [filter][tap][channel], as the device reads
  for (std::int64_t f = 0; f < filters; ++f) {
    for (std::int64_t k = 0; k < taps; ++k) {
      for (std::int64_t c = 0; c < channels; ++c) ordered.push_back(network.weights[at((f * channels + c) * taps + k)]);
    }
  }
  result.input = codes<std::int16_t>(network.input, input_factor, {1, part_channels, times});
  result.weights = codes<std::int16_t>(ordered, result.output_factor / input_factor, {filters, 1, taps, channels});
  result.bias = codes<std::int32_t>(network.bias, result.output_factor, {filters});
  return result;
}

Model model_of(const Quantized& network, Part part, Memory memory, bool permuted) {
  using enum OperationKind;
  const Quantization unit{{1 / network.input_factor}, {}, 0};
  const auto int16 = ElementType::int16;
  Model model;
  model.name = "concat and convolution";
  const bool joins = part != Part::convolution;
  model.tensors.push_back({"input", int16, joins ? Shape{1, part_channels, times} : Shape{1, channels, times}, unit, {}});
  model.inputs = {0};
  std::int32_t last = 0;
  if (joins) {
    ConcatAttributes axis;
    axis.axis = 1;
    last = append(model, concat, "concat", std::vector<std::int32_t>(joined, 0), int16, {1, channels, times}, unit, axis);
  }
  if (part != Part::concat) {
    // What is in the right order is transposed once; the missing transposition is what a permutation by hand adds.
    if (memory == Memory::time_major || permuted) {
      last = append(model, transpose, "permuted", {last}, int16, {1, times, channels}, unit, TransposeAttributes{{0, 2, 1}});
    }
    last = append(model, reshape, "memory", {last}, int16, {1, 1, times, channels}, unit);
    const std::int32_t weights = append_constant(model, "weights", network.weights), bias = append_constant(model, "bias", network.bias);
    Conv2dAttributes attributes;
    attributes.stride = {1, stride};
    last = append(model, conv2d, "convolution", {last, weights, bias}, ElementType::int32, {1, 1, positions, filters}, {}, attributes);
  }
  model.outputs = {last};
  validate(model, "story");
  return model;
}

Figures run_part(const Network& network, double input_factor, Part part, Memory memory, const SpecSheet& sheet, bool permuted) {
  const Quantized integers = quantized(network, input_factor);
  const Model model = model_of(integers, part, memory, permuted);
  std::vector<Tensor> inputs{integers.input};
  if (part == Part::convolution) {
    const std::vector<double> all = concat_of(network);
    inputs[0] = codes<std::int16_t>(std::vector<float>(all.begin(), all.end()), input_factor, {1, channels, times});
  }
  const Trace trace = run(model, sheet.backend, inputs, {.count_events = true});
  const Tensor& output = *trace.tensors[at(model.outputs[0])];
  Figures figures;
  for (std::int64_t i = 0; i < output.element_count(); ++i) figures.integers.push_back(output.integer_at(i));
  for (const Events& events : trace.events) figures.saturations += events.accumulator_overflows;
  const std::vector<double> mine = real_values(figures, integers, part),
                            truth = part == Part::concat ? concat_of(network) : convolution_of(network);
  figures.cosine = cosine_of(mine, truth);
  for (std::size_t i = 0; i < mine.size(); ++i)
    figures.mean_absolute_error += std::abs(mine[i] - truth[i]) / static_cast<double>(mine.size());
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
  const auto part = [](const Tensor& tensor, std::int64_t index, std::int64_t count) {
    const auto values = tensor.values<float>().subspan(at(index * count), at(count));
    return std::vector<float>(values.begin(), values.end());
  };
  std::vector<Recording> all;
  for (std::int64_t run = 0; run < networks * factors * orders; ++run) {
    const std::int64_t net = run / (factors * orders), count = positions * filters;
    const auto integers = outputs.values<std::int32_t>().subspan(at(run * count), at(count));
    all.push_back({{part(inputs, net, part_channels * times), part(weights, net, filters * channels * taps), part(biases, net, filters)},
                   scale_factors[at(run / orders % factors)],
                   run % orders == 0 ? Memory::time_major : Memory::channel_major,
                   std::vector<std::int64_t>(integers.begin(), integers.end()),
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
  RuleSearch search{.cosine = wrong.cosine, .best = wrong.cosine, .best_setting = {}};
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
      if (!(changed_wrong.cosine > search.best)) continue;
      search.best = changed_wrong.cosine;
      search.best_setting = rule.path + "=" + value;
    }
  }
  return search;
}

}  // namespace gna_concat

namespace {

using namespace gna_concat;

std::string name_of_part(Part part) {
  switch (part) {
    case Part::convolution: return "convolution";
    case Part::concat: return "concat";
    case Part::whole: break;
  }
  return "concat + convolution";
}

std::string with_range(const Spread& spread, int digits) {
  return fixed(spread.median, digits) + " (" + fixed(spread.low, 2) + "-" + fixed(spread.high, 2) + ")";
}

Table table_of(const std::vector<Row>& rows) {
  Table table{{"network", "scale factor", "memory", "cosine (5-95 %)", "L1"}, {}};
  for (const Row& row : rows) {
    const std::string memory = row.part == Part::concat           ? "either"
                               : row.memory == Memory::time_major ? "[time][channel]"
                                                                  : "[channel][time]";
    if (row.part == Part::concat && row.memory == Memory::channel_major) continue;  // a copy
    table.rows.push_back({name_of_part(row.part), fixed(row.input_factor, 0), memory, with_range(row.cosine, 4),
                          scientific(row.mean_absolute_error.median, 1)});
  }
  return table;
}

Plot plot_of(const std::vector<Row>& rows) {
  Plot plot{.title = "concat + convolution: cosine to float of " + std::to_string(random_networks) + " random networks, sorted",
            .x_label = "network",
            .y_label = "cosine",
            .series = {}};
  for (const Row& row : rows) {
    if (row.part != Part::whole) continue;
    std::vector<double> positions_on_x(row.cosines.size());
    std::iota(positions_on_x.begin(), positions_on_x.end(), 1.0);
    plot.series.push_back({.title = std::string(row.memory == Memory::time_major ? "right" : "wrong") + " memory order, scale factor " +
                                    fixed(row.input_factor, 0),
                           .x = std::move(positions_on_x),
                           .y = row.cosines});
  }
  return plot;
}

void add_recordings(Page& page, const std::filesystem::path& data) {
  const SpecSheet sheet = find_backend(device);
  std::int64_t equal = 0, values = 0, runs = 0;
  const std::vector<Recording> all = recordings(data / "gna_concat");
  for (const Recording& recording : all) {
    const Figures figures = run_part(recording.network, recording.input_factor, Part::whole, recording.memory, sheet);
    std::int64_t same = 0;
    for (std::size_t i = 0; i < figures.integers.size(); ++i) same += figures.integers[i] == recording.integers[i] ? 1 : 0;
    equal += same;
    values += std::ssize(figures.integers);
    runs += same == std::ssize(figures.integers) ? 1 : 0;
  }
  page.section("The vendor's own kernel")
      .text(std::to_string(all.size()) +
            " runs of the network on the vendor's kernel were recorded, with the right memory order and with the wrong one: " +
            std::to_string(runs) + " of them are reproduced exactly, " + std::to_string(equal) + " of " + std::to_string(values) +
            " integers.");
}

void add_cause(Page& page) {
  const SpecSheet sheet = find_backend(device);
  const Network network = random_network(0);
  const double factor = scale_factors.back();
  const Figures right = run_part(network, factor, Part::whole, Memory::time_major, sheet);
  const Figures wrong = run_part(network, factor, Part::whole, Memory::channel_major, sheet);
  const Figures cured = run_part(network, factor, Part::whole, Memory::channel_major, sheet, true);
  const auto [low, high] = std::ranges::minmax(wrong.integers);
  const double margin = 31 - std::log2(static_cast<double>(std::max(-low, high)));
  const RuleSearch search = search_rules(network);
  page.section("It is not the rounding")
      .text("A GNA convolution delivers its sums: nothing is rounded in it, and these stay " + fixed(margin, 1) +
            " bits below the 32 of the accumulator, so that its integers are exact (saturations: " + std::to_string(wrong.saturations) +
            "). Of the " + std::to_string(search.settings) + " other values that the rules of the convolution can take, the " +
            std::to_string(search.settings - search.changed) +
            " that are not too narrow for such sums change no integer, and none brings the first random network above a cosine of " +
            fixed(search.best, 3) + " (it has " + fixed(search.cosine, 3) + ").");
  page.section("The cause: the order of the memory between concat and convolution")
      .text(
          "The convolution reads [time][channel]. The compiler transposes the network's input for it, but its search for the convolution "
          "stops at a "
          "concat, and then nothing is transposed: the joined inputs lie in memory as [channel][time] and are read as [time][channel]. "
          "Each operation "
          "alone is right; scales and calibration have no part in it.")
      .section("The way out")
      .text("Permute what the convolution reads: with a transposition after the concat the integers are " +
            std::string(cured.integers == right.integers ? "those of the right run, every one" : "NOT those of the right run") +
            ", cosine " + fixed(cured.cosine, 4) + " instead of " + fixed(wrong.cosine, 4) +
            ". In a network for the device: a Permute between concat and convolution (or inputs that are "
            "given channels last and joined along the last axis).");
}

}  // namespace

int story_gna_concat(const StoryOptions& options) {
  const std::vector<Row> rows = table_over(random_networks);
  Page page("gna-concat", "Intel GNA: a convolution alone is right, a concat alone is right, and together they are wrong (2022)");
  page.section("What was seen")
      .text(
          "Convolution, 6 to 4 channels, 3 taps, stride 2, input 6 x 255; and the same after a concat of three inputs of 2 x 255. Cosine "
          "to PyTorch: "
          "convolution alone 0.9999 (scale factor 2048), concat alone 0.999, both together 0.74 to 0.75, with calibrated scales 0.60; "
          "scale factors 1 "
          "and 2048 make no difference. Quantisation was blamed.");
  page.section("Computed: " + std::to_string(random_networks) + " random networks, input uniform in [0, 1), on " + device)
      .text("Medians; in brackets from the 5th to the 95th percentile.")
      .table(table_of(rows));
  add_recordings(page, options.data);
  add_cause(page);
  page.section("What is known, and how")
      .evidence(EvidenceLevel::vendor_code, "the arithmetic and the recorded runs: the vendor's library 3.0, generic kernels")
      .evidence(EvidenceLevel::vendor_source,
                "the quantisation, and the search for the convolution that stops at a concat: three versions of the vendor's compiler "
                "plugin, read")
      .evidence(EvidenceLevel::thread,
                "the figures seen. Not met: 0.75 for the convolution alone at scale factor 1, which depends on the input's amplitude")
      .evidence(EvidenceLevel::guess,
                "that this was the poster's own cause: an inference from mechanism and figures; the poster's compiler was not run");
  page.plot(plot_of(rows));
  return page.show(options);
}

}  // namespace lastbit::tool
