// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/batch.hpp"

#include <algorithm>

#include "lastbit/error.hpp"

namespace lastbit {

std::int64_t sample_count(const ModelTensor& expected, const Shape& given) {
  if (given == expected.shape) return 1;
  const auto sizes = given.sizes();
  const auto own = expected.shape.sizes();
  const bool batch = sizes.size() == own.size() + 1 && std::equal(own.begin(), own.end(), sizes.begin() + 1);
  if (!batch || sizes[0] < 1) {
    throw Error(ErrorCode::shape_mismatch, "input '" + expected.name + "'",
                "shape " + given.text() + "; " + expected.shape.text() + " is needed, or one extra leading dimension of samples");
  }
  return sizes[0];
}

bool is_batch(const Model& model, std::span<const Tensor> inputs) {
  return !inputs.empty() && !model.inputs.empty() && inputs[0].shape() != model.tensor(model.inputs[0]).shape;
}

Shape with_samples(const Shape& shape, std::int64_t samples) {
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
  return Shape(std::move(sizes));
}

Tensor slice_sample(const TensorView& batch, const Shape& shape, std::int64_t sample) {
  Tensor out(batch.type(), shape);
  const auto bytes = out.bytes();
  std::copy_n(batch.bytes().begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(sample) * bytes.size()), bytes.size(),
              bytes.begin());
  return out;
}

void keep_sample(Tensor& kept, const Tensor& value, std::int64_t sample) {
  const auto bytes = value.bytes();
  const std::size_t offset = static_cast<std::size_t>(sample) * bytes.size();
  if (offset < kept.bytes().size()) std::copy(bytes.begin(), bytes.end(), kept.bytes().begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace lastbit
