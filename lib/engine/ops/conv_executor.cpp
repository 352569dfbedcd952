// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How layers of products and matmul are run: sums by tiles, each finished while it is near.
#include <algorithm>
#include <memory>
#include <mutex>

#include "engine/broadcast.hpp"
#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_chains.hpp"
#include "engine/ops/conv_layer.hpp"
#include "engine/ops/layer_parts.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/output_lines.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

/// What finishes a layer's sums: its chain, and where outputs are bytes the lines that say most of them.
class LayerFinisher {
 public:
  LayerFinisher(Finisher finisher, LineFinder finder) : finisher_(std::move(finisher)), finder_(std::move(finder)) {}

  [[nodiscard]] const Finisher& chain() const { return finisher_; }
  /// Of a run that counts nothing; nothing where the chain must say what every output is.
  [[nodiscard]] std::optional<OutputsByLines> by_lines(const LayerSums& sums, const Execution& run) const {
    Tensor& output = run.outputs[0];
    if (run.events != nullptr || size_of(output.type()) != 1 || !finisher_.is_planned()) return std::nullopt;
    const ChannelLines* const lines = finder_.lines(output.element_count(), [&](std::span<std::int64_t> values) { finisher_(values); });
    if (lines == nullptr) return std::nullopt;
    std::call_once(packing_, [&] { packed_ = sums.packed(*lines); });
    const auto decide = [this](std::size_t channel, std::int32_t sum) {
      std::vector<std::int64_t> row(finisher_.channels(), 0);
      std::int64_t& value = row[row.size() == 1 ? 0 : channel];
      value = sum;
      finisher_(row);
      return static_cast<std::int8_t>(value);
    };
    return OutputsByLines{packed_, reinterpret_cast<std::int8_t*>(output.bytes().data()), decide};
  }

 private:
  Finisher finisher_;
  LineFinder finder_;
  mutable std::once_flag packing_;
  mutable PackedLines packed_;
};

/// Finishes every tile of sums into its place, or delivers it as it is.
template <class Sums>
void run_layer(const Operation& operation, const Sums& sums, const ConvInput& input, const Finisher* finisher, const Execution& run,
               std::size_t offset = 0, const OutputsByLines* by_lines = nullptr) {
  sums.for_each_tile(
      input,
      [&](const SumTile& tile) {
        Tensor& output = run.outputs[0];
        if (finisher == nullptr) {
          require_32_bits(operation, tile.wide);
          tile.wide.empty() ? store(tile.narrow, output, offset + tile.first) : store(tile.wide, output, offset + tile.first);
        } else if (tile.wide.empty()) (*finisher)(tile.narrow, output, offset + tile.first, tile.events);
        else (*finisher)(tile.wide, output, offset + tile.first, tile.events);
      },
      run.events, run.routes, by_lines);
}

}  // namespace

Executor prepare_convolution(const Model& model, const Operation& operation, const Backend& backend) {
  ConvLayer layer = conv_layer(model, operation, backend);
  const bool raw = layer.delivers_sums();
  const ConvArithmetic arithmetic = layer.arithmetic;
  const std::vector<std::int64_t> zero_points = layer.zero_points;
  std::vector<RescaleOperands> operands = std::move(layer.operands);
  const auto sums = std::make_shared<LayerSums>(std::move(layer));
  if (raw)
    return [sums, zero_points, operation](const Execution& run) {
      run_layer(operation, *sums, conv_input(*run.inputs[0], zero_points), nullptr, run);
    };
  const Chain chain = chain_of(operation, arithmetic.sum);
  const int bits = sums->accumulator_bits();
  LineFinder finder(chain, operands, {min_of_width(std::min(bits, 32)), max_of_width(std::min(bits, 32))});
  Finisher by_chain(chain, std::move(operands), bits);
  const auto finisher = std::make_shared<const LayerFinisher>(std::move(by_chain), std::move(finder));
  return [sums, finisher, zero_points, operation](const Execution& run) {
    const std::optional<OutputsByLines> by_lines = finisher->by_lines(*sums, run);
    run_layer(operation, *sums, conv_input(*run.inputs[0], zero_points), &finisher->chain(), run, 0, by_lines ? &*by_lines : nullptr);
  };
}

namespace {

/// Rows of a matrix [rows, columns] of int16 values, or of its transpose.
std::vector<std::int16_t> matrix(std::span<const std::int16_t> values, std::int64_t rows, std::int64_t columns, bool transpose) {
  std::vector<std::int16_t> out(values.begin(), values.end());
  if (!transpose) return out;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      out[static_cast<std::size_t>(c * rows + r)] = values[static_cast<std::size_t>(r * columns + c)];
  }
  return out;
}

struct MatmulShape {
  std::int64_t rows, terms, columns;
  std::vector<std::int64_t> a_offsets, b_offsets;  ///< of each matrix of the batch
};

MatmulShape matmul_shape(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<MatmulAttributes>(operation.attributes);
  const Shape& a = model.tensor(operation.inputs[0]).shape;
  const Shape& b = model.tensor(operation.inputs[1]).shape;
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  MatmulShape shape{out[out.rank() - 2], a[a.rank() - (attributes.transpose_a ? 2U : 1U)], out.back(), {}, {}};
  const Shape batch(std::vector<std::int64_t>(out.sizes().begin(), out.sizes().end() - 2));
  const auto leading = [](const Shape& s) { return Shape(std::vector<std::int64_t>(s.sizes().begin(), s.sizes().end() - 2)); };
  shape.a_offsets = broadcast_offsets(leading(a), batch);
  shape.b_offsets = broadcast_offsets(leading(b), batch);
  for (auto& offset : shape.a_offsets) offset *= shape.rows * shape.terms;
  for (auto& offset : shape.b_offsets) offset *= shape.terms * shape.columns;
  return shape;
}

void require_per_column(const Operation& operation, const ModelTensor& b, bool transposed) {
  const auto rank = static_cast<std::int64_t>(b.shape.rank());
  const bool per_channel = b.quantization.per_channel() || b.quantization.zero_points.size() > 1;
  if (!per_channel || b.quantization.axis == rank - (transposed ? 2 : 1)) return;
  throw_unsupported(operation,
                    "the scales of '" + b.name + "' lie along axis " + std::to_string(b.quantization.axis) + ", not along its columns");
}

}  // namespace

std::vector<RescaleOperands> matmul_term_operands(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& b = model.tensor(operation.inputs[1]);
  return term_operands(operation, select_arithmetic(model, operation, backend.matmul).sum, model.tensor(operation.inputs[0]),
                       b.quantization, model.tensor(operation.outputs[0]));
}

Executor prepare_matmul(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& a = model.tensor(operation.inputs[0]);
  const ModelTensor& b = model.tensor(operation.inputs[1]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  require_integer_data(operation, a);
  require_integer_data(operation, b);
  for (const ModelTensor* tensor : {&a, &b}) require_16_bits(operation, *tensor);
  const SumArithmetic sum = select_arithmetic(model, operation, backend.matmul).sum;
  require_sums_of_codes(operation, sum, b);
  if (!applies_scale(sum)) require_plain_sums(operation, model);
  const bool raw = delivers_accumulators(output, sum);
  // Scales and zero points of b go with its columns: neighbours in memory, or whole rows where b is stored transposed.
  const bool b_transposed = std::get<MatmulAttributes>(operation.attributes).transpose_b;
  const auto column_size = static_cast<std::size_t>(b_transposed ? b.shape.back() : 1);
  require_per_column(operation, b, b_transposed);
  const Finisher finisher =
      raw ? Finisher()
          : Finisher(chain_of(operation, sum), chain_operands(operation, sum.output, a, b.quantization, output, output_bounds(operation)),
                     width_of_sums(sum.accumulator));
  return [=, attributes = std::get<MatmulAttributes>(operation.attributes), shape = matmul_shape(model, operation),
          a_zero_points = subtracted(sum, a), b_zero_points = subtracted(sum, b), terms = matmul_term_operands(model, operation, backend),
          largest = largest_value(sum, a)](const Execution& run) {
    std::vector<std::int16_t> left(static_cast<std::size_t>(run.inputs[0]->element_count()));
    std::vector<std::int16_t> right(static_cast<std::size_t>(run.inputs[1]->element_count()));
    centre<std::int16_t>(*run.inputs[0], a_zero_points, left.size(), left);
    centre<std::int16_t>(*run.inputs[1], b_zero_points, column_size, right);
    const ConvShape conv{.in_width = shape.rows, .in_channels = shape.terms, .out_width = shape.rows, .out_channels = shape.columns};
    const auto matrix_size = static_cast<std::size_t>(shape.rows * shape.columns);
    for (std::size_t i = 0; i < shape.a_offsets.size(); ++i) {
      const auto part = [](const std::vector<std::int16_t>& from, std::int64_t offset, std::int64_t count) {
        return std::span(from).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
      };
      // The convolution wants the input as [rows, terms] and the weights as [columns, terms].
      const auto input = matrix(part(left, shape.a_offsets[i], shape.rows * shape.terms), shape.terms, shape.rows, attributes.transpose_a);
      auto weights =
          matrix(part(right, shape.b_offsets[i], shape.terms * shape.columns), shape.terms, shape.columns, !attributes.transpose_b);
      // No bias joins, so where it would does not matter.
      const Convolution product(conv, Direction::forward, {.sum = sum, .bias = BiasAt::accumulator_start}, std::move(weights), {},
                                ElementType::int16, largest, {}, terms, {a_zero_points.empty() ? 0 : a_zero_points.front(), b_zero_points});
      run_layer(operation, product, conv_input(std::span<const std::int16_t>(input)), raw ? nullptr : &finisher, run, i * matrix_size);
    }
  };
}

}  // namespace lastbit
