// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "toolchains/quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_set>

#include "lastbit/backends/golden.hpp"
#include "lastbit/op/quantize.hpp"
#include "toolchains/device_model.hpp"

namespace lastbit {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

/// Sums over all samples of one tensor: x of the device, y of the float network.
class TensorTally {
 public:
  TensorTally(const ModelTensor& device, const ModelTensor* real) : device_(device), real_(real) {
    if (real_ != nullptr && real_->shape.element_count() != device.shape.element_count()) real_ = nullptr;
  }

  /// `original` is null where the float network has no such tensor.
  void add(const Tensor& codes, const Tensor* original) {
    count_levels(codes);
    values_ += codes.element_count();
    if (original == nullptr || real_ == nullptr) return;
    const Tensor mine = dequantized(codes, device_.quantization);
    const auto x = mine.values<float>(), y = original->values<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double a{x[i]}, b{y[i]};
      products_ += a * b;
      mine_ += a * a;
      truth_ += b * b;
      noise_ += (a - b) * (a - b);
    }
    count_clipped(codes, y);
    compared_ = true;
  }

  /// Mean square of the float original; NaN without one.
  [[nodiscard]] double power() const { return compared_ ? truth_ / static_cast<double>(values_) : nothing; }

  void finish(TensorQuality& quality) const {
    quality.values = values_;
    quality.levels_used = levels_used();
    quality.clipped_share = values_ == 0 ? 0 : static_cast<double>(clipped_) / static_cast<double>(values_);
    quality.cosine = compared_ ? cosine_of(products_, std::sqrt(mine_), std::sqrt(truth_)) : nothing;
    quality.sqnr_db = compared_ ? sqnr_db_of(truth_, noise_) : nothing;
  }

 private:
  void count_levels(const Tensor& codes) {
    if (!is_integer(codes.type())) return;
    levels_.resize(std::size_t{1} << 16, false);
    visit_element_type(codes.type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        for (const T code : codes.values<T>()) {
          if constexpr (sizeof(T) > 2) wide_levels_.insert(static_cast<std::int64_t>(code));
          else levels_[static_cast<std::size_t>(code - std::numeric_limits<T>::min())] = true;
        }
      }
    });
  }
  [[nodiscard]] std::int64_t levels_used() const {
    return std::ranges::count(levels_, true) + static_cast<std::int64_t>(wide_levels_.size());
  }

  void count_clipped(const Tensor& codes, std::span<const float> original) {
    if (is_integer(codes.type())) {
      if (device_.quantization.present()) count_clipped_codes(codes, original);
    } else if (codes.type() == ElementType::float16) {
      const Tensor mine = dequantized(codes, {});
      const auto values = mine.values<float>();
      for (std::size_t i = 0; i < values.size(); ++i) clipped_ += !(std::abs(values[i]) < 65504) && std::abs(original[i]) > 65504;
    }
  }

  /// Beyond the lowest or highest code by more than half a step.
  void count_clipped_codes(const Tensor& codes, std::span<const float> original) {
    const IntegerRange range = range_of(codes.type());
    const Quantization& quantization = device_.quantization;
    std::size_t inner = 1, channels = 1;
    if (quantization.per_channel()) {
      const auto axis = static_cast<std::size_t>(quantization.axis);
      channels = quantization.scales.size();
      for (std::size_t later = axis + 1; later < device_.shape.rank(); ++later) inner *= static_cast<std::size_t>(device_.shape[later]);
    }
    const auto count = [&](std::size_t i, std::int64_t code) {
      if (code != range.min && code != range.max) return;
      const std::size_t channel = i / inner % channels;
      const double ideal = double{original[i]} / quantization.scale(channel) + static_cast<double>(quantization.zero_point(channel));
      clipped_ += code == range.min ? ideal < static_cast<double>(range.min) - 0.5 : ideal > static_cast<double>(range.max) + 0.5;
    };
    visit_element_type(codes.type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const auto values = codes.values<T>();
        for (std::size_t i = 0; i < original.size(); ++i) count(i, static_cast<std::int64_t>(values[i]));
      }
    });
  }

  const ModelTensor& device_;
  const ModelTensor* real_;
  std::vector<bool> levels_;                      ///< of types of up to 16 bits, from the lowest code
  std::unordered_set<std::int64_t> wide_levels_;  ///< of wider ones
  std::int64_t values_ = 0, clipped_ = 0;
  double products_ = 0, mine_ = 0, truth_ = 0, noise_ = 0;
  bool compared_ = false;
};

struct Row {
  std::int32_t tensor;
  std::string operation;                    ///< the kind that writes it
  std::optional<std::size_t> written_by{};  ///< its position
};

/// Inputs, then per operation the constants that it reads and what it writes; each tensor once.
std::vector<Row> rows_of(const Model& model) {
  std::vector<Row> rows;
  std::vector<bool> listed(model.tensors.size(), false);
  const auto list = [&](Row row) {
    if (row.tensor == absent_tensor || listed[static_cast<std::size_t>(row.tensor)]) return;
    listed[static_cast<std::size_t>(row.tensor)] = true;
    rows.push_back(std::move(row));
  };
  for (const std::int32_t input : model.inputs) list({input, "input"});
  for (const State& state : model.states) list({state.before, "state"});
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    for (const std::int32_t input : model.operations[i].inputs) list({input, "constant"});
    for (const std::int32_t output : model.operations[i].outputs) list({output, std::string(name_of(model.operations[i].kind)), i});
  }
  return rows;
}

class Comparison {
 public:
  Comparison(const Model& real, const Model& device, const SpecSheet& sheet)
      : real_(real),
        device_(device),
        real_emulator_(real, float_golden),
        device_emulator_(device, sheet.backend),
        takes_real_(sheet.backend.quantize.division != ScaleDivision::absent),
        events_(device.operations.size()),
        same_top_(device.outputs.size(), 0) {
    for (const ModelTensor& tensor : device.tensors) {
      const auto counterpart = real.find_tensor(tensor.name);
      counterparts_.push_back(counterpart);
      tallies_.emplace_back(tensor, counterpart ? &real.tensor(*counterpart) : nullptr);
    }
    for (std::size_t t = 0; t < device.tensors.size(); ++t) {
      if (device.tensors[t].constant) add(t, *device.tensors[t].constant, real_constant(t));
    }
  }

  void run(const std::vector<Tensor>& sample) {
    const Trace truth = real_emulator_.run(sample, {.keep_all = true});
    const Trace mine = device_emulator_.run(fed(sample), {.keep_all = true, .count_events = true});
    for (std::size_t t = 0; t < device_.tensors.size(); ++t) {
      if (device_.tensors[t].constant || !mine.tensors[t]) continue;
      const auto& counterpart = counterparts_[t];
      const auto original = counterpart ? &truth.tensors[static_cast<std::size_t>(*counterpart)] : nullptr;
      add(t, *mine.tensors[t], original != nullptr && *original ? &**original : nullptr);
    }
    for (std::size_t i = 0; i < events_.size(); ++i) events_[i] += mine.events[i];
    for (std::size_t o = 0; o < same_top_.size(); ++o) {
      const Tensor& a = *truth.tensors[static_cast<std::size_t>(real_.outputs[o])];
      const Tensor& b = *mine.tensors[static_cast<std::size_t>(device_.outputs[o])];
      same_top_[o] += top_positions(a, a.element_count()) == top_positions(b, b.element_count());
    }
  }

  [[nodiscard]] TensorQuality row(const Row& row, const Calibration& calibration) const {
    const auto t = static_cast<std::size_t>(row.tensor);
    const ModelTensor& tensor = device_.tensors[t];
    TensorQuality quality;
    quality.name = tensor.name;
    quality.operation = row.operation;
    if (counterparts_[t]) {
      const TensorStatistics& statistics = calibration.tensors[static_cast<std::size_t>(*counterparts_[t])];
      quality.min = statistics.values == 0 ? nothing : statistics.min;
      quality.max = statistics.values == 0 ? nothing : statistics.max;
    }
    quality.quantization = tensor.quantization;
    quality.type = name_of(tensor.type);
    tallies_[t].finish(quality);
    if (row.written_by) quality.events = events_[*row.written_by];
    return quality;
  }

  /// Of every tensor of the device, the mean square of its float original.
  [[nodiscard]] std::vector<double> powers() const {
    std::vector<double> powers;
    for (const TensorTally& tally : tallies_) powers.push_back(tally.power());
    return powers;
  }

  [[nodiscard]] std::vector<OutputAgreement> agreements(std::int64_t samples) const {
    std::vector<OutputAgreement> outputs;
    for (std::size_t o = 0; o < same_top_.size(); ++o) outputs.push_back({real_.tensor(real_.outputs[o]).name, samples, same_top_[o]});
    return outputs;
  }

 private:
  /// What a device that codes no real values is given by its host: half_away(x / scale) and the zero point, as quantisers code constants.
  [[nodiscard]] std::vector<Tensor> fed(std::vector<Tensor> sample) const {
    for (std::size_t i = 0; !takes_real_ && i < sample.size(); ++i) {
      const ModelTensor& input = device_.tensor(device_.inputs[i]);
      if (sample[i].type() == ElementType::float32 && is_integer(input.type))
        sample[i] = quantized(sample[i], input.type, input.quantization, by_division(Rounding::half_away), range_of(input.type));
    }
    return sample;
  }
  void add(std::size_t tensor, const Tensor& codes, const Tensor* original) { tallies_[tensor].add(codes, original); }

  [[nodiscard]] const Tensor* real_constant(std::size_t tensor) const {
    const auto& counterpart = counterparts_[tensor];
    return counterpart && real_.tensor(*counterpart).constant ? &*real_.tensor(*counterpart).constant : nullptr;
  }

  const Model& real_;
  const Model& device_;
  Emulator real_emulator_, device_emulator_;
  bool takes_real_;                                        ///< by a rule of the device's
  std::vector<std::optional<std::int32_t>> counterparts_;  ///< of each tensor of the device, in the float network
  std::vector<TensorTally> tallies_;
  std::vector<Events> events_;
  std::vector<std::int64_t> same_top_;
};

/// What a sine over the whole range of a type keeps of its power.
double attainable_db(ElementType type) {
  const int bits = type == ElementType::float16 ? 11 : 8 * static_cast<int>(size_of(type));
  return 6.02 * bits + 1.76;
}

/// What the values keep of their power in codes of this type and zero point at the scale that just holds them: noise of a uniform step.
double attainable_db(const ModelTensor& device, const TensorQuality& quality, double power) {
  const IntegerRange codes = range_of(device.type);
  const double min = std::min(quality.min, 0.0), max = std::max(quality.max, 0.0), levels = static_cast<double>(codes.max - codes.min);
  const bool is_symmetric = codes.min < 0 && quality.quantization.zero_point() == 0;
  const double step = (is_symmetric ? 2 * std::max(-min, max) : max - min) / levels;
  return 10 * std::log10(power / (step * step / 12));
}

/// Of what comes in from outside: an input or a state against its own values at their best scale, as are weights. Others are as good as they are.
double lost_at_the_door(const Model& device, const Row& row, const TensorQuality& quality, double power) {
  const ModelTensor& tensor = device.tensor(row.tensor);
  if (!is_integer(tensor.type) || size_of(tensor.type) > 2 || !quality.quantization.present()) return 0;
  const double lost = attainable_db(tensor, quality, power) - quality.sqnr_db;
  return std::isfinite(lost) ? std::max(lost, 0.0) : 0;
}

/// Each operation against the worst of what it reads; what the float network does not have is as bad as what made it.
void find_losses(const Model& device, const std::vector<Row>& rows, const std::vector<double>& powers,
                 std::vector<TensorQuality>& tensors) {
  std::vector<double> sqnr(device.tensors.size(), nothing);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto tensor = static_cast<std::size_t>(rows[i].tensor);
    sqnr[tensor] = tensors[i].sqnr_db;
    if (!rows[i].written_by) {
      tensors[i].lost_db = lost_at_the_door(device, rows[i], tensors[i], powers[tensor]);
      continue;
    }
    double worst = attainable_db(device.tensor(rows[i].tensor).type);
    for (const std::int32_t input : device.operations[*rows[i].written_by].inputs) {
      if (input != absent_tensor) worst = std::fmin(worst, sqnr[static_cast<std::size_t>(input)]);
    }
    if (std::isnan(sqnr[tensor])) sqnr[tensor] = worst;
    const double lost = worst - tensors[i].sqnr_db;
    tensors[i].lost_db = std::isfinite(lost) ? std::max(lost, 0.0) : 0;
  }
}

}  // namespace

QuantizationReport quality_of(const Model& real, const Calibration& calibration, const Model& device, const SpecSheet& sheet,
                              std::span<const std::vector<Tensor>> samples) {
  Comparison comparison(real, device, sheet);
  for (const std::vector<Tensor>& sample : samples) comparison.run(sample);
  QuantizationReport report;
  report.backend = sheet.name;
  const std::vector<Row> rows = rows_of(device);
  for (const Row& row : rows) report.tensors.push_back(comparison.row(row, calibration));
  find_losses(device, rows, comparison.powers(), report.tensors);
  report.samples = static_cast<std::int64_t>(samples.size());
  report.outputs = comparison.agreements(report.samples);
  report.assumptions = assumptions_of(device, sheet);
  return report;
}

}  // namespace lastbit
