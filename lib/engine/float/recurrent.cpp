// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// svdf and lstm: the formulas of op/svdf.hpp and op/lstm.hpp on real numbers. Sums in double, every stored value rounded to float32 once.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/float/real.hpp"
#include "lastbit/op/lstm.hpp"
#include "lastbit/op/svdf.hpp"

namespace lastbit {
namespace {

using Reals = std::span<const float>;

double dot(Reals a, Reals b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

Reals row_of(Reals values, std::int64_t row, std::int64_t width) {
  return values.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
}

void run_svdf(const SvdfShape& shape, const RealBounds& bounds, const Execution& run) {
  const Reals input = run.inputs[0]->values<float>(), features = run.inputs[1]->values<float>(), times = run.inputs[2]->values<float>();
  const Reals bias = run.inputs.size() > 4 && run.inputs[4] != nullptr ? Reals(run.inputs[4]->values<float>()) : Reals();
  const std::span<float> out = run.outputs[0].values<float>(), state = run.outputs[1].values<float>();
  const Reals before = run.inputs[3]->values<float>();
  std::copy(before.begin() + 1, before.end(), state.begin());
  const auto memory = static_cast<std::size_t>(shape.memory);
  for (std::int64_t row = 0; row < shape.batch * shape.filters; ++row) {
    const double feature = dot(row_of(input, row / shape.filters, shape.inputs), row_of(features, row % shape.filters, shape.inputs));
    state[(static_cast<std::size_t>(row) + 1) * memory - 1] = static_cast<float>(feature);
  }
  for (std::int64_t u = 0; u < shape.batch * shape.units(); ++u) {
    double sum = bias.empty() ? 0.0 : double{bias[static_cast<std::size_t>(u % shape.units())]};
    for (std::int64_t row = u * shape.rank; row < (u + 1) * shape.rank; ++row)
      sum += dot(row_of(state, row, shape.memory), row_of(times, row % shape.filters, shape.memory));
    out[static_cast<std::size_t>(u)] = bounds(static_cast<float>(sum));
  }
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

class RealLstm {
 public:
  RealLstm(const LstmShape& shape, double clip, const Execution& run) : shape_(shape), clip_(clip), run_(run) {}

  void run_row(std::int64_t b) const {
    const Reals before = row_of(values(1), b, shape_.cells), cell_before = row_of(values(2), b, shape_.cells);
    std::vector<float> hidden(before.begin(), before.end()), cell(cell_before.begin(), cell_before.end());
    for (std::int64_t t = 0; t < shape_.steps; ++t) {
      step(values(0).subspan(static_cast<std::size_t>(shape_.row(b, t, shape_.inputs)), static_cast<std::size_t>(shape_.inputs)), hidden,
           cell);
      std::copy(hidden.begin(), hidden.end(), run_.outputs[0].values<float>().begin() + shape_.row(b, t, shape_.cells));
    }
    std::copy(hidden.begin(), hidden.end(), run_.outputs[1].values<float>().begin() + b * shape_.cells);
    std::copy(cell.begin(), cell.end(), run_.outputs[2].values<float>().begin() + b * shape_.cells);
  }

 private:
  [[nodiscard]] Reals values(std::size_t input) const { return run_.inputs[input]->values<float>(); }
  [[nodiscard]] double gate(std::size_t number, std::int64_t cell, Reals x, Reals hidden) const {
    return dot(x, row_of(values(3 + number), cell, shape_.inputs)) + dot(hidden, row_of(values(7 + number), cell, shape_.cells)) +
           double{values(11 + number)[static_cast<std::size_t>(cell)]};
  }
  void step(Reals x, std::vector<float>& hidden, std::vector<float>& cell) const {
    const std::vector<float> before = hidden;
    for (std::int64_t c = 0; c < shape_.cells; ++c) {
      float& state = cell[static_cast<std::size_t>(c)];
      const double input = logistic(gate(0, c, x, before)), forget = logistic(gate(1, c, x, before));
      const double updated = forget * double{state} + input * std::tanh(gate(2, c, x, before));
      state = static_cast<float>(clip_ > 0 ? std::clamp(updated, -clip_, clip_) : updated);
      hidden[static_cast<std::size_t>(c)] = static_cast<float>(std::tanh(double{state}) * logistic(gate(3, c, x, before)));
    }
  }

  const LstmShape& shape_;
  double clip_;
  const Execution& run_;
};

}  // namespace

Executor prepare_real_svdf(const Model& model, const Operation& operation) {
  const Shape &input = model.tensor(operation.inputs[0]).shape, &features = model.tensor(operation.inputs[1]).shape;
  const auto& attributes = std::get<SvdfAttributes>(operation.attributes);
  const SvdfShape shape{input[0], features[1], features[0], model.tensor(operation.inputs[2]).shape[1], attributes.rank};
  return [shape, bounds = real_bounds(attributes.activation)](const Execution& run) { run_svdf(shape, bounds, run); };
}

Executor prepare_real_lstm(const Model& model, const Operation& operation) {
  const Shape& input = model.tensor(operation.inputs[0]).shape;
  const auto& attributes = std::get<LstmAttributes>(operation.attributes);
  const std::size_t time = attributes.time_major ? 0 : 1;
  const LstmShape shape{input[1 - time], input[time], input[2], model.tensor(operation.inputs[1]).shape[1], attributes.time_major};
  return [shape, clip = attributes.cell_clip](const Execution& run) {
    for (std::int64_t b = 0; b < shape.batch; ++b) RealLstm(shape, clip, run).run_row(b);
  };
}

}  // namespace lastbit
