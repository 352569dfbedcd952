// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ranges first, histograms within them second: every sample runs twice, and one sample per thread is in memory at a time.
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <thread>

#include "lastbit/backend.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/quantizer.hpp"
#include "toolchains/statistics.hpp"

namespace lastbit {
namespace {

using Statistics = std::vector<TensorStatistics>;

void require_float(const Model& model) {
  for (const ModelTensor& tensor : model.tensors) {
    if (tensor.type == ElementType::float32) continue;
    throw Error(ErrorCode::type_mismatch, "tensor '" + tensor.name + "'", std::string(name_of(tensor.type)) + "; calibration runs float32");
  }
}

void require_finite(const Tensor& tensor, const std::string& where) {
  const auto values = tensor.values<float>();
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  throw Error(ErrorCode::bad_input, where,
              "value " + std::to_string(bad - values.begin()) + " is " + (std::isnan(*bad) ? "NaN" : "infinite"));
}

/// A sample of its own: Emulator::run would take a batch as well.
void check_sample(const Model& model, const std::vector<Tensor>& sample, std::size_t number) {
  const std::string where = "sample " + std::to_string(number);
  if (sample.size() != model.inputs.size()) {
    throw Error(ErrorCode::bad_input, where,
                count_of(std::ssize(sample), "tensor") + "; the model has " + count_of(std::ssize(model.inputs), "input"));
  }
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const ModelTensor& input = model.tensor(model.inputs[i]);
    const std::string place = where + ", input '" + input.name + "'";
    if (sample[i].type() != ElementType::float32) {
      throw Error(ErrorCode::type_mismatch, place, std::string(name_of(sample[i].type())) + "; float32 is needed");
    }
    if (sample[i].shape() != input.shape) {
      throw Error(ErrorCode::shape_mismatch, place, "shape " + sample[i].shape().text() + "; " + input.shape.text() + " is needed");
    }
    require_finite(sample[i], place);
  }
}

/// Calls add(statistics, trace) for every sample, each thread on statistics of its own, and merges them.
template <class Add, class Merge>
void gather(const Emulator& emulator, std::span<const std::vector<Tensor>> samples, int threads, Statistics& result, Add&& add,
            Merge&& merge) {
  const std::size_t workers =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1, std::max<std::size_t>(samples.size(), 1));
  std::vector<Statistics> own(workers, result);
  std::vector<std::exception_ptr> failures(workers);
  const auto work = [&](std::size_t worker) {
    try {
      for (std::size_t sample = worker; sample < samples.size(); sample += workers) {
        const Trace trace = emulator.run(samples[sample], {.keep_all = true});
        for (std::size_t t = 0; t < trace.tensors.size(); ++t) {
          if (trace.tensors[t]) add(own[worker][t], trace.tensors[t]->values<float>());
        }
      }
    } catch (...) {
      failures[worker] = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t worker = 1; worker < workers; ++worker) pool.emplace_back(work, worker);
  work(0);
  for (std::thread& thread : pool) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  for (const Statistics& part : own) {
    for (std::size_t t = 0; t < result.size(); ++t) merge(result[t], part[t]);
  }
}

}  // namespace

void add_range(TensorStatistics& statistics, std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++statistics.non_finite;
      continue;
    }
    const double real{value};
    statistics.min = statistics.values == 0 ? real : std::min(statistics.min, real);
    statistics.max = statistics.values == 0 ? real : std::max(statistics.max, real);
    ++statistics.values;
  }
}

void merge_range(TensorStatistics& into, const TensorStatistics& other) {
  if (other.values > 0) {
    into.min = into.values == 0 ? other.min : std::min(into.min, other.min);
    into.max = into.values == 0 ? other.max : std::max(into.max, other.max);
  }
  into.values += other.values;
  into.non_finite += other.non_finite;
}

void prepare_histograms(TensorStatistics& statistics, int bins) {
  const std::vector<std::int64_t> empty(static_cast<std::size_t>(bins), 0);
  statistics.histogram = {statistics.min, statistics.max, empty};
  statistics.magnitudes = {0, statistics.largest_magnitude(), empty};
}

void add(Histogram& histogram, double value) {
  const double width = histogram.max - histogram.min;
  const auto bins = static_cast<double>(histogram.counts.size());
  const double bin = width > 0 ? std::min((value - histogram.min) / width * bins, bins - 1) : 0;
  ++histogram.counts[static_cast<std::size_t>(bin)];
}

void add_counts(TensorStatistics& statistics, std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    add(statistics.histogram, double{value});
    add(statistics.magnitudes, std::abs(double{value}));
  }
}

namespace {

void merge_counts(TensorStatistics& into, const TensorStatistics& other) {
  for (const auto member : {&TensorStatistics::histogram, &TensorStatistics::magnitudes}) {
    auto& counts = (into.*member).counts;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += (other.*member).counts[i];
  }
}

TensorStatistics statistics_of_constant(const ModelTensor& tensor, int bins) {
  require_finite(*tensor.constant, "constant '" + tensor.name + "'");
  TensorStatistics statistics;
  add_range(statistics, tensor.constant->values<float>());
  prepare_histograms(statistics, bins);
  add_counts(statistics, tensor.constant->values<float>());
  return statistics;
}

}  // namespace

Calibration calibrate(const Model& model, std::span<const std::vector<Tensor>> samples, int histogram_bins, int threads) {
  LASTBIT_ASSERT(histogram_bins > 0);
  require_float(model);
  for (std::size_t i = 0; i < samples.size(); ++i) check_sample(model, samples[i], i);
  const Emulator emulator(model, float_golden);
  Calibration calibration{Statistics(model.tensors.size())};
  gather(emulator, samples, threads, calibration.tensors, add_range, merge_range);
  for (TensorStatistics& statistics : calibration.tensors) prepare_histograms(statistics, histogram_bins);
  gather(emulator, samples, threads, calibration.tensors, add_counts, merge_counts);
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    if (model.tensors[t].constant) calibration.tensors[t] = statistics_of_constant(model.tensors[t], histogram_bins);
  }
  return calibration;
}

}  // namespace lastbit
