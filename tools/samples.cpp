// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <algorithm>

#include "model_inputs.hpp"

namespace lastbit::tool {

std::vector<std::vector<Tensor>> read_samples(const Model& model, const std::vector<std::string>& inputs, std::int64_t most) {
  SampleSource source = open_samples(model, inputs);
  const std::int64_t count = most > 0 ? std::min(most, source.samples()) : source.samples();
  require_room(static_cast<std::size_t>(count) * source.bytes_per_sample());
  std::vector<std::vector<Tensor>> samples;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<Tensor>& sample = samples.emplace_back(source.read(i, 1));
    for (std::size_t k = 0; k < sample.size(); ++k) sample[k].reshape(model.tensor(model.inputs[k]).shape);
  }
  return samples;
}

}  // namespace lastbit::tool
