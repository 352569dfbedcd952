// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_bpu_pool_exp.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
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
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(seed) {}
  double operator()(double mean, double deviation) {
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    return mean + deviation * radius * std::cos(angle);
  }

 private:
  /// In (0, 1).
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  std::mt19937_64 random_;
};

double step_of(double threshold) { return double{static_cast<float>(threshold / 127)}; }

/// One operation from an int8 tensor to another.
Model layer(OperationKind kind, const Shape& in, double in_scale, const Shape& out, double out_scale) {
  ModelBuilder builder{std::string(name_of(kind))};
  const auto input = builder.input({"in", ElementType::int8, in, {{in_scale}, {0}, 0}});
  return builder.finished({builder.operation(kind, {input}, {"out", ElementType::int8, out, {{out_scale}, {0}, 0}})});
}

/// What the layer gives for reals that the backend quantises, and what it quantised them to.
struct Result {
  Tensor in, out;  ///< codes
  Tensor real_in, real_out;
};
Result on_device(const Model& model, const Backend& backend, const Tensor& sample) {
  const Trace trace = run(model, backend, std::vector{sample}, {.keep_all = true});
  const Tensor &in = *trace.tensors[0], &out = *trace.tensors[1];
  return {in, out, dequantized(in, model.tensor(0).quantization), dequantized(out, model.tensor(1).quantization)};
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

double largest(const Tensor& real) {
  double found = 0;
  for (const float value : real.values<float>()) found = std::max(found, std::abs(double{value}));
  return found;
}

/// exp as the table that a calibration maximum gives.
Model exp_layer(double largest_input, const Shape& shape) {
  return layer(OperationKind::exp, shape, step_of(largest_input), shape, step_of(std::exp(largest_input)));
}

Tensor every_code() {
  Tensor codes(ElementType::int8, {256});
  for (int i = 0; i < 256; ++i) codes.values<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  return codes;
}

}  // namespace

Tensor exp_sample(std::uint64_t seed) {
  Normal normal(seed);
  Tensor sample(ElementType::float32, {1000});
  for (float& value : sample.values<float>()) value = static_cast<float>(normal(1.55, 0.58));
  return sample;
}

ExpFigures exp_figures(const Backend& backend, double largest_input, const Tensor& sample) {
  ExpFigures found{.largest_input = largest_input, .output_scale = step_of(std::exp(largest_input))};
  const Result table = on_device(exp_layer(largest_input, {256}), backend, every_code());
  std::set<std::int8_t> typical;
  for (std::size_t i = 0; i < 256; ++i) {
    const std::int8_t entry = table.out.values<std::int8_t>()[i];
    const double x = double{table.real_in.values<float>()[i]};
    if (entry == 0) ++found.zero_entries;
    if (entry == 0) found.first_answer = double{table.real_in.values<float>()[std::min<std::size_t>(i + 1, 255)]};
    if (x >= 0.2 && x <= 2.9) typical.insert(entry);
  }
  found.typical_levels = static_cast<std::int64_t>(typical.size());
  const Model model = exp_layer(largest_input, sample.shape());
  const Result result = on_device(model, backend, sample);
  const Tensor truth = in_float(model, sample);
  found.levels = distinct(result.out);
  found.cosine = cosine(result.real_out, truth);
  found.cosine_on_cpu = cosine(in_float(model, result.real_in), truth);
  return found;
}

Tensor pool_sample(const PoolData& data, std::uint64_t seed) {
  Normal normal(seed);
  std::vector<double> means;
  for (std::int64_t c = 0; c < channels; ++c) means.push_back(normal(data.centre, 0.5));
  Tensor sample(ElementType::float32, {1, side, side, channels});
  const auto values = sample.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(normal(means[i % means.size()], data.noise));
  values[0] = 127;
  return sample;
}

PoolFigures pool_figures(const Backend& backend, const Tensor& sample, double threshold) {
  const auto kind = OperationKind::global_average_pool;
  const double step = step_of(threshold > 0 ? threshold : largest(sample));
  const auto pool = [&](double out_scale) { return layer(kind, sample.shape(), step, {1, 1, 1, channels}, out_scale); };
  const Model on_input_scale = pool(step);
  const Tensor truth = in_float(on_input_scale, sample);
  const Result shared = on_device(on_input_scale, backend, sample);
  const Result own = on_device(pool(step_of(largest(truth))), backend, sample);
  return {.input_only = cosine(in_float(on_input_scale, shared.real_in), truth),
          .own_scale = cosine(own.real_out, truth),
          .input_scale = cosine(shared.real_out, truth),
          .levels = distinct(shared.out),
          .step = step};
}

std::vector<PoolFigures> pool_figures(const Backend& backend, const PoolData& data, int count) {
  std::vector<PoolFigures> all;
  for (int seed = 1; seed <= count; ++seed) all.push_back(pool_figures(backend, pool_sample(data, static_cast<std::uint64_t>(seed))));
  return all;
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

constexpr int seeds = 201;

Rows exp_rows() {
  Rows rows;
  for (const double largest_input : {9.2, 7.6, 6.4, 5.0, 3.5}) {
    const ExpFigures at = exp_figures(bernoulli2, largest_input, exp_sample(1));
    rows.push_back({fixed(at.largest_input, 1), fixed(at.output_scale, 3), std::to_string(at.zero_entries) + " of 256",
                    fixed(at.first_answer, 2), std::to_string(at.typical_levels), std::to_string(at.levels), fixed(at.cosine, 4),
                    fixed(at.cosine_on_cpu, 4)});
  }
  return rows;
}

std::string spread_text(const std::vector<PoolFigures>& all, double PoolFigures::*figure) {
  std::vector<double> values;
  for (const PoolFigures& at : all) values.push_back(at.*figure);
  const Spread spread = spread_of(values);
  return fixed(spread.median, 4) + " (" + fixed(spread.low, 3) + " … " + fixed(spread.high, 3) + ")";
}

Rows pool_rows() {
  const auto flat = pool_figures(bernoulli2, {0, 0.075}, seeds), noisy = pool_figures(bernoulli2, {1, 1}, seeds);
  const auto row = [&](const std::string& name, double PoolFigures::*figure) {
    return std::vector{name, spread_text(flat, figure), spread_text(noisy, figure)};
  };
  return {row("int8 input, averaged in float (pool on the CPU)", &PoolFigures::input_only),
          row("pool on the BPU, output scale of its own", &PoolFigures::own_scale),
          row("pool on the BPU, output on the input's scale", &PoolFigures::input_scale)};
}

/// Of what is lost, how much is lost before the pool and how much in it.
Rows share_rows(const Tensor& image) {
  const PoolFigures at = pool_figures(bernoulli2, image);
  const auto row = [&](const std::string& name, double part) {
    return std::vector{name, fixed(part, 4), fixed(100 * part / (1 - at.input_scale), 1) + " %"};
  };
  return {row("quantising the input", 1 - at.input_only), row("the pool's arithmetic and 8 bits", at.input_only - at.own_scale),
          row("the output on the input's scale, " + std::to_string(at.levels) + " levels", at.own_scale - at.input_scale)};
}

Rows rounding_rows(const Tensor& image) {
  Rows rows;
  for (const std::string rounding : {"half_away", "half_up", "half_down", "half_even", "half_toward_zero"}) {
    const Backend backend = rounded_by(rounding);
    const PoolFigures pool = pool_figures(backend, image);
    rows.push_back({rounding, std::to_string(exp_figures(backend, 9.2, exp_sample(1)).typical_levels),
                    fixed(exp_figures(backend, 5.0, exp_sample(1)).cosine, 4), fixed(pool.own_scale, 4), fixed(pool.input_scale, 4)});
  }
  return rows;
}

Rows threshold_rows(const Tensor& image) {
  Rows rows;
  for (const double threshold : {127.0, 16.0, 4.0, 2.0}) {
    const PoolFigures at = pool_figures(bernoulli2, image, threshold);
    rows.push_back({fixed(threshold, 0), fixed(at.step, 4), fixed(at.input_only, 4), fixed(at.own_scale, 4), fixed(at.input_scale, 4),
                    std::to_string(at.levels)});
  }
  return rows;
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
    const Result table = on_device(exp_layer(largest_input, {256}), bernoulli2, every_code());
    const auto x = table.real_in.values<float>().subspan(128), y = table.real_out.values<float>().subspan(128);
    plot.series.push_back({"calibrated to " + fixed(largest_input, 1), {x.begin(), x.end()}, {y.begin(), y.end()}, SeriesStyle::points});
  }
  return plot;
}

}  // namespace

int story_bpu_pool_exp(const StoryOptions& options) {
  const Tensor image = pool_sample({}, nearest_seed);
  const StoryFigures figures{.texts = {{"seeds", std::to_string(seeds)}},
                             .tables = {{"exp", exp_rows()},
                                        {"pool", pool_rows()},
                                        {"shares", share_rows(image)},
                                        {"roundings", rounding_rows(image)},
                                        {"thresholds", threshold_rows(image)}}};
  return tell(options, "bpu-pool-exp", figures, exp_plot());
}

}  // namespace lastbit::tool
