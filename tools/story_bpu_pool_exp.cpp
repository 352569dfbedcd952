// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_bpu_pool_exp.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <set>

#include "lastbit/backends/bernoulli2.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/metrics.hpp"
#include "lastbit/model_builder.hpp"
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

/// One operation from an int8 tensor to another.
Model layer(OperationKind kind, const Shape& in, double in_scale, const Shape& out, double out_scale) {
  ModelBuilder builder{std::string(name_of(kind))};
  const auto input = builder.input({"in", ElementType::int8, in, {{in_scale}, {0}, 0}});
  return builder.finished({builder.operation(kind, {input}, {"out", ElementType::int8, out, {{out_scale}, {0}, 0}})});
}

/// What the layer gives for reals or codes, and the reals that its codes stand for.
struct Result {
  Tensor out, real_in, real_out;
};
Result on_device(const Model& model, const Backend& backend, const Tensor& sample) {
  const Trace trace = run(model, backend, std::vector{sample}, {.keep_all = true});
  const Tensor &in = *trace.tensors[0], &out = *trace.tensors[1];
  return {out, dequantized(in, model.tensor(0).quantization), dequantized(out, model.tensor(1).quantization)};
}

/// The layer in float.
Tensor in_float(const Model& model, const Tensor& sample) {
  return *run(model, Backend{.domain = Domain::real}, std::vector{sample}).tensors[1];
}

std::int64_t distinct(const Tensor& codes) {
  const auto values = codes.values<std::int8_t>();
  return static_cast<std::int64_t>(std::set<std::int8_t>(values.begin(), values.end()).size());
}

/// 0 where one side is 0 throughout: nothing of the other is left.
double cosine(const Tensor& mine, const Tensor& truth) {
  const double value = element_metrics(mine.values<float>(), truth.values<float>()).cosine;
  return value == value ? value : 0.0;
}

/// exp as the table that a calibration maximum gives.
Model exp_layer(double largest_input, const Shape& shape) {
  return layer(OperationKind::exp, shape, step_of(largest_input), shape, step_of(std::exp(largest_input)));
}

/// Of every input code.
Result exp_table(const Backend& backend, double largest_input) {
  Tensor codes(ElementType::int8, {256});
  std::iota(codes.values<std::int8_t>().begin(), codes.values<std::int8_t>().end(), std::int8_t{-128});
  return on_device(exp_layer(largest_input, {256}), backend, codes);
}

}  // namespace

Tensor exp_sample(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor sample(ElementType::float32, {1000});
  for (float& value : sample.values<float>()) value = static_cast<float>(normal(random, 1.55, 0.58));
  return sample;
}

ExpFigures exp_figures(const Backend& backend, double largest_input, const Tensor& sample) {
  ExpFigures found{.output_scale = step_of(std::exp(largest_input))};
  const Result table = exp_table(backend, largest_input);
  const auto entries = table.out.values<std::int8_t>();
  const auto x = table.real_in.values<float>();
  std::set<std::int8_t> typical;
  for (std::size_t i = 0; i < 256; ++i) {
    if (x[i] >= 0.2F && x[i] <= 2.9F) typical.insert(entries[i]);
  }
  found.typical_levels = std::ssize(typical);
  found.zero_entries = std::ranges::count(entries, 0);
  found.first_answer = double{x[static_cast<std::size_t>(std::min<std::int64_t>(found.zero_entries, 255))]};  // the table does not fall
  const Model model = exp_layer(largest_input, sample.shape());
  const Result result = on_device(model, backend, sample);
  const Tensor truth = in_float(model, sample);
  found.levels = distinct(result.out);
  found.cosine = cosine(result.real_out, truth);
  found.cosine_on_cpu = cosine(in_float(model, result.real_in), truth);
  return found;
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
  const auto kind = OperationKind::global_average_pool;
  const double step = step_of(threshold > 0 ? threshold : largest_magnitude(sample));
  const auto pool = [&](double out_scale) { return layer(kind, sample.shape(), step, {1, 1, 1, channels}, out_scale); };
  const Model on_input_scale = pool(step);
  const Tensor truth = in_float(on_input_scale, sample);
  const Result shared = on_device(on_input_scale, backend, sample);
  const Result own = on_device(pool(step_of(largest_magnitude(truth))), backend, sample);
  return {.input_only = cosine(in_float(on_input_scale, shared.real_in), truth),
          .own_scale = cosine(own.real_out, truth),
          .input_scale = cosine(shared.real_out, truth),
          .levels = distinct(shared.out),
          .step = step};
}

Backend rounded_by(std::string_view rounding) {
  Backend changed = bernoulli2;
  for (const char* rule : {"exp.rounding", "global_average_pool.sum.output.chain.3.rounding", "quantize.rounding"})
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
    std::array<std::vector<double>, 3> columns;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const PoolFigures at = pool_figures(bernoulli2, pool_sample(seed, centre, noise));
      for (std::size_t i = 0; const double figure : {at.input_only, at.own_scale, at.input_scale}) columns[i++].push_back(figure);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Spread spread = spread_of(std::move(columns[i]));
      rows[i].push_back(fixed(spread.median, 4) + " (" + fixed(spread.low, 3) + " … " + fixed(spread.high, 3) + ")");
    }
  }
  return rows;
}

/// Of what is lost, how much is lost before the pool and how much in it.
Rows share_rows(const Tensor& image) {
  const PoolFigures at = pool_figures(bernoulli2, image);
  const auto part = [&](const std::string& name, double lost) {
    return row(name, fixed(lost, 4), fixed(100 * lost / (1 - at.input_scale), 1) + " %");
  };
  return {part("quantising the input", 1 - at.input_only), part("the pool's arithmetic and 8 bits", at.input_only - at.own_scale),
          part("the output on the input's scale, " + std::to_string(at.levels) + " levels", at.own_scale - at.input_scale)};
}

Plot exp_plot() {
  Plot plot{.title = "exp on bernoulli2: what an 8-bit table leaves of it",
            .x_label = "x",
            .y_label = "exp(x)",
            .series = {{"in float", {}, {}, SeriesStyle::lines}},
            .x_range = std::array{0.0, 3.2},
            .y_range = std::array{0.0, 25.0}};
  for (int i = 0; i <= 64; ++i) {
    plot.series[0].x.push_back(i * 0.05);
    plot.series[0].y.push_back(std::exp(i * 0.05));
  }
  for (const double largest_input : {9.2, 6.4, 5.0, 3.5}) {
    const Result table = exp_table(bernoulli2, largest_input);
    const auto x = table.real_in.values<float>().subspan(128), y = table.real_out.values<float>().subspan(128);
    plot.series.push_back({"calibrated to " + fixed(largest_input, 1), {x.begin(), x.end()}, {y.begin(), y.end()}, SeriesStyle::points});
  }
  return plot;
}

}  // namespace

StoryFigures bpu_pool_exp_figures(const std::filesystem::path&) {
  const Tensor sample = exp_sample(1), image = pool_sample(nearest_seed);
  StoryFigures figures{
      .texts = {{"seeds", std::to_string(seeds)}}, .tables = {{"pool", pool_rows()}, {"shares", share_rows(image)}}, .plot = exp_plot()};
  for (const double largest_input : {9.2, 7.6, 6.4, 5.0, 3.5}) {
    const ExpFigures at = exp_figures(bernoulli2, largest_input, sample);
    figures.tables["exp"].push_back(row(fixed(largest_input, 1), fixed(at.output_scale, 3), std::to_string(at.zero_entries) + " of 256",
                                        fixed(at.first_answer, 2), at.typical_levels, at.levels, fixed(at.cosine, 4),
                                        fixed(at.cosine_on_cpu, 4)));
  }
  for (const std::string rounding : {"half_away", "half_up", "half_down", "half_even", "half_toward_zero"}) {
    const Backend backend = rounded_by(rounding);
    const ExpFigures coarse = exp_figures(backend, 9.2, sample), fine = exp_figures(backend, 5.0, sample);
    const PoolFigures pool = pool_figures(backend, image);
    figures.tables["roundings"].push_back(
        row(rounding, coarse.typical_levels, fixed(fine.cosine, 4), fixed(pool.own_scale, 4), fixed(pool.input_scale, 4)));
  }
  for (const double threshold : {127.0, 16.0, 4.0, 2.0}) {
    const PoolFigures at = pool_figures(bernoulli2, image, threshold);
    figures.tables["thresholds"].push_back(
        row(fixed(threshold, 0), fixed(at.step, 4), fixed(at.input_only, 4), fixed(at.own_scale, 4), fixed(at.input_scale, 4), at.levels));
  }
  return figures;
}

}  // namespace lastbit::tool
