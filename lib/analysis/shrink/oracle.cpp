// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/shrink/oracle.hpp"

#include <algorithm>

#include "lastbit/emulator.hpp"

namespace lastbit {
namespace {

std::span<const std::byte> bits_at(const Tensor& tensor, std::int64_t index) {
  const std::size_t size = size_of(tensor.type());
  return tensor.bytes().subspan(static_cast<std::size_t>(index) * size, size);
}

bool same_bits(std::span<const std::byte> a, std::span<const std::byte> b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

Tensor first_output(const LayerCase& layer, const Backend& backend) {
  Trace trace = lastbit::run(layer.layer, backend, layer.inputs);
  return std::move(*trace.tensors[static_cast<std::size_t>(layer.output_tensor())]);
}

}  // namespace

bool TwoOutputs::differ_at(std::int64_t index) const { return !same_bits(bits_at(a, index), bits_at(b, index)); }

ShrinkCause cause_of(const LayerCase& layer, const SpecSheet& a, const SpecSheet& b) {
  const LayerAttribution found = explain(layer.layer, layer.inputs, a, b);
  const auto value =
      std::find_if(found.differing.begin(), found.differing.end(), [&](const auto& each) { return each.index == layer.index; });
  if (value == found.differing.end() || !value->cause) return {};
  ShrinkCause cause{true, {}};
  for (const std::size_t change : found.causes[*value->cause].changes) cause.changes.push_back(found.changes[change]);
  return cause;
}

Oracle::Oracle(const SpecSheet& a, const SpecSheet& b)
    : both_([&a, &b](const LayerCase& layer) {
        return TwoOutputs{first_output(layer, a.backend), first_output(layer, b.backend)};
      }),
      cause_of_([&a, &b](const LayerCase& layer) { return cause_of(layer, a, b); }) {}

std::optional<TwoOutputs> Oracle::run(const LayerCase& layer) {
  ++trials_;
  try {
    validate(layer.layer, "shrink");
    auto outputs = both_(layer);
    if (outputs && (outputs->a.type() != outputs->b.type() || outputs->a.shape() != outputs->b.shape())) return std::nullopt;
    return outputs;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool Oracle::holds(const LayerCase& layer) {
  const auto outputs = run(layer);
  return outputs && outputs->differ_at(layer.index) && cause_of_(layer) == cause_;
}

bool Oracle::holds_with(const LayerCase& layer, const TwoOutputs& before, std::int64_t index) {
  const auto outputs = run(layer);
  return outputs && same_bits(bits_at(outputs->a, layer.index), bits_at(before.a, index)) &&
         same_bits(bits_at(outputs->b, layer.index), bits_at(before.b, index)) && cause_of_(layer) == cause_;
}

}  // namespace lastbit
