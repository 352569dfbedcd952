// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/samples.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "analysis/identify/conv_data.hpp"
#include "analysis/identify/telling_order.hpp"
#include "analysis/try_run.hpp"
#include "lastbit/emulator.hpp"

namespace lastbit {
namespace {

/// To begin with: few samples tell most rules apart, and many where they are small.
constexpr std::int64_t fewest_samples = 2, many_values = 10'000;
/// Of a large layer; of those that turned out to differ.
constexpr std::int64_t fewest_outputs = 64;
constexpr std::size_t most_places = 64;

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
    const std::size_t of_sample = values / static_cast<std::size_t>(samples);
    const auto sample = static_cast<std::int64_t>(i / of_sample);
    if (result.differing++ == 0) result.first = sample;
    if (sample == result.first && result.places.size() < most_places) result.places.push_back(static_cast<std::int64_t>(i % of_sample));
  }
}

std::int64_t values_of_sample(const IdentifyPair& pair) {
  return pair.output.element_count() / std::max<std::int64_t>(1, samples_of(pair));
}

std::vector<std::int64_t> every_output(const IdentifyPair& pair) {
  std::vector<std::int64_t> outputs(static_cast<std::size_t>(pair.output.element_count()));
  std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
  return outputs;
}

/// At most so many, in order.
std::vector<std::int64_t> telling_outputs(const std::vector<std::int64_t>& values, std::size_t most) {
  const std::span<const std::int64_t> all(values);
  const std::vector<Value> order = telling_order({&all, 1});
  std::vector<std::int64_t> outputs;
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i) outputs.push_back(order[i].index);
  std::ranges::sort(outputs);
  return outputs;
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

FewSamples::FewSamples(const std::vector<const IdentifyPair*>& pairs, FewBy by) {
  std::int64_t values = 0, samples = 1;  // values of one sample
  for (const IdentifyPair* pair : pairs) values += values_of_sample(*pair), samples = std::max(samples, samples_of(*pair));
  const std::int64_t few = std::min(samples, std::max(fewest_samples, many_values / std::max<std::int64_t>(1, values)));
  const bool all_are_few = values * few <= many_values;
  const std::int64_t share = all_are_few ? values : std::max(fewest_outputs, many_values / (few * std::ssize(pairs)));
  if (by == FewBy::some_layers) add_some_layers(pairs, few);
  else add_some_outputs(pairs, few, share);
}

void FewSamples::add_some_outputs(const std::vector<const IdentifyPair*>& pairs, std::int64_t samples, std::int64_t most) {
  for (const IdentifyPair* pair : pairs) {
    for (std::int64_t number = 0; number < std::min(samples_of(*pair), samples); ++number) {
      FewValues& one = sample(*pair, number);
      one.outputs = telling_outputs(comparables_of(one.pair.output), static_cast<std::size_t>(most));
    }
  }
}

void FewSamples::add_some_layers(std::vector<const IdentifyPair*> pairs, std::int64_t samples) {
  std::ranges::stable_sort(pairs, {}, [](const IdentifyPair* pair) { return values_of_sample(*pair); });
  std::int64_t values = 0;
  for (const IdentifyPair* pair : pairs) {
    for (std::int64_t number = 0; number < std::min(samples_of(*pair), samples); ++number) {
      if (values > many_values) return;
      FewValues& one = sample(*pair, number);
      one.outputs = every_output(one.pair);
      values += std::ssize(one.outputs);
    }
  }
}

FewValues& FewSamples::sample(const IdentifyPair& pair, std::int64_t number) {
  const auto [at, fresh] = known_.try_emplace({&pair, number});
  if (fresh) at->second = &few_.emplace_back(FewValues{sample_of(pair, number), {}});
  return *at->second;
}

bool FewSamples::add(const IdentifyPair& pair, const Judgement& failed) {
  FewValues& one = sample(pair, failed.first);
  const std::size_t before = one.outputs.size();
  if (failed.places.empty() || !is_conv_layer(pair.layer.operations[0].kind)) one.outputs = every_output(one.pair);
  one.outputs.insert(one.outputs.end(), failed.places.begin(), failed.places.end());
  std::ranges::sort(one.outputs);
  one.outputs.erase(std::unique(one.outputs.begin(), one.outputs.end()), one.outputs.end());
  return one.outputs.size() > before;
}

}  // namespace lastbit
