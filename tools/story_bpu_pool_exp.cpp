// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_bpu_pool_exp.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <set>

#include "lastbit/backends/bernoulli2.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/metrics.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace bpu_pool_exp {
namespace {

constexpr std::int64_t channels = 96, side = 25;

/// Normal values that every standard library draws alike.
double normal(std::mt19937_64& random, double mean, double deviation) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };  // in (0, 1)
  const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
  return mean + deviation * radius * std::cos(angle);
}

double step_of(double threshold) { return double{static_cast<float>(threshold / 127)}; }

/// The layer in float.
Tensor in_float(const Model& model, const Tensor& sample) { return *run(model, float_golden, std::vector{sample}).tensors[1]; }

/// 0 where one side is 0 throughout: nothing of the other is left.
double cosine(const Tensor& mine, const Tensor& truth) {
  const double value = element_metrics(mine.values<float>(), truth.values<float>()).cosine;
  return value == value ? value : 0.0;
}

std::int64_t distinct(std::span<const std::int8_t> codes) { return std::ssize(std::set(codes.begin(), codes.end())); }

/// One operation on int8 for reals or codes: what the device gives, and the reals that its codes stand for.
struct LayerRun {
  Model model;
  Tensor out, real_in, real_out;
};
LayerRun run_layer(OperationKind kind, const Backend& backend, const Tensor& sample, double in_step, const Shape& out, double out_step) {
  ModelBuilder builder{std::string(name_of(kind))};
  const auto input = builder.input({"in", ElementType::int8, sample.shape(), {{in_step}, {0}, 0}});
  Model model = builder.finished({builder.operation(kind, {input}, {"out", ElementType::int8, out, {{out_step}, {0}, 0}})});
  const Trace trace = run(model, backend, std::vector{sample}, {.keep_all = true});
  const Tensor &codes_in = *trace.tensors[0], &codes_out = *trace.tensors[1];
  return {model, codes_out, dequantized(codes_in, model.tensor(0).quantization), dequantized(codes_out, model.tensor(1).quantization)};
}

/// exp as the table that a calibration maximum gives.
LayerRun run_exp(const Backend& backend, double largest_input, const Tensor& sample) {
  return run_layer(OperationKind::exp, backend, sample, step_of(largest_input), sample.shape(), step_of(std::exp(largest_input)));
}

/// Every input code.
Tensor all_codes() {
  Tensor codes(ElementType::int8, {256});
  std::iota(codes.values<std::int8_t>().begin(), codes.values<std::int8_t>().end(), std::int8_t{-128});
  return codes;
}

}  // namespace

Tensor exp_sample(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor sample(ElementType::float32, {1000});
  for (float& value : sample.values<float>()) value = static_cast<float>(normal(random, 1.55, 0.58));
  return sample;
}

ExpFigures exp_figures(const Backend& backend, double largest_input, const Tensor& sample) {
  const LayerRun table = run_exp(backend, largest_input, all_codes()), layer = run_exp(backend, largest_input, sample);
  const auto entries = table.out.values<std::int8_t>();
  const auto x = table.real_in.values<float>();  // rises, as the entries do
  const auto place = [&](float value) { return static_cast<std::size_t>(std::ranges::lower_bound(x, value) - x.begin()); };
  const auto zeros = std::ranges::count(entries, 0);
  const Tensor truth = in_float(layer.model, sample);
  return {.output_scale = step_of(std::exp(largest_input)),
          .first_answer = double{x[static_cast<std::size_t>(std::min<std::int64_t>(zeros, 255))]},
          .zero_entries = zeros,
          .typical_levels = distinct(entries.subspan(place(0.2F), place(std::nextafter(2.9F, 3.0F)) - place(0.2F))),
          .levels = distinct(layer.out.values<std::int8_t>()),
          .cosine = cosine(layer.real_out, truth),
          .cosine_on_cpu = cosine(in_float(layer.model, layer.real_in), truth)};
}

Tensor pool_sample(std::uint64_t seed, double centre, double noise) {
  std::mt19937_64 random(seed);
  std::vector<double> means(channels);
  for (double& mean : means) mean = normal(random, centre, 0.5);
  Tensor sample(ElementType::float32, {1, side, side, channels});
  const auto values = sample.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(normal(random, means[i % means.size()], noise));
  values[0] = 127;
  return sample;
}

PoolFigures pool_figures(const Backend& backend, const Tensor& sample, double threshold) {
  const double step = step_of(threshold > 0 ? threshold : largest_magnitude(sample));
  const auto pool = [&](double out_step) {
    return run_layer(OperationKind::global_average_pool, backend, sample, step, {1, 1, 1, channels}, out_step);
  };
  const LayerRun shared = pool(step);
  const Tensor truth = in_float(shared.model, sample);
  return {.input_only = cosine(in_float(shared.model, shared.real_in), truth),
          .own_scale = cosine(pool(step_of(largest_magnitude(truth))).real_out, truth),
          .input_scale = cosine(shared.real_out, truth),
          .levels = distinct(shared.out.values<std::int8_t>()),
          .step = step};
}

Backend rounded_by(std::string_view rounding) {
  Backend changed = find_backend("bernoulli2").backend;
  for (const char* rule : {"exp.rounding", "global_average_pool.output.chain.3.rounding", "quantize.rounding"})
    set_rule(changed, rule, rounding);
  return changed;
}

}  // namespace bpu_pool_exp

namespace {

using namespace bpu_pool_exp;

constexpr std::uint64_t seeds = 201;

/// Medians and 5 to 95 % over the seeds, for channel means around 0 that scatter little, and around 1 that scatter by a step.
Rows pool_rows() {
  Rows rows{row("int8 input, averaged in float (pool on the CPU)"), row("pool on the BPU, output scale of its own"),
            row("pool on the BPU, output on the input's scale")};
  for (const auto& [centre, noise] : {std::pair{0.0, 0.075}, std::pair{1.0, 1.0}}) {
    std::vector<PoolFigures> all;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) all.push_back(pool_figures(bernoulli2, pool_sample(seed, centre, noise)));
    for (std::size_t i = 0; const auto figure : {&PoolFigures::input_only, &PoolFigures::own_scale, &PoolFigures::input_scale}) {
      std::vector<double> column;
      for (const PoolFigures& at : all) column.push_back(at.*figure);
      const Spread spread = spread_of(std::move(column));
      rows[i++].push_back(fixed(spread.median, 4) + " (" + fixed(spread.low, 3) + " … " + fixed(spread.high, 3) + ")");
    }
  }
  return rows;
}

/// Of what is lost, how much is lost before the pool and how much in it.
Rows share_rows(const PoolFigures& at) {
  const auto part = [&](const std::string& name, double lost) {
    return row(name, fixed(lost, 4), fixed(100 * lost / (1 - at.input_scale), 1) + " %");
  };
  return {part("quantising the input", 1 - at.input_only), part("the pool's arithmetic and 8 bits", at.input_only - at.own_scale),
          part("the output on the input's scale, " + std::to_string(at.levels) + " levels", at.own_scale - at.input_scale)};
}

Plot exp_plot() {
  Plot plot{.series = {{.title = "in float"}}, .x_range = std::array{0.0, 3.2}, .y_range = std::array{0.0, 25.0}};
  for (int i = 0; i <= 64; ++i) {
    plot.series[0].x.push_back(i * 0.05);
    plot.series[0].y.push_back(std::exp(i * 0.05));
  }
  for (const double largest_input : {9.2, 6.4, 5.0, 3.5}) {
    const LayerRun table = run_exp(bernoulli2, largest_input, all_codes());
    const auto x = table.real_in.values<float>().subspan(128), y = table.real_out.values<float>().subspan(128);
    plot.series.push_back({"calibrated to " + fixed(largest_input, 1), {x.begin(), x.end()}, {y.begin(), y.end()}, SeriesStyle::points});
  }
  return plot;
}

}  // namespace

StoryFigures bpu_pool_exp_figures(const std::filesystem::path&) {
  const Tensor sample = exp_sample(1), image = pool_sample(nearest_seed);
  StoryFigures figures{.texts = {{"seeds", std::to_string(seeds)}},
                       .tables = {{"pool", pool_rows()}, {"shares", share_rows(pool_figures(bernoulli2, image))}},
                       .plot = exp_plot()};
  for (const double largest_input : {9.2, 7.6, 6.4, 5.0, 3.5}) {
    const ExpFigures at = exp_figures(bernoulli2, largest_input, sample);
    figures.tables["exp"].push_back(row(fixed(largest_input, 1), fixed(at.output_scale, 3), std::to_string(at.zero_entries) + " of 256",
                                        fixed(at.first_answer, 2), at.typical_levels, at.levels, fixed(at.cosine, 4),
                                        fixed(at.cosine_on_cpu, 4)));
  }
  for (const std::string rounding : {"half_away", "half_up", "half_down", "half_even", "half_toward_zero"}) {
    const Backend backend = rounded_by(rounding);
    const PoolFigures pool = pool_figures(backend, image);
    figures.tables["roundings"].push_back(row(rounding, exp_figures(backend, 9.2, sample).typical_levels,
                                              fixed(exp_figures(backend, 5.0, sample).cosine, 4), fixed(pool.own_scale, 4),
                                              fixed(pool.input_scale, 4)));
  }
  for (const double threshold : {127.0, 16.0, 4.0, 2.0}) {
    const PoolFigures at = pool_figures(bernoulli2, image, threshold);
    figures.tables["thresholds"].push_back(
        row(fixed(threshold, 0), fixed(at.step, 4), fixed(at.input_only, 4), fixed(at.own_scale, 4), fixed(at.input_scale, 4), at.levels));
  }
  return figures;
}

}  // namespace lastbit::tool
