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
  Model model;
  model.name = std::string(name_of(kind));
  model.tensors.push_back({"in", ElementType::int8, in, {{in_scale}, {0}, 0}, {}});
  model.tensors.push_back({"out", ElementType::int8, out, {{out_scale}, {0}, 0}, {}});
  model.operations.push_back({kind, model.name, {0}, {1}, default_attributes(kind)});
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "story");
  return model;
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
  const Trace trace = run(model, Backend{.domain = Domain::real}, std::vector{sample});
  return *trace.tensors[1];
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
  const double in_scale = step_of(largest_input), out_scale = step_of(std::exp(largest_input));
  ExpFigures found{.largest_input = largest_input, .output_scale = out_scale};
  const Result table = on_device(layer(OperationKind::exp, {256}, in_scale, {256}, out_scale), backend, every_code());
  std::set<std::int8_t> typical;
  for (std::size_t i = 0; i < 256; ++i) {
    const std::int8_t entry = table.out.values<std::int8_t>()[i];
    const double x = double{table.real_in.values<float>()[i]};
    if (entry == 0) ++found.zero_entries;
    if (entry == 0) found.first_answer = double{table.real_in.values<float>()[std::min<std::size_t>(i + 1, 255)]};
    if (x >= 0.2 && x <= 2.9) typical.insert(entry);
  }
  found.typical_levels = static_cast<std::int64_t>(typical.size());
  const Model model = layer(OperationKind::exp, sample.shape(), in_scale, sample.shape(), out_scale);
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
  for (const char* rule : {"exp.rounding", "global_average_pool.rescale.chain.3.rounding", "quantize.rounding"})
    set_rule(changed, rule, rounding);
  return changed;
}

}  // namespace bpu_pool_exp

namespace {

using namespace bpu_pool_exp;

constexpr int seeds = 201;

Table exp_table() {
  Table table{{"largest x", "output scale", "entries that are 0", "x answered from", "levels for 0.2 … 2.9", "levels of the sample",
               "cosine", "exp on the CPU"},
              {}};
  for (const double largest_input : {9.2, 7.6, 6.4, 5.0, 3.5}) {
    const ExpFigures at = exp_figures(bernoulli2, largest_input, exp_sample(1));
    table.rows.push_back({fixed(at.largest_input, 1), fixed(at.output_scale, 3), std::to_string(at.zero_entries) + " of 256",
                          fixed(at.first_answer, 2), std::to_string(at.typical_levels), std::to_string(at.levels), fixed(at.cosine, 4),
                          fixed(at.cosine_on_cpu, 4)});
  }
  return table;
}

std::string spread_text(const std::vector<PoolFigures>& all, double PoolFigures::*figure) {
  std::vector<double> values;
  for (const PoolFigures& at : all) values.push_back(at.*figure);
  const Spread spread = spread_of(values);
  return fixed(spread.median, 4) + " (" + fixed(spread.low, 3) + " … " + fixed(spread.high, 3) + ")";
}

Table pool_table() {
  Table table{{"cosine with the float pool", "means 0, noise 0.075", "means 1, noise 1"}, {}};
  const auto flat = pool_figures(bernoulli2, {0, 0.075}, seeds), noisy = pool_figures(bernoulli2, {1, 1}, seeds);
  const auto row = [&](const std::string& name, double PoolFigures::*figure) {
    table.rows.push_back({name, spread_text(flat, figure), spread_text(noisy, figure)});
  };
  row("int8 input, averaged in float (pool on the CPU)", &PoolFigures::input_only);
  row("pool on the BPU, output scale of its own", &PoolFigures::own_scale);
  row("pool on the BPU, output on the input's scale", &PoolFigures::input_scale);
  return table;
}

/// Of what is lost, how much is lost before the pool and how much in it.
Table share_table() {
  const PoolFigures at = pool_figures(bernoulli2, pool_sample({}, nearest_seed));
  const double lost = 1 - at.input_scale;
  Table table{{"where 1 - cosine comes from", "lost", "share"}, {}};
  const auto row = [&](const std::string& name, double part) {
    table.rows.push_back({name, fixed(part, 4), fixed(100 * part / lost, 1) + " %"});
  };
  row("quantising the input", 1 - at.input_only);
  row("the pool's arithmetic and 8 bits", at.input_only - at.own_scale);
  row("the output on the input's scale, " + std::to_string(at.levels) + " levels", at.own_scale - at.input_scale);
  return table;
}

Table rounding_table() {
  Table table{{"rounding of input, table and pool", "exp, 9.2: levels", "exp, 5.0: cosine", "pool, own scale", "pool, input's scale"}, {}};
  const Tensor sample = exp_sample(1), image = pool_sample({}, nearest_seed);
  for (const std::string rounding : {"half_away", "half_up", "half_down", "half_even", "half_toward_zero"}) {
    const Backend backend = rounded_by(rounding);
    const PoolFigures pool = pool_figures(backend, image);
    table.rows.push_back({rounding, std::to_string(exp_figures(backend, 9.2, sample).typical_levels),
                          fixed(exp_figures(backend, 5.0, sample).cosine, 4), fixed(pool.own_scale, 4), fixed(pool.input_scale, 4)});
  }
  return table;
}

Table threshold_table() {
  Table table{{"input calibrated to", "step", "averaged in float", "own scale", "input's scale", "levels"}, {}};
  const Tensor image = pool_sample({}, nearest_seed);
  for (const double threshold : {127.0, 16.0, 4.0, 2.0}) {
    const PoolFigures at = pool_figures(bernoulli2, image, threshold);
    table.rows.push_back({fixed(threshold, 0), fixed(at.step, 4), fixed(at.input_only, 4), fixed(at.own_scale, 4), fixed(at.input_scale, 4),
                          std::to_string(at.levels)});
  }
  return table;
}

Plot exp_plot() {
  Plot plot{.title = "exp on bernoulli2: what an 8-bit table leaves of it",
            .x_label = "x",
            .y_label = "exp(x)",
            .series = {},
            .x_range = std::array{0.0, 3.2},
            .y_range = std::array{0.0, 25.0}};
  Series truth{"in float", {}, {}, SeriesStyle::lines};
  for (int i = 0; i <= 64; ++i) {
    truth.x.push_back(i * 0.05);
    truth.y.push_back(std::exp(i * 0.05));
  }
  plot.series.push_back(std::move(truth));
  for (const double largest_input : {9.2, 6.4, 5.0, 3.5}) {
    const double in_scale = step_of(largest_input), out_scale = step_of(std::exp(largest_input));
    const Result table = on_device(layer(OperationKind::exp, {256}, in_scale, {256}, out_scale), bernoulli2, every_code());
    Series series{"calibrated to " + fixed(largest_input, 1), {}, {}, SeriesStyle::points};
    for (std::size_t i = 128; i < 256; ++i) {
      series.x.push_back(double{table.real_in.values<float>()[i]});
      series.y.push_back(double{table.real_out.values<float>()[i]});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

void tell_exp(Page& page) {
  page.section("Exp")
      .text(
          "On bernoulli2 the exponential is a table of 256 entries. Calibration maps the largest x to the input code 127 and its "
          "exponential "
          "to the output code 127; everything smaller has to share the codes below. Each row runs the layer on the backend: every input "
          "code, and 1000 values around 1.55 with deviation 0.58, of which 98 % lie between 0.2 and 2.9.")
      .table(exp_table())
      .text(
          "Calibrated to x = 9.2, one output step is 77.9: no x below 3.66 is answered, and inputs between 0.2 and 2.9 (exp 1.2 to 18.2) "
          "give one value, 0, whatever they are. The last column is exp in float on the same 8-bit inputs: nothing is wrong with them, all "
          "of the loss is in the table's output scale.");
}

void tell_pool(Page& page) {
  page.section("GlobalAveragePool")
      .text(
          "96 channels of 25x25, channel means with deviation 0.5, and one value of 127 that makes the input's step 1. Median and 5–95 % "
          "over " +
          std::to_string(seeds) + " seeds.")
      .table(pool_table())
      .text(
          "Values that scatter by less than half a step all fall on one code: averaging 625 of them brings nothing back, and the loss is "
          "in the input already, on the CPU too. Noise of one step dithers, and the same pool is exact: 'other average pools are fine'. "
          "The "
          "second loss needs an output that shares the input's scale. Of one set of data (the seed nearest to 0.894, 0.893, 0.839):")
      .table(share_table());
}

}  // namespace

int story_bpu_pool_exp(const StoryOptions& options) {
  Page page("bpu-pool-exp", "Horizon BPU: GlobalAveragePool at 0.84 and a constant output behind Exp (X3, 2023)");
  page.section("What was seen")
      .text(
          "GlobalAveragePool_380 has cosine 0.84 on the BPU and 0.90 on the CPU, while other average pools are fine. An output is "
          "constant, "
          "whatever the input, until Exp_474 runs on the CPU. The vendor ended with three patches and no explanation.");
  tell_exp(page);
  tell_pool(page);
  page.section("It is not the rounding")
      .text("Every tie rule in place of the one assumed, in the quantised input, the table and the pool at once:")
      .table(rounding_table());
  page.section("What to do")
      .text("1. Exp: calibrate to what occurs, not to the one largest x; or keep it on the CPU, as the poster did:")
      .line("lastbit quantize MODEL --backend bernoulli2 --calibrate DIR --set cpu=Exp_474")
      .text("2. The pool: do not let an outlier set the input's scale (calibration percentile or kl instead of max):")
      .table(threshold_table())
      .text("3. Look at the column 'levels' of the report of `lastbit quantize`: a tensor with one or three levels says where.")
      .plot(exp_plot());
  page.section("How this is known")
      .evidence(EvidenceLevel::thread, "the cosines 0.84 and 0.90, the constant output and its cure: the poster's own measurements")
      .evidence(EvidenceLevel::document, "Exp by a table on bernoulli2, with a risk for accuracy; scale = threshold / 127")
      .evidence(EvidenceLevel::vendor_source, "the pool as an int32 sum that is rescaled; both output scales exist in the interface")
      .evidence(EvidenceLevel::guess,
                "that these mechanisms are the poster's: the integer kernels are not public, nothing was run on silicon, and three patches "
                "of the SDK make a bug in it at least as likely. The data are invented to fit the two cosines");
  return page.show(options);
}

}  // namespace lastbit::tool
