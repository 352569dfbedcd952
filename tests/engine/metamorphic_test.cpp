// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What must be the same of a layer that is written in another way: random layers of the kinds on every device, with sizes, strides and paddings
// that are unlike on every axis.
//
//   images turned      rows for columns of data, weights and attributes: the outputs are turned
//   channels reversed  outputs with their weights, biases and scales, or inputs with their weights: the outputs are reversed, or the same
//   samples            two at once, in either order: each gives what it gives alone
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "differential/filled_layer.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/op/arithmetic_by_type.hpp"
#include "lastbit/registry.hpp"
#include "model/operation_signature.hpp"
#include "support/catch.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using enum OperationKind;
using Place = std::vector<std::int64_t>;

/// The value at each place of `shape` is the tensor's at from(place).
Tensor gathered(const Tensor& tensor, const Shape& shape, const std::function<Place(const Place&)>& from) {
  Tensor result(tensor.type(), shape);
  const std::size_t size = size_of(tensor.type());
  Place place(shape.rank(), 0);
  for (std::int64_t i = 0; i < shape.element_count(); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = shape.rank(); axis-- > 0; rest /= shape[axis]) place[axis] = rest % shape[axis];
    const Place source = from(place);
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < source.size(); ++axis) at = at * tensor.shape()[axis] + source[axis];
    std::memcpy(result.bytes().data() + static_cast<std::size_t>(i) * size, tensor.bytes().data() + static_cast<std::size_t>(at) * size,
                size);
  }
  return result;
}

Shape turned(const Shape& shape) { return shape.rank() == 4 ? Shape({shape[0], shape[2], shape[1], shape[3]}) : shape; }
Tensor turned(const Tensor& tensor) {
  if (tensor.shape().rank() != 4) return tensor;
  return gathered(tensor, turned(tensor.shape()), [](const Place& p) { return Place{p[0], p[2], p[1], p[3]}; });
}
Extent2d turned(const Extent2d& extent) { return {extent.width, extent.height}; }
Padding2d turned(const Padding2d& padding) { return {padding.mode, padding.left, padding.right, padding.top, padding.bottom}; }

Model turned(Model model) {
  for (ModelTensor& tensor : model.tensors) {
    tensor.shape = turned(tensor.shape);
    if (tensor.constant) tensor.constant = turned(*tensor.constant);
  }
  Attributes& attributes = model.operations[0].attributes;
  if (auto* conv = std::get_if<Conv2dAttributes>(&attributes))
    conv->stride = turned(conv->stride), conv->dilation = turned(conv->dilation), conv->padding = turned(conv->padding);
  if (auto* pool = std::get_if<Pool2dAttributes>(&attributes))
    pool->filter = turned(pool->filter), pool->stride = turned(pool->stride), pool->padding = turned(pool->padding);
  return model;
}

Tensor reversed(const Tensor& tensor, std::size_t axis) {
  return gathered(tensor, tensor.shape(), [&](Place place) {
    place[axis] = tensor.shape()[axis] - 1 - place[axis];
    return place;
  });
}

void reverse(ModelTensor& tensor, std::size_t axis) {
  if (tensor.constant) tensor.constant = reversed(*tensor.constant, axis);
  if (!tensor.quantization.per_channel() || tensor.quantization.axis != static_cast<std::int64_t>(axis)) return;
  std::ranges::reverse(tensor.quantization.scales);
  if (tensor.quantization.zero_points.size() > 1) std::ranges::reverse(tensor.quantization.zero_points);
}

/// Bounds of one channel, or registers, are not reversed here.
bool states_channels(const Operation& operation) {
  const auto states = [](const OutputBounds& bounds) { return states_registers(bounds) || bounds.accumulator_clip.size() > 1; };
  if (const auto* conv = std::get_if<Conv2dAttributes>(&operation.attributes)) return states(conv->bounds);
  if (const auto* dense = std::get_if<FullyConnectedAttributes>(&operation.attributes))
    return states(dense->bounds) || !dense->active_rows.empty() || dense->bias_column;
  return false;
}

std::int32_t input_of(const Model& model, std::size_t position) {
  const auto& inputs = model.operations[0].inputs;
  return position < inputs.size() ? inputs[position] : absent_tensor;
}

/// Sums in floats, or that a rule cuts on the way, depend on the order of their terms; so does a sum that leaves its accumulator.
bool depends_on_order(const Model& model, const Backend& backend, const std::vector<Events>& events) {
  if (backend.float16.method != Float16Method::absent) return true;
  for (const ModelTensor& tensor : model.tensors)
    if (is_real(tensor.type)) return true;
  for (const ConvByType* by_type : {&backend.conv, &backend.depthwise_conv, &backend.transposed_conv, &backend.fully_connected})
    for (const auto& member : conv_members)
      if (has_partial_sums((by_type->*member.member).sum.accumulator)) return true;
  return std::ranges::any_of(events, [](const Events& each) { return each.accumulator_overflows > 0; });
}

/// The sum is scaled by the width of its window, and rounded, before it is by the height.
bool averages_by_axis(const Backend& backend, OperationKind kind) {
  const bool is_average = kind == average_pool2d || kind == global_average_pool;
  return is_average &&
         (kind == average_pool2d ? backend.average_pool : backend.global_average_pool).scales == AverageScales::of_width_then_height;
}

struct Ran {
  Tensor output;
  std::vector<Events> events;
};
Ran run_on(const Model& model, const Backend& backend, const std::vector<Tensor>& inputs) {
  Trace trace = run(model, backend, inputs, {.count_events = true});
  return {std::move(*trace.tensors[static_cast<std::size_t>(model.outputs[0])]), std::move(trace.events)};
}

bool same(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

std::string text_of(const SpecSheet& sheet, OperationKind kind, std::uint64_t seed) {
  return sheet.name + ", " + std::string(name_of(kind)) + ", seed " + std::to_string(seed);
}

/// body(sheet, layer) of random layers of a kind on every device.
void each_layer(OperationKind kind, std::uint64_t seeds, const std::function<void(const SpecSheet&, const FilledLayer&)>& body) {
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain == Domain::real) continue;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      Choices choose(977 * seed + static_cast<std::uint64_t>(kind));
      const auto layer = filled_layer(kind, sheet.backend, choose);
      if (!layer) continue;
      INFO(text_of(sheet, kind, seed));
      body(sheet, *layer);
    }
  }
}

}  // namespace

TEST_CASE("layers of images: rows for columns give rows for columns") {
  for (const OperationKind kind : {conv2d, depthwise_conv2d, transposed_conv2d, max_pool2d, average_pool2d, global_average_pool}) {
    int judged = 0;
    std::set<std::string> devices;
    each_layer(kind, 12, [&](const SpecSheet& sheet, const FilledLayer& layer) {
      const Ran upright = run_on(layer.model, sheet.backend, layer.inputs);
      if (depends_on_order(layer.model, sheet.backend, upright.events) || averages_by_axis(sheet.backend, kind)) return;
      const Model model = turned(layer.model);
      std::vector<Tensor> inputs;
      for (const Tensor& input : layer.inputs) inputs.push_back(turned(input));
      CHECK(same(run_on(model, sheet.backend, inputs).output, turned(upright.output)));
      ++judged;
      devices.insert(sheet.name);
    });
    INFO(name_of(kind));
    CHECK(judged > 50);
    CHECK(devices.size() > 5);
  }
}

TEST_CASE("sums of products: output channels in reverse give the outputs in reverse, input channels in reverse give the same") {
  for (const OperationKind kind : {conv2d, depthwise_conv2d, fully_connected}) {
    int outputs = 0, inputs = 0;
    each_layer(kind, 12, [&](const SpecSheet& sheet, const FilledLayer& layer) {
      if (states_channels(layer.model.operations[0])) return;
      const Ran plain = run_on(layer.model, sheet.backend, layer.inputs);
      const std::int32_t data = input_of(layer.model, 0), weights = input_of(layer.model, 1), bias = input_of(layer.model, bias_input);
      if (!layer.model.tensor(weights).constant || input_of(layer.model, multiplier_input) != absent_tensor) return;
      if (bias != absent_tensor && (!layer.model.tensor(bias).constant || layer.model.tensor(bias).shape.rank() != 1)) return;
      const bool depthwise = kind == depthwise_conv2d;
      if (kind == conv2d && layer.model.tensor(data).shape.back() != layer.model.tensor(weights).shape.back()) return;  // groups
      Model model = layer.model;
      ModelTensor& kernel = model.tensors[static_cast<std::size_t>(weights)];
      reverse(kernel, depthwise ? kernel.shape.rank() - 1 : 0);
      if (bias != absent_tensor && model.tensor(bias).shape.element_count() > 1) reverse(model.tensors[static_cast<std::size_t>(bias)], 0);
      const std::size_t last = layer.model.tensor(data).shape.rank() - 1;
      const std::vector<Tensor> data_reversed{reversed(layer.inputs[0], last)};
      const Tensor expected = reversed(plain.output, plain.output.shape().rank() - 1);
      CHECK(same(run_on(model, sheet.backend, depthwise ? data_reversed : layer.inputs).output, expected));
      ++outputs;
      if (depthwise || depends_on_order(layer.model, sheet.backend, plain.events)) return;
      if (layer.model.tensor(data).shape.back() != layer.model.tensor(weights).shape.back()) return;  // a dense layer of flattened data
      Model other = layer.model;
      ModelTensor& others = other.tensors[static_cast<std::size_t>(weights)];
      others.constant = reversed(*others.constant, others.shape.rank() - 1);
      CHECK(same(run_on(other, sheet.backend, data_reversed).output, plain.output));
      ++inputs;
    });
    INFO(name_of(kind));
    CHECK(outputs > 50);
    CHECK((inputs > 50 || kind == depthwise_conv2d));
  }
}

TEST_CASE("two samples at once, in either order: each gives what it gives alone") {
  std::map<OperationKind, int> judged;
  for (const OperationSignature& signature : operation_signatures()) {
    each_layer(signature.kind, 2, [&](const SpecSheet& sheet, const FilledLayer& layer) {
      if (layer.inputs.empty() || !layer.model.states.empty()) return;
      Choices choose(5);
      std::vector<std::vector<Tensor>> samples{layer.inputs, {}};
      for (const Tensor& input : layer.inputs) samples[1].push_back(random_values(input.type(), input.shape(), choose));
      for (const bool exchanged : {false, true}) {
        std::vector<Tensor> both;
        for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
          std::vector<std::int64_t> sizes{2};
          sizes.insert(sizes.end(), layer.inputs[i].shape().sizes().begin(), layer.inputs[i].shape().sizes().end());
          Tensor pair(layer.inputs[i].type(), Shape(sizes));
          for (std::size_t s = 0; s < 2; ++s)
            std::ranges::copy(samples[exchanged ? 1 - s : s][i].bytes(),
                              pair.bytes().begin() + static_cast<std::ptrdiff_t>(s * layer.inputs[i].bytes().size()));
          both.push_back(std::move(pair));
        }
        const Tensor found = run_on(layer.model, sheet.backend, both).output;
        for (std::size_t s = 0; s < 2; ++s) {
          const Tensor alone = run_on(layer.model, sheet.backend, samples[exchanged ? 1 - s : s]).output;
          REQUIRE(found.bytes().size() == 2 * alone.bytes().size());
          CHECK(std::ranges::equal(found.bytes().subspan(s * alone.bytes().size(), alone.bytes().size()), alone.bytes()));
        }
      }
      ++judged[signature.kind];
    });
  }
  CHECK(judged.size() > 25);
}
