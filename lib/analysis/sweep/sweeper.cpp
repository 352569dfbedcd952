// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "analysis/rules_checksum.hpp"
#include "engine/parallel.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/recording.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/sweep.hpp"
#include "lastbit/version.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t default_batch_bytes = std::int64_t{64} << 20, largest_default_batch = 256;

std::vector<SweptTensor> swept_tensors(const Model& model) {
  std::vector<SweptTensor> tensors;
  const auto add = [&](std::int32_t index, std::string_view operation, std::optional<std::size_t> number = {}) {
    tensors.push_back({index, model.tensor(index).name, std::string(operation), number});
  };
  for (const std::int32_t input : model.inputs) add(input, "input");
  for (std::size_t i = 0; i < model.operations.size(); ++i)
    for (const std::int32_t output : model.operations[i].outputs) add(output, name_of(model.operations[i].kind), i);
  return tensors;
}

/// Of all tensors, on the reference, on one more backend and on the float path.
std::int64_t bytes_per_sample(const Model& model, std::span<const SweptTensor> tensors) {
  std::int64_t bytes = 0;
  for (const SweptTensor& swept : tensors) {
    const ModelTensor& tensor = model.tensor(swept.index);
    bytes += tensor.shape.element_count() * static_cast<std::int64_t>(2 * size_of(tensor.type) + sizeof(float));
  }
  return std::max<std::int64_t>(bytes, 1);
}

/// One tensor of a run with the samples along a leading dimension.
struct Batch {
  const Tensor* values;
  Quantization quantization;
};

Batch batch_of(const Model& model, const Trace& trace, std::int32_t index) {
  const Tensor& values = *trace.tensors[static_cast<std::size_t>(index)];
  return {&values, quantization_in(model.tensor(index), values.shape())};
}

/// b - a of 64-bit values far apart is the nearest 64-bit number, as in compare.
template <class T>
std::int64_t distance(T a, T b) {
  if constexpr (sizeof(T) < 8) return static_cast<std::int64_t>(b) - static_cast<std::int64_t>(a);
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(static_cast<std::int64_t>(b), static_cast<std::int64_t>(a), &result)) return result;
  return b < a ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

void count_lsb(TensorSums& sums, std::int64_t lsb) {
  sums.histogram.add(lsb);
  if (lsb == 0) return;
  ++sums.differing;
  sums.lowest_lsb = std::min(sums.lowest_lsb, lsb);
  sums.highest_lsb = std::max(sums.highest_lsb, lsb);
  sums.lsb_sum += lsb;
  sums.lsb_magnitude_sum += lsb < 0 ? -Int128{lsb} : Int128{lsb};
}

/// The values of one sample: a of the reference, b judged.
template <class T>
void count_sample(TensorSums& sums, std::span<const T> a, std::span<const T> b) {
  if (std::memcmp(a.data(), b.data(), a.size_bytes()) == 0) {  // most samples of most layers
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      sums.histogram.counts[LsbHistogram::reach + 1] += static_cast<std::int64_t>(a.size());
    return;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) sums.differing += a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i])) ? 1 : 0;
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) count_lsb(sums, distance(a[i], b[i]));
  }
}

template <class T>
void count_samples(TensorSums& sums, const Tensor& a, const Tensor& b, std::int64_t first) {
  const std::int64_t samples = a.shape()[0];
  const auto size = static_cast<std::size_t>(a.element_count() / samples);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const std::int64_t before = sums.differing;
    const auto at = static_cast<std::size_t>(sample) * size;
    count_sample(sums, a.values<T>().subspan(at, size), b.values<T>().subspan(at, size));
    if (sums.differing == before) continue;
    ++sums.samples_differing;
    sums.first_sample = std::min(sums.first_sample.value_or(first + sample), first + sample);
  }
}

void count_difference(TensorSums& sums, const Batch& a, const Batch& b, bool as_integers, std::int64_t first) {
  if (as_integers) {
    visit_element_type(a.values->type(), [&]<class T>() { count_samples<T>(sums, *a.values, *b.values, first); });
    return;
  }
  const Tensor x = dequantized(*b.values, b.quantization), y = dequantized(*a.values, a.quantization);
  count_samples<float>(sums, y, x, first);
  sums.reference.add(x.values<float>(), y.values<float>());
}

/// Says of which backend a refusal is.
Emulator emulator_of(const Model& model, const SpecSheet& sheet) {
  try {
    return Emulator(model, sheet.backend);
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) diagnostic.where = sheet.name + ": " + diagnostic.where;
    throw Error(std::move(diagnostics));
  }
}

std::int64_t count_equal(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  return equal;
}

}  // namespace

struct Sweeper::Prepared {
  const Model* model = nullptr;
  std::vector<SpecSheet> backends;
  SweepOptions options;
  std::vector<SweptTensor> tensors;
  std::vector<std::size_t> answers;  ///< outputs of the model with several values, by their number among the outputs
  std::vector<Emulator> emulators;
  std::optional<Emulator> golden;

  [[nodiscard]] Trace run(const Emulator& emulator, std::span<const Tensor> inputs) const {
    return emulator.run(
        inputs,
        {.threads = options.threads, .keep_all = true, .count_events = options.count_events, .states = StatesBetweenSamples::reset});
  }
  [[nodiscard]] bool as_integers(std::size_t backend, std::size_t tensor) const {
    const std::int32_t index = tensors[tensor].index;
    const ModelTensor &a = emulators[0].model().tensor(index), &b = emulators[backend].model().tensor(index);
    return a.type == b.type && a.quantization == b.quantization && is_integer(a.type);
  }
  void count_tensors(BackendSums& sums, std::size_t backend, const Trace& reference, const Trace& judged, const Trace* truth,
                     std::int64_t first) const;
  void count_answers(BackendSums& sums, const Trace& reference, const Trace& judged, const Trace* truth) const;
};

void Sweeper::Prepared::count_tensors(BackendSums& sums, std::size_t backend, const Trace& reference, const Trace& judged,
                                      const Trace* truth, std::int64_t first) const {
  with_threads(options.threads, [&] {
    for_each_part(static_cast<std::int64_t>(tensors.size()), 1, [&](std::int64_t from, std::int64_t to) {
      for (auto t = static_cast<std::size_t>(from); t < static_cast<std::size_t>(to); ++t) {
        const std::int32_t index = tensors[t].index;
        const Batch mine = batch_of(emulators[backend].model(), judged, index);
        sums.tensors[t].values += mine.values->element_count();
        if (backend > 0)
          count_difference(sums.tensors[t], batch_of(emulators[0].model(), reference, index), mine, as_integers(backend, t), first);
        if (truth == nullptr) continue;
        const Tensor real = dequantized(*mine.values, mine.quantization);
        sums.tensors[t].golden.add(real.values<float>(), truth->tensors[static_cast<std::size_t>(index)]->values<float>());
      }
    });
  });
}

void Sweeper::Prepared::count_answers(BackendSums& sums, const Trace& reference, const Trace& judged, const Trace* truth) const {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto index = static_cast<std::size_t>(model->outputs[answers[i]]);
    const std::int64_t size = model->tensors[index].shape.element_count();
    const auto mine = top_positions(*judged.tensors[index], size);
    sums.answers[i].samples += static_cast<std::int64_t>(mine.size());
    sums.answers[i].as_reference += count_equal(mine, top_positions(*reference.tensors[index], size));
    if (truth != nullptr) sums.answers[i].as_golden += count_equal(mine, top_positions(*truth->tensors[index], size));
  }
}

Sweeper::Sweeper(const Model& model, const Devices& backends, const SweepOptions& options) : prepared_(std::make_unique<Prepared>()) {
  if (backends.sheets().empty()) throw Error(ErrorCode::bad_input, "sweep", "at least one backend is needed");
  prepared_->model = &model;
  prepared_->backends.assign(backends.sheets().begin(), backends.sheets().end());
  prepared_->options = options;
  prepared_->tensors = swept_tensors(model);
  if (options.batch == 0)
    prepared_->options.batch =
        std::clamp<std::int64_t>(default_batch_bytes / bytes_per_sample(model, prepared_->tensors), 1, largest_default_batch);
  for (std::size_t o = 0; o < model.outputs.size(); ++o)
    if (model.tensor(model.outputs[o]).shape.element_count() > 1) prepared_->answers.push_back(o);
  std::vector<const Backend*> held{&prepared_->backends[0].backend};  // at a time: the reference, the one judged by it, the golden path
  if (prepared_->backends.size() > 1) held.push_back(&prepared_->backends[1].backend);
  const SpecSheet golden = find_backend("float");
  if (options.golden == Golden::with) held.push_back(&golden.backend);
  require_memory(model, held, prepared_->options.batch, options.threads);
  for (const SpecSheet& sheet : prepared_->backends) prepared_->emulators.push_back(emulator_of(model, sheet));
  if (options.golden == Golden::with) prepared_->golden.emplace(model, golden.backend);
}

Sweeper::~Sweeper() = default;

const Model& Sweeper::model() const { return *prepared_->model; }
std::span<const SpecSheet> Sweeper::backends() const { return prepared_->backends; }
const SweepOptions& Sweeper::options() const { return prepared_->options; }
std::span<const SweptTensor> Sweeper::tensors() const { return prepared_->tensors; }
std::span<const std::size_t> Sweeper::answer_outputs() const { return prepared_->answers; }
bool Sweeper::as_integers(std::size_t backend, std::size_t tensor) const { return prepared_->as_integers(backend, tensor); }

SweepStatistics Sweeper::nothing() const {
  BackendSums sums;
  sums.tensors.resize(prepared_->tensors.size());
  sums.answers.resize(prepared_->answers.size());
  if (prepared_->options.count_events) sums.events.resize(model().operations.size());
  SweepStatistics statistics;
  statistics.backends.assign(prepared_->backends.size(), sums);
  return statistics;
}

void Sweeper::add(SweepStatistics& statistics, SampleSource& source, std::int64_t first, std::int64_t count) const {
  const std::vector<Tensor> inputs = source.read(first, count);
  std::optional<Trace> truth;
  if (prepared_->golden) truth = prepared_->run(*prepared_->golden, inputs);
  const Trace* const golden = truth ? &*truth : nullptr;
  SweepStatistics counted = nothing();
  counted.samples.add({first, first + count});
  const Trace reference = prepared_->run(prepared_->emulators[0], inputs);
  for (std::size_t b = 0; b < backends().size(); ++b) {
    std::optional<Trace> other;
    if (b > 0) other = prepared_->run(prepared_->emulators[b], inputs);
    const Trace& judged = other ? *other : reference;
    prepared_->count_tensors(counted.backends[b], b, reference, judged, golden, first);
    prepared_->count_answers(counted.backends[b], reference, judged, golden);
    for (std::size_t i = 0; i < judged.events.size(); ++i) counted.backends[b].events[i] += judged.events[i];
  }
  statistics.merge(counted);
}

std::vector<std::string> Sweeper::elsewhere() const {
  std::vector<std::string> all;
  for (const SpecSheet& sheet : backends()) {
    for (std::string& line : computed_elsewhere(model(), sheet)) all.push_back(std::move(line));
  }
  return all;
}

std::string Sweeper::identity() const {
  JsonValue json{{"lastbit", version()}, {"model", model_checksum(model())}, {"backends", JsonValue::array()}};
  for (const SpecSheet& sheet : backends()) json["backends"].push_back({{"name", sheet.name}, {"rules", rules_checksum(sheet)}});
  json["golden"] = options().golden == Golden::with;
  json["events"] = options().count_events;
  return json.text(-1);
}

}  // namespace lastbit
