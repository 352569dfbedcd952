// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/matrix.hpp"

#include <algorithm>

#include "analysis/certify/certifier.hpp"
#include "analysis/certify/every_code.hpp"
#include "analysis/certify/layer_assumptions.hpp"
#include "analysis/matrix/expected.hpp"
#include "engine/batch.hpp"
#include "engine/parallel.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

/// Every tensor of one sample of a run, and what stands at the inputs of an operation.
class SampleTensors {
 public:
  SampleTensors(const Model& model, const Trace& trace, std::int64_t sample) : model_(model), tensors_(model.tensors.size()) {
    for (std::size_t t = 0; t < tensors_.size(); ++t)
      if (trace.tensors[t]) tensors_[t] = slice_sample(*trace.tensors[t], model.tensors[t].shape, sample);
  }

  [[nodiscard]] std::vector<const Tensor*> inputs_of(const Operation& operation) const {
    std::vector<const Tensor*> inputs;
    for (const std::int32_t index : operation.inputs) {
      const bool is_data = index != absent_tensor && !model_.tensor(index).constant;
      const auto& tensor = tensors_[is_data ? static_cast<std::size_t>(index) : 0];
      inputs.push_back(is_data && tensor ? &*tensor : nullptr);
    }
    return inputs;
  }

 private:
  const Model& model_;
  std::vector<std::optional<Tensor>> tensors_;
};

/// One backend's run on the data, sample by sample; empty without data.
std::vector<SampleTensors> samples_of(const Model& model, const SpecSheet& sheet, std::span<const Tensor> inputs, int threads) {
  std::vector<SampleTensors> samples;
  if (inputs.empty()) return samples;
  const Emulator emulator(model, sheet.backend);
  const Trace trace = emulator.run(inputs, {.threads = threads, .keep_all = true});
  const std::int64_t count = inputs[0].element_count() / model.tensor(model.inputs[0]).shape.element_count();
  for (std::int64_t i = 0; i < count; ++i) samples.emplace_back(emulator.model(), trace, i);
  return samples;
}

class PairReader {
 public:
  PairReader(const Model& model, std::span<const SampleTensors> samples) : model_(model), samples_(samples) {}

  [[nodiscard]] LayerShares read(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) const {
    LayerShares shares;
    shares.operation = layer.index;
    shares.name = layer_name(model_, layer.index);
    shares.kind = std::string(name_of(layer.operation().kind));
    shares.outputs = layer.a.model().tensor(layer.operation().outputs[0]).shape.element_count();
    if (have_same_rules(layer)) shares.by = DecidedBy::same_rules;
    else read_differences(layer, sums, shares);
    return shares;
  }

 private:
  [[nodiscard]] std::vector<std::vector<const Tensor*>> inputs_of(const LayerOnBoth& layer) const {
    std::vector<std::vector<const Tensor*>> inputs;
    for (const SampleTensors& sample : samples_) inputs.push_back(sample.inputs_of(layer.operation()));
    return inputs;
  }

  void read_differences(const LayerOnBoth& layer, const std::optional<SharedSums>& sums, LayerShares& shares) const {
    const LayerDifferences found = differences_of(layer, sums);
    shares.open = found.open;
    shares.by = found.by;
    shares.cases = found.cases;
    shares.differing = found.differing;
    if (!shares.open.empty()) return;
    shares.by_ranges = found.codes ? expected_by_ranges(*found.codes) : expected_by_ranges(*sums, found.columns);
    if (shares.differing > 0 && !samples_.empty()) shares.by_data = expected_by_data(layer, sums, found);
  }

  [[nodiscard]] std::optional<double> expected_by_data(const LayerOnBoth& layer, const std::optional<SharedSums>& sums,
                                                       const LayerDifferences& found) const {
    if (found.codes) return expected_by_codes(*found.codes, layer, inputs_of(layer));
    const auto accumulators = accumulators_on(layer, *sums, inputs_of(layer));
    if (!accumulators) return std::nullopt;
    return expected_by_histogram(*accumulators, found.columns);
  }

  const Model& model_;
  std::span<const SampleTensors> samples_;
};

void add_measured(PairShares& pair, const Model& model, const SpecSheet& a, const SpecSheet& b, std::span<const Tensor> inputs,
                  int threads) {
  const CompareReport report = compare_backends(model, a, b, inputs, {.threads = threads});
  for (LayerShares& layer : pair.layers) {
    const std::int32_t output = model.operations[layer.operation].outputs[0];
    const auto found = std::ranges::find(report.layers, output, &LayerDifference::tensor);
    if (found == report.layers.end() || !found->same_input) continue;
    layer.measured = found->same_input->share();
  }
}

bool runs(const Model& model, const SpecSheet& sheet, Matrix& found) {
  const std::vector<Diagnostic> problems = check(model, sheet.backend);
  if (!problems.empty()) found.left_out.emplace_back(sheet.name, problems.front().message);
  return problems.empty();
}

}  // namespace

bool PairShares::equal() const { return std::ranges::all_of(layers, &LayerShares::equal); }

std::vector<SharedAssumption> PairShares::assumptions() const {
  std::vector<std::vector<BackendAssumption>> of_layers;
  for (const LayerShares& layer : layers) of_layers.push_back(layer.assumptions);
  return shared_assumptions(of_layers);
}

bool Matrix::holds(AssumptionsAre are) const {
  return std::ranges::all_of(pairs, [are](const PairShares& pair) { return pair.holds(are); });
}

std::vector<SharedAssumption> Matrix::assumptions() const {
  std::vector<std::vector<BackendAssumption>> of_layers;
  for (std::size_t layer = 0; !pairs.empty() && layer < pairs.front().layers.size(); ++layer) {
    std::vector<BackendAssumption>& found = of_layers.emplace_back();
    for (const PairShares& pair : pairs)
      for (const BackendAssumption& each : pair.equal() ? pair.layers[layer].assumptions : std::vector<BackendAssumption>{})
        if (std::ranges::find(found, each) == found.end()) found.push_back(each);
  }
  return shared_assumptions(of_layers);
}

std::int64_t PairShares::open() const {
  return std::ranges::count_if(layers, [](const LayerShares& layer) { return !layer.open.empty(); });
}

std::int64_t PairShares::differing() const {
  return std::ranges::count_if(layers, [](const LayerShares& layer) { return layer.open.empty() && layer.differing > 0; });
}

double PairShares::expected() const {
  double differing = 0, all = 0;
  for (const LayerShares& layer : layers) {
    if (!layer.open.empty()) continue;
    all += static_cast<double>(layer.outputs);
    differing += static_cast<double>(layer.outputs) * layer.by_data.value_or(layer.by_ranges.value_or(0));
  }
  return all == 0 ? 0 : differing / all;
}

const PairShares& Matrix::pair(std::size_t a, std::size_t b) const {
  return *std::ranges::find_if(pairs, [&](const PairShares& one) { return one.a == std::min(a, b) && one.b == std::max(a, b); });
}

Matrix matrix(const Model& model, const Devices& backends, std::span<const Tensor> inputs, const MatrixOptions& options) {
  Matrix found{.model = model.name, .samples = 0, .backends = {}, .left_out = {}, .pairs = {}};
  if (!inputs.empty()) found.samples = inputs[0].element_count() / model.tensor(model.inputs[0]).shape.element_count();
  std::vector<const SpecSheet*> sheets;
  for (const SpecSheet& sheet : backends.sheets()) {
    if (!runs(model, sheet, found)) continue;
    sheets.push_back(&sheet);
    found.backends.push_back(sheet.name);
  }
  if (sheets.size() < 2) throw Error(ErrorCode::bad_input, "matrix", "fewer than two of the backends run this network");
  const std::size_t all = sheets.size() * (sheets.size() - 1) / 2;
  for (std::size_t a = 0; a + 1 < sheets.size(); ++a) {
    const std::vector<SampleTensors> samples = samples_of(model, *sheets[a], inputs, options.threads);
    const PairReader reader(model, samples);
    for (std::size_t b = a + 1; b < sheets.size(); ++b) {
      if (options.on_progress) options.on_progress(found.pairs.size(), all);
      PairShares& pair = found.pairs.emplace_back(PairShares{a, b, {}});
      LayerAssumptions assumed;
      with_threads(options.threads, [&] {
        Certifier(model, *sheets[a], *sheets[b], {}, {}).each([&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
          LayerShares& shares = pair.layers.emplace_back(reader.read(layer, sums));
          if (shares.open.empty()) shares.assumptions = assumed.of(layer);
        });
      });
      if (!inputs.empty() && !pair.equal()) add_measured(pair, model, *sheets[a], *sheets[b], inputs, options.threads);
    }
  }
  return found;
}

}  // namespace lastbit
