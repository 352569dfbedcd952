// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "gemmlowp_peer.hpp"

#include <public/gemmlowp.h>
#include <public/output_stages.h>

namespace lastbit::bench {

void multiply_with_gemmlowp(const GemmlowpProduct& p, std::uint8_t* output) {
  using Columns = gemmlowp::VectorMap<const std::int32_t, gemmlowp::VectorShape::Row>;
  static gemmlowp::GemmContext context;
  context.set_max_num_threads(1);
  const gemmlowp::OutputStageBiasAddition<Columns> bias{Columns(p.bias.data(), p.columns)};
  const gemmlowp::OutputStageScaleInt32ByFixedPointAndExponentPC<gemmlowp::VectorShape::Row> scale{
      Columns(p.multiplier.data(), p.columns), Columns(p.exponent.data(), p.columns), p.output_zero_point};
  const auto pipeline = std::make_tuple(bias, scale, gemmlowp::OutputStageSaturatingCastToUint8());
  const gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::RowMajor> input(p.input.data(), p.rows, p.depth);
  const gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::ColMajor> weights(p.weights.data(), p.depth, p.columns);
  gemmlowp::MatrixMap<std::uint8_t, gemmlowp::MapOrder::RowMajor> result(output, p.rows, p.columns);
  gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(
      &context, input, weights, &result, -p.input_zero_point, -p.weight_zero_point, pipeline);
}

}  // namespace lastbit::bench
