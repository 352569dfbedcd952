// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a converter gets wrong, made here by hand in random layers of several kinds and devices: explain must give it its name.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/shape.hpp"
#include "lastbit/trace.hpp"
#include "support/catch.hpp"
#include "support/small_layers.hpp"
#include "support/two_devices.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using enum OperationKind;

/// One operation; what it reads first, its constants and its output by their places among its tensors.
struct Layer {
  Model model;
  std::vector<Tensor> inputs;

  ModelTensor& data(std::size_t i = 0) { return model.tensors[static_cast<std::size_t>(model.operations[0].inputs[i])]; }
  ModelTensor& output() { return model.tensors[static_cast<std::size_t>(model.operations[0].outputs[0])]; }
  template <class Attributes>
  Attributes& attributes() {
    return std::get<Attributes>(model.operations[0].attributes);
  }
  std::span<std::int8_t> weights() { return data(1).constant.edit().values<std::int8_t>(); }
  std::span<std::int32_t> bias() { return data(2).constant.edit().values<std::int32_t>(); }
};

class LayerSource {
 public:
  LayerSource(unsigned seed, Coding coding) : random_(seed), centred_(coding != Coding::affine) {}

  Layer make(OperationKind kind) {
    builder_ = ModelBuilder("layer");
    switch (kind) {
      case conv2d: return convolution(random_() % 3 == 0 ? 2 : 1);
      case depthwise_conv2d: return depthwise();
      case fully_connected: return connected();
      case max_pool2d:
      case average_pool2d: return pool(kind);
      default: return joined(kind);
    }
  }

 private:
  Quantization data_scale(double low, double high) {
    Quantization q = of_data(random_, low, high);
    if (centred_) q.zero_points = {0};
    else if (q.zero_points[0] == 0) q.zero_points = {-7};
    return q;
  }
  Tensor codes(const Shape& shape) {
    Tensor tensor(ElementType::int8, shape);
    for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(static_cast<int>(random_() % 255) - 127);
    return tensor;
  }
  std::int64_t size(std::int64_t least, std::int64_t most) { return least + static_cast<std::int64_t>(random_()) % (most - least + 1); }
  Quantization weight_scales(std::int64_t channels, std::int64_t axis) {
    Quantization q{{}, std::vector<std::int64_t>(static_cast<std::size_t>(channels), 0), axis};
    for (std::int64_t c = 0; c < channels; ++c) q.scales.push_back(static_cast<float>(scale_between(random_, 0.002, 0.02)));
    return q;
  }
  std::int32_t bias(std::int64_t channels) {
    std::vector<std::int32_t> values;
    for (std::int64_t c = 0; c < channels; ++c) values.push_back(static_cast<std::int32_t>(random_() % 6001) - 3000);
    return builder_.constant<std::int32_t>("b", Shape{channels}, values);
  }
  Padding2d padding(std::int64_t filter) {
    Padding2d sizes{PaddingMode::explicit_sizes, 0, 0, 0, 0};
    for (std::int64_t* const side : {&sizes.top, &sizes.bottom, &sizes.left, &sizes.right}) *side = size(0, filter - 1);
    return sizes;
  }
  Layer finished(OperationKind kind, const Attributes& attributes, std::vector<std::int32_t> inputs, Quantization of_output) {
    Layer layer;
    Operation operation{kind, "layer", std::move(inputs), {}, attributes};
    const Shape shape = output_shapes(builder_.model, operation)[0];
    operation.outputs = {builder_.tensor({"y", ElementType::int8, shape, std::move(of_output)})};
    for (const std::int32_t input : builder_.model.inputs) layer.inputs.push_back(codes(builder_.model.tensor(input).shape));
    builder_.model.operations = {operation};
    layer.model = builder_.finished(operation.outputs, "test");
    return layer;
  }
  Activation activation() { return random_() % 2 == 0 ? Activation::relu : Activation::none; }

  Layer convolution(std::int64_t groups) {
    const std::int64_t in = groups == 1 ? 3 : groups * size(2, 4), out = groups * size(2, 4), filter = 3;
    const auto x = builder_.input({"x", ElementType::int8, {1, size(6, 9), size(6, 9), in}, data_scale(0.02, 0.05)});
    const auto w = builder_.constant("w", codes({out, filter, filter, in / groups}), weight_scales(out, 0));
    Conv2dAttributes attributes{.stride = {size(1, 2), size(1, 2)}, .padding = padding(filter)};
    attributes.bounds.activation = activation();
    return finished(conv2d, attributes, {x, w, bias(out)}, data_scale(0.1, 0.2));
  }
  Layer depthwise() {
    const std::int64_t in = size(2, 6), out = in * size(1, 2), filter = 3;
    const auto x = builder_.input({"x", ElementType::int8, {1, size(6, 9), size(6, 9), in}, data_scale(0.02, 0.05)});
    const auto w = builder_.constant("w", codes({1, filter, filter, out}), weight_scales(out, 3));
    Conv2dAttributes attributes{.stride = {size(1, 2), size(1, 2)}, .padding = padding(filter)};
    attributes.bounds.activation = activation();
    return finished(depthwise_conv2d, attributes, {x, w, bias(out)}, data_scale(0.05, 0.1));
  }
  Layer connected() {
    const std::int64_t in = size(8, 24), out = size(4, 12);
    const auto x = builder_.input({"x", ElementType::int8, {size(8, 12), in}, data_scale(0.02, 0.05)});
    const auto w = builder_.constant("w", codes({out, in}), weight_scales(out, 0));
    FullyConnectedAttributes attributes;
    attributes.bounds.activation = activation();
    return finished(fully_connected, attributes, {x, w, bias(out)}, data_scale(0.05, 0.1));
  }
  Layer pool(OperationKind kind) {
    const Quantization same = data_scale(0.02, 0.05);
    const auto x = builder_.input({"x", ElementType::int8, {1, size(6, 9), size(6, 9), 3}, same});
    return finished(kind, Pool2dAttributes{.filter = {3, 3}, .stride = {2, 2}, .padding = padding(3), .bounds = {}}, {x}, same);
  }
  Layer joined(OperationKind kind) {
    const Shape shape{1, size(4, 6), size(4, 6), size(2, 4)};
    const auto a = builder_.input({"a", ElementType::int8, shape, data_scale(0.02, 0.04)});
    const auto b = builder_.input({"b", ElementType::int8, shape, data_scale(0.05, 0.09)});
    const Attributes attributes = kind == concat ? Attributes(ConcatAttributes{3}) : Attributes(ElementwiseAttributes{});
    return finished(kind, attributes, {a, b}, data_scale(0.06, 0.12));
  }

  std::mt19937 random_;
  bool centred_;
  ModelBuilder builder_;
};

/// A mistake made by hand: false where this layer has no room for it.
struct Planted {
  std::string name;
  std::vector<OperationKind> kinds;
  std::function<bool(Layer&)> make;
};

const std::vector<OperationKind> sums{conv2d, depthwise_conv2d, fully_connected}, windows{conv2d, depthwise_conv2d},
    pairs{OperationKind::add, concat};

std::int64_t code(double value) { return static_cast<std::int64_t>(std::round(value)); }

void fill_up(Layer& layer,
             const std::function<void(std::vector<std::vector<std::int8_t>>&)>& change) {  // weights, one list for each output channel
  const Shape& shape = layer.data(1).shape;
  const bool last = layer.model.operations[0].kind == depthwise_conv2d;
  const auto channels = static_cast<std::size_t>(last ? shape.back() : shape[0]),
             each = static_cast<std::size_t>(shape.element_count()) / channels;
  std::vector<std::vector<std::int8_t>> lists(channels, std::vector<std::int8_t>(each));
  const auto place = [&](std::size_t c, std::size_t i) { return last ? i * channels + c : c * each + i; };
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < each; ++i) lists[c][i] = layer.weights()[place(c, i)];
  change(lists);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < each; ++i) layer.weights()[place(c, i)] = lists[c][i];
}

/// Of a convolution's kernel, weight [o][row][column][c].
bool turn(Layer& layer, const std::function<std::array<std::size_t, 4>(std::array<std::size_t, 4>)>& from) {
  const Shape shape = layer.data(1).shape;
  const std::vector<std::int8_t> old(layer.weights().begin(), layer.weights().end());
  const auto size = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
  std::size_t at = 0;
  for (std::size_t o = 0; o < size(0); ++o)
    for (std::size_t y = 0; y < size(1); ++y)
      for (std::size_t x = 0; x < size(2); ++x)
        for (std::size_t c = 0; c < size(3); ++c) {
          const auto [fo, fy, fx, fc] = from({o, y, x, c});
          layer.weights()[at++] = old[((fo * size(1) + fy) * size(2) + fx) * size(3) + fc];
        }
  return true;
}

Padding2d& padding_in(Layer& layer) {
  const OperationKind kind = layer.model.operations[0].kind;
  if (kind == max_pool2d || kind == average_pool2d) return layer.attributes<Pool2dAttributes>().padding;
  return layer.attributes<Conv2dAttributes>().padding;
}

bool keeps_shape(Layer& layer) { return output_shapes(layer.model, layer.model.operations[0])[0] == layer.output().shape; }

OutputBounds& bounds_in(Layer& layer) {
  const OperationKind kind = layer.model.operations[0].kind;
  return kind == fully_connected ? layer.attributes<FullyConnectedAttributes>().bounds : layer.attributes<Conv2dAttributes>().bounds;
}

bool scale_bias(Layer& layer, const std::function<double(std::size_t)>& by) {
  for (std::size_t c = 0; c < layer.bias().size(); ++c) layer.bias()[c] = static_cast<std::int32_t>(code(layer.bias()[c] * by(c)));
  return true;
}

bool ignore_zero(ModelTensor& tensor) {
  if (tensor.quantization.zero_points[0] == 0) return false;
  std::ranges::fill(tensor.quantization.zero_points, 0);
  return true;
}

std::vector<Planted> planted_in_sums() {
  return {
      {"bias_missing", sums, [](Layer& l) { return std::ranges::fill(l.bias(), 0), true; }},
      {"bias_in_another_scale", sums,
       [](Layer& l) {
         return scale_bias(l, [&](std::size_t c) {
           return l.data(0).quantization.scale() * l.data(1).quantization.scale(c) / l.output().quantization.scale();
         });
       }},
      {"bias_in_another_scale", sums, [](Layer& l) { return scale_bias(l, [&](std::size_t) { return l.data(0).quantization.scale(); }); }},
      {"bias_in_another_scale", sums,
       [](Layer& l) {
         return scale_bias(l, [&](std::size_t c) { return l.data(1).quantization.scale(c) / l.data(1).quantization.scale(0); });
       }},
      {"bias_in_another_scale", sums, [](Layer& l) { return scale_bias(l, [](std::size_t) { return 2.0; }); }},
      {"bias_in_another_scale", sums, [](Layer& l) { return scale_bias(l, [](std::size_t) { return 1.0 / 16; }); }},
      {"bias_on_another_channel", sums, [](Layer& l) { return std::rotate(l.bias().begin(), l.bias().begin() + 1, l.bias().end()), true; }},
      {"bias_on_another_channel", sums, [](Layer& l) { return std::ranges::reverse(l.bias()), true; }},
      {"bias_on_another_channel", sums, [](Layer& l) { return std::ranges::fill(l.bias(), l.bias()[0]), true; }},
      {"kernel_turned",
       {conv2d},
       [](Layer& l) { return turn(l, [](auto at) {
                        return std::array<std::size_t, 4>{at[0], 2 - at[1], 2 - at[2], at[3]};
                      }); }},
      {"kernel_turned",
       {conv2d},
       [](Layer& l) { return turn(l, [](auto at) {
                        return std::array<std::size_t, 4>{at[0], at[2], at[1], at[3]};
                      }); }},
      {"kernel_channels",
       {conv2d},
       [](Layer& l) {
         return turn(l, [n = static_cast<std::size_t>(l.data(1).shape[3])](auto at) {
           return std::array<std::size_t, 4>{at[0], at[1], at[2], n - 1 - at[3]};
         });
       }},
      {"groups_in_another_order",
       {conv2d},
       [](Layer& l) {
         if (l.data(1).shape[3] == l.data(0).shape[3]) return false;
         fill_up(l, [](auto& lists) { std::rotate(lists.begin(), lists.begin() + std::ssize(lists) / 2, lists.end()); });
         return true;
       }},
      {"scales_of_other_channels", sums,
       [](Layer& l) { return std::ranges::fill(l.data(1).quantization.scales, l.data(1).quantization.scales[0]), true; }},
      {"scales_of_other_channels", sums, [](Layer& l) { return std::ranges::reverse(l.data(1).quantization.scales), true; }},
      {"weights_of_fewer_bits", sums,
       [](Layer& l) {
         for (std::int8_t& w : l.weights()) w = static_cast<std::int8_t>(std::clamp<std::int64_t>(code(w / 16.0) * 16, -128, 127));
         return true;
       }},
      {"weights_of_fewer_bits", sums,
       [](Layer& l) {
         for (std::int8_t& w : l.weights()) w = static_cast<std::int8_t>(code(w * 7 / 127.0));
         for (double& scale : l.data(1).quantization.scales) scale *= 127.0 / 7;
         return scale_bias(l, [](std::size_t) { return 7 / 127.0; });
       }},
      {"weights_clipped", sums,
       [](Layer& l) {
         for (std::int8_t& w : l.weights()) w = std::clamp<std::int8_t>(w, -64, 63);
         return true;
       }},
      {"weights_clipped", sums,
       [](Layer& l) {
         for (std::int8_t& w : l.weights()) w = std::clamp<std::int8_t>(w, -63, 63);
         return true;
       }},
      {"activation", sums, [](Layer& l) { return std::exchange(bounds_in(l).activation, Activation::none) != Activation::none; }},
      {"activation", sums, [](Layer& l) { return std::exchange(bounds_in(l).activation, Activation::relu6) != Activation::relu6; }},
  };
}

std::vector<Planted> planted_in_data() {
  std::vector<OperationKind> all = sums, padded = windows;
  all.insert(all.end(), pairs.begin(), pairs.end());
  padded.insert(padded.end(), {max_pool2d, average_pool2d});
  return {
      {"padding_elsewhere", padded,
       [](Layer& l) {
         return std::swap(padding_in(l).top, padding_in(l).bottom), std::swap(padding_in(l).left, padding_in(l).right), true;
       }},
      {"padding_elsewhere", padded,
       [](Layer& l) {
         Padding2d& p = padding_in(l);
         p = {PaddingMode::explicit_sizes, 0, p.top + p.bottom, 0, p.left + p.right};
         return true;
       }},
      {"padding_elsewhere", padded, [](Layer& l) { return ++padding_in(l).top, keeps_shape(l); }},
      {"zero_points_ignored", all, [](Layer& l) { return ignore_zero(l.data()); }},
      {"zero_points_ignored", all, [](Layer& l) { return ignore_zero(l.output()); }},
      {"zero_points_ignored", all, [](Layer& l) { return ignore_zero(l.data()) && ignore_zero(l.output()); }},
      {"zero_points_ignored", pairs, [](Layer& l) { return ignore_zero(l.data(0)) && ignore_zero(l.data(1)); }},
      {"operands_exchanged",
       {concat},
       [](Layer& l) { return std::swap(l.model.operations[0].inputs[0], l.model.operations[0].inputs[1]), true; }},
      {"operands_exchanged", pairs, [](Layer& l) { return std::swap(l.inputs[0], l.inputs[1]), true; }},
      {"scale_of_another", pairs, [](Layer& l) { return l.data(1).quantization = l.data(0).quantization, true; }},
      {"scale_of_another", pairs, [](Layer& l) { return l.data(1).quantization = l.output().quantization = l.data(0).quantization, true; }},
      {"operand_missing",
       {OperationKind::add},
       [](Layer& l) {
         std::ranges::fill(l.inputs[1].values<std::int8_t>(), static_cast<std::int8_t>(l.data(1).quantization.zero_point()));
         return true;
       }},
      {"memory_order", windows,
       [](Layer& l) {  // [channel][place] read as [place][channel]
         const Shape shape = l.data().shape;
         const std::int64_t places = shape[1] * shape[2];
         const auto old = l.inputs[0].values<std::int8_t>();
         const std::vector<std::int8_t> values(old.begin(), old.end());
         for (std::int64_t c = 0; c < shape[3]; ++c)
           for (std::int64_t p = 0; p < places; ++p)
             old[static_cast<std::size_t>(c * places + p)] = values[static_cast<std::size_t>(p * shape[3] + c)];
         return true;
       }},
      {"colours_exchanged",
       {conv2d},
       [](Layer& l) {
         if (l.data().shape[3] != 3) return false;
         const auto values = l.inputs[0].values<std::int8_t>();
         for (std::size_t i = 0; i < values.size(); i += 3) std::swap(values[i], values[i + 2]);
         return true;
       }},
      {"mean_and_deviation_forgotten", windows,
       [](Layer& l) {  // pixel = code + 128, real = scale * (pixel - mean)
         const Quantization& q = l.data().quantization;
         for (std::int8_t& x : l.inputs[0].values<std::int8_t>())
           x = static_cast<std::int8_t>(std::clamp<std::int64_t>(code((x + 128) / 255.0 / q.scale()) + q.zero_point(), -128, 127));
         return true;
       }},
      {"input_quantised_otherwise", sums,
       [](Layer& l) {
         const Quantization& q = l.data().quantization;
         for (std::int8_t& x : l.inputs[0].values<std::int8_t>())
           x = static_cast<std::int8_t>(std::clamp<std::int64_t>(code(x / q.scale()) + q.zero_point(), -128, 127));
         return true;
       }},
  };
}

/// The dump of a device that does what the model says, on the layer with the mistake.
NamedTrace dump_of(const Layer& right, const Layer& wrong, const SpecSheet& sheet) {
  NamedTrace dump = run_named(right.model, sheet, right.inputs);
  const Trace trace = run(wrong.model, sheet.backend, wrong.inputs);
  for (NamedTensor& tensor : dump.tensors)
    if (tensor.index == right.model.outputs[0]) tensor.values = *trace.tensors[static_cast<std::size_t>(wrong.model.outputs[0])];
  return dump;
}

/// A pool has no windows that lie in the padding alone.
bool is_valid(const Model& model) {
  try {
    validate(model, "test");
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool names_mistake(const DumpVerdict& verdict, const std::string& name) {
  return std::ranges::count(verdict.mistakes, name, &NamedMistake::name) > 0;
}

}  // namespace

TEST_CASE("explain a dump: every mistake in random layers of several devices is named") {
  std::vector<Planted> all = planted_in_sums();
  for (Planted& planted : planted_in_data()) all.push_back(std::move(planted));
  std::map<std::string, int> shown;
  unsigned device = 0;
  for (const char* const backend : {"tflite_double", "xnnpack", "onnxruntime", "bernoulli2", "vipnano_v8"}) {
    const SpecSheet& sheet = find_backend(backend);
    ++device;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const OperationKind kind : all[i].kinds) {
        const auto seed = static_cast<unsigned>(100 * i + static_cast<std::size_t>(kind) + 10000 * device);
        const Layer right = LayerSource(seed, sheet.backend.coding).make(kind);
        if (!check(right.model, sheet.backend).empty()) continue;
        Layer wrong = right;
        INFO(backend << ", " << all[i].name << " (" << i << ") of " << name_of(kind) << ", seed " << seed);
        if (!all[i].make(wrong) || !is_valid(wrong.model)) continue;
        const DumpReport report = explain_dump(right.model, dump_of(right, wrong, sheet), sheet, {});
        REQUIRE(report.layers.size() == 1);
        if (report.layers[0].differing == 0) continue;
        CHECK(names_mistake(report.layers[0], all[i].name));
        // Where rules make it equal as well they go before the mistake.
        const bool by_rules = !report.layers[0].explanations.empty() || !report.layers[0].backends.empty();
        CHECK(to_text(report).find(by_rules ? "  or by a mistake outside of the arithmetic: "
                                            : "  explained by a mistake, not by arithmetic: ") != std::string::npos);
        ++shown[all[i].name];
      }
    }
  }
  for (const Planted& planted : all) {
    INFO(planted.name);
    CHECK(shown[planted.name] > 0);
  }
}

TEST_CASE("explain a dump: nothing is near that leaves most of what differs") {
  // No re-run makes these values, and a narrow accumulator would make many of those that are equal.
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const SpecSheet& sheet = find_backend("tflite_double");
    const Layer layer = LayerSource(seed, Coding::affine).make(conv2d);
    NamedTrace dump = run_named(layer.model, sheet, layer.inputs);
    std::mt19937 random(seed);
    for (NamedTensor& tensor : dump.tensors)
      if (tensor.index == layer.model.outputs[0])
        for (std::int8_t& value : tensor.values.values<std::int8_t>())
          value = random() % 3 == 0 ? static_cast<std::int8_t>(value ^ 5) : value;
    const DumpVerdict verdict = explain_dump(layer.model, dump, sheet, {}).layers.at(0);
    INFO("seed " << seed << ", " << (verdict.nearest ? verdict.nearest->name + " " + verdict.nearest->what : "none"));
    CHECK(verdict.differing > 0);
    CHECK(verdict.mistakes.empty());
    CHECK((!verdict.nearest || 2 * verdict.nearest_differing < verdict.differing));
    CHECK((!verdict.nearest_mistake || 2 * verdict.nearest_mistake_differing < verdict.differing));
  }
}

TEST_CASE("explain a dump: a rule and a mistake are both said, and a mistake in one layer hides no rule of the others") {
  ModelBuilder builder("three");
  std::mt19937 random(5);
  const auto codes = [&](const Shape& shape) {
    Tensor tensor(ElementType::int8, shape);
    for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
    return tensor;
  };
  std::int32_t last = builder.input({"x", ElementType::int8, {1, 8, 8, 4}, {{0.05}, {3}}});
  for (const char* const name : {"first", "second", "third"}) {
    const auto w = builder.constant(std::string(name) + " weights", codes({4, 3, 3, 4}), {{0.01}, {0}});
    const auto b = builder.constant<std::int32_t>(std::string(name) + " bias", Shape{4}, {900, -1200, 400, 2500});
    Conv2dAttributes same;
    same.padding.mode = PaddingMode::same;
    last = builder.operation(conv2d, {last, w, b}, {name, ElementType::int8, {1, 8, 8, 4}, {{0.15}, {-4}}}, same);
  }
  const Model model = builder.finished({last});
  const std::vector<Tensor> inputs{codes({1, 8, 8, 4})};
  const SpecSheet& known = find_backend("tflite_double");
  SpecSheet device = known;
  set_rule(device.backend, "conv.i8.output.chain.2.rounding", "floor");

  // The second layer lacks its bias, on a device that is the known one: no other layer differs.
  Model wrong = model;
  std::ranges::fill(wrong.tensors[static_cast<std::size_t>(wrong.operations[1].inputs[2])].constant.edit().values<std::int32_t>(), 0);
  const DumpReport one = explain_dump(model, run_named(wrong, known, inputs), known, {});
  CHECK(one.layers[0].differing == 0);
  CHECK(names_mistake(one.layers[1], "bias_missing"));
  CHECK(one.layers[2].differing == 0);
  const std::string text = to_text(one);
  CHECK(text.find("explained by a mistake, not by arithmetic: the bias is missing") != std::string::npos);
  CHECK(text.find("2 of 3 layers are equal, 0 are explained, 1 by a mistake outside of the arithmetic, 0 are not.") != std::string::npos);
  CHECK(text.find("try identify") == std::string::npos);
  CHECK(to_json(one).find("\"bias_missing\"") != std::string::npos);

  // Without the tensors in between the three are one part, and the report says which of them it is.
  const DumpReport whole = explain_dump(model, ends_of(model, run_named(wrong, known, inputs)), known, {});
  REQUIRE(whole.layers.size() == 1);
  CHECK(to_text(whole).find("the bias is missing (in 'second')") != std::string::npos);

  // The first layer alone lacks it, and the others were made by a device that rounds otherwise.
  NamedTrace mixed = run_named(model, device, inputs);
  Model first = model;
  std::ranges::fill(first.tensors[static_cast<std::size_t>(first.operations[0].inputs[2])].constant.edit().values<std::int32_t>(), 0);
  const std::int32_t y = model.operations[0].outputs[0];
  NamedTensor& tensor = *std::ranges::find(mixed.tensors, y, &NamedTensor::index);
  tensor.values = *run(first, known.backend, inputs, {.keep_all = true}).tensors[static_cast<std::size_t>(y)];
  for (std::size_t i = 1; i < 3; ++i) {  // what reads it is computed from it
    const std::int32_t out = model.operations[i].outputs[0];
    const Model layer = extract_operation(model, i);
    std::ranges::find(mixed.tensors, out, &NamedTensor::index)->values =
        *run(layer, device.backend,
             std::vector<Tensor>{std::ranges::find(mixed.tensors, model.operations[i].inputs[0], &NamedTensor::index)->values})
             .tensors[static_cast<std::size_t>(layer.outputs[0])];
  }
  const DumpReport both = explain_dump(model, mixed, known, {});
  CHECK(names_mistake(both.layers[0], "bias_missing"));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const auto& found = both.layers[i].explanations;
    CHECK(std::ranges::any_of(found, [](const RuleChange& change) {
      return change.name == "conv.i8.output.chain.2.rounding" && change.what.ends_with("-> floor");
    }));
  }
}

TEST_CASE("explain a dump: an operation that only moves data is judged where the dump moves it otherwise") {
  ModelBuilder builder("padded");
  const auto x = builder.input({"x", ElementType::int8, {1, 4, 4, 2}, {{0.05}, {3}}});
  const PadAttributes zeros{.paddings = {{0, 0}, {1, 0}, {2, 1}, {0, 0}}, .value = {}, .real_value = {}};
  const auto y = builder.operation(OperationKind::pad, {x}, {"y", ElementType::int8, {1, 5, 7, 2}, {{0.05}, {3}}}, zeros);
  const Model model = builder.finished({y});
  Tensor input(ElementType::int8, {1, 4, 4, 2});
  std::int8_t next = 10;
  for (std::int8_t& value : input.values<std::int8_t>()) value = next++;
  const SpecSheet& sheet = find_backend("tflite_double");
  Model wrong = model;
  std::get<PadAttributes>(wrong.operations[0].attributes).value = 0;
  const DumpReport report = explain_dump(model, run_named(wrong, sheet, std::vector<Tensor>{input}), sheet, {});
  REQUIRE(report.layers.size() == 1);
  CHECK(names_mistake(report.layers[0], "padding_of_another_code"));
  CHECK(to_text(report).find("padding holds the code 0, not 3") != std::string::npos);
  CHECK_FALSE(report.one_device);
}
