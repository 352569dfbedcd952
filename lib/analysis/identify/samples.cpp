// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/samples.hpp"

#include <algorithm>
#include <cstring>

#include "analysis/try_run.hpp"
#include "lastbit/emulator.hpp"

namespace lastbit {
namespace {

/// To begin with: few samples tell most rules apart, and many where they are small.
constexpr std::int64_t fewest_samples = 2, many_values = 10'000;

Tensor sample_of(const Tensor& batch, const Shape& shape, std::int64_t sample) {
  Tensor one(batch.type(), shape);
  const auto size = one.bytes().size();
  std::memcpy(one.bytes().data(), batch.bytes().data() + static_cast<std::size_t>(sample) * size, size);
  return one;
}

Tensor with_samples(Tensor batch, const Shape& shape, std::int64_t samples) {
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
  batch.reshape(Shape(std::move(sizes)));
  return batch;
}

void add_differences(Judgement& result, const Tensor& computed, const Tensor& dumped, std::int64_t samples) {
  result.possible = computed.type() == dumped.type() && computed.bytes().size() == dumped.bytes().size();
  if (!result.possible) return;
  const std::size_t size = size_of(computed.type()), values = computed.bytes().size() / size;
  for (std::size_t i = 0; i < values; ++i) {
    if (std::memcmp(computed.bytes().data() + i * size, dumped.bytes().data() + i * size, size) == 0) continue;
    if (result.differing++ == 0) result.first = static_cast<std::int64_t>(i / (values / static_cast<std::size_t>(samples)));
  }
}

}  // namespace

std::int64_t samples_of(const IdentifyPair& pair) {
  std::int64_t samples = 0;
  const auto holds = [&](const Tensor& tensor, std::int32_t index) {
    const std::int64_t own = pair.layer.tensor(index).shape.element_count(), count = tensor.element_count();
    if (count % own != 0 || (samples > 0 && count / own != samples)) return false;
    samples = count / own;
    return samples > 0;
  };
  if (pair.inputs.size() != pair.layer.inputs.size() || !holds(pair.output, pair.layer.outputs[0])) return 0;
  for (std::size_t i = 0; i < pair.inputs.size(); ++i) {
    if (!holds(pair.inputs[i], pair.layer.inputs[i])) return 0;
  }
  return samples;
}

IdentifyPair sample_of(const IdentifyPair& pair, std::int64_t sample) {
  IdentifyPair one{pair.name, pair.layer, {}, sample_of(pair.output, pair.layer.tensor(pair.layer.outputs[0]).shape, sample)};
  for (std::size_t i = 0; i < pair.inputs.size(); ++i)
    one.inputs.push_back(sample_of(pair.inputs[i], pair.layer.tensor(pair.layer.inputs[i]).shape, sample));
  return one;
}

Judgement judge(const IdentifyPair& pair, const Backend& backend) {
  Judgement result;
  const std::int64_t samples = samples_of(pair);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < pair.inputs.size(); ++i)
    inputs.push_back(with_samples(pair.inputs[i], pair.layer.tensor(pair.layer.inputs[i]).shape, samples));
  const auto trace = try_run(pair.layer, backend, inputs, {.keep_all = true});
  if (!trace) return result;
  result.possible = true;
  for (std::size_t o = 0; o < pair.layer.outputs.size() && result.possible; ++o) {
    if (o > pair.further.size()) break;
    add_differences(result, *trace->tensors[static_cast<std::size_t>(pair.layer.outputs[o])], o == 0 ? pair.output : pair.further[o - 1],
                    samples);
  }
  return result;
}

FewSamples::FewSamples(const std::vector<const IdentifyPair*>& pairs) {
  std::int64_t values = 0;  // of a sample
  for (const IdentifyPair* pair : pairs) values += pair->output.element_count() / std::max<std::int64_t>(1, samples_of(*pair));
  const std::int64_t few = std::max(fewest_samples, many_values / std::max<std::int64_t>(1, values));
  for (const IdentifyPair* pair : pairs) {
    for (std::int64_t sample = 0; sample < std::min(samples_of(*pair), few); ++sample) add(*pair, sample);
  }
}

std::vector<const IdentifyPair*> FewSamples::pairs() const {
  std::vector<const IdentifyPair*> list;
  for (const IdentifyPair& one : samples_) list.push_back(&one);
  return list;
}

bool FewSamples::add(const IdentifyPair& pair, std::int64_t sample) {
  if (!known_.emplace(&pair, sample).second) return false;
  samples_.push_back(sample_of(pair, sample));
  return true;
}

}  // namespace lastbit
