// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/layer.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/shape.hpp"
#include "model/operation_view.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
using Axes = std::vector<std::int64_t>;

[[noreturn]] void fail(const LayerOperand& operand, const std::string& message, ErrorCode code = ErrorCode::bad_input) {
  throw Error(code, "'" + operand.name + "'", message);
}

bool has_windows(const Attributes& attributes) {
  return std::visit(
      []<class T>(const T&) {
        return requires(T given) { given.stride; };
      },
      attributes);
}

bool has_weights(OperationKind kind) {
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected || kind == fused_conv2d;
}

/// From the user's order of axes to channels last.
Axes image_axes(LayerLayout layout) { return layout == LayerLayout::channels_first ? Axes{0, 2, 3, 1} : Axes{}; }

Axes weight_axes(LayerLayout layout, OperationKind kind) {
  if (layout == LayerLayout::channels_last) return {};
  return kind == depthwise_conv2d || kind == transposed_conv2d ? Axes{1, 2, 3, 0} : Axes{0, 2, 3, 1};
}

/// Where arrays lack the height, it is put in before the last axis of an image (channels first: the last) and of weights.
Tensor with_axis(Tensor tensor, std::size_t axis) {
  Axes sizes(tensor.shape().sizes().begin(), tensor.shape().sizes().end());
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  tensor.reshape(Shape(std::move(sizes)));
  return tensor;
}

/// An operand in the user's order of axes, complete, and what brings it into the model's order.
struct Arrangement {
  Tensor complete;
  Axes permutation;  ///< empty: none
};

/// Operands as the model wants them, and what must be undone on the output.
class Arrays {
 public:
  explicit Arrays(const LayerDescription& layer) : layer_(layer), windows_(has_windows(layer.attributes)) {}

  [[nodiscard]] Arrangement operand(std::size_t position) const {
    const LayerOperand& given = *layer_.operands[position];
    if (!windows_ || position > 1) return {given.values, {}};
    return position == 0 || !has_weights(layer_.kind) ? image(given) : weights(given);
  }
  [[nodiscard]] bool unbatched() const { return windows_ && layer_.operands[0]->values.shape().rank() == spatial() + 1; }
  [[nodiscard]] Axes output_permutation() const {
    return windows_ && layer_.layout == LayerLayout::channels_first ? Axes{0, 3, 1, 2} : Axes{};
  }
  /// Descending, so that each can be removed without moving the next.
  [[nodiscard]] Axes dropped_axes() const {
    Axes axes;
    if (windows_ && layer_.one_dimensional) axes.push_back(height_axis());
    if (unbatched()) axes.push_back(0);
    return axes;
  }

 private:
  [[nodiscard]] std::size_t spatial() const { return layer_.one_dimensional ? 1 : 2; }
  [[nodiscard]] std::int64_t height_axis() const { return layer_.layout == LayerLayout::channels_first ? 2 : 1; }

  [[nodiscard]] Arrangement image(const LayerOperand& given) const {
    Tensor tensor = given.values;
    if (tensor.shape().rank() == spatial() + 1) tensor = with_axis(std::move(tensor), 0);
    if (tensor.shape().rank() != spatial() + 2) {
      fail(given,
           given.values.shape().text() + " is not an image of " + std::to_string(spatial() + 2) +
               " dimensions, or of one less without samples",
           ErrorCode::shape_mismatch);
    }
    if (layer_.one_dimensional) tensor = with_axis(std::move(tensor), static_cast<std::size_t>(height_axis()));
    return {std::move(tensor), image_axes(layer_.layout)};
  }
  [[nodiscard]] Arrangement weights(const LayerOperand& given) const {
    Tensor tensor = given.values;
    if (layer_.one_dimensional) tensor = with_axis(std::move(tensor), static_cast<std::size_t>(height_axis()));
    if (tensor.shape().rank() != 4)
      fail(given, given.values.shape().text() + " is not 4-dimensional (3 for one-dimensional windows)", ErrorCode::shape_mismatch);
    return {std::move(tensor), weight_axes(layer_.layout, layer_.kind)};
  }

  const LayerDescription& layer_;
  bool windows_;
};

ElementType wanted_type(const LayerDescription& layer, std::size_t position) {
  const LayerOperand& operand = *layer.operands[position];
  if (operand.type) return *operand.type;
  const ElementType found = operand.values.type(), data = layer.operands[0]->type.value_or(layer.operands[0]->values.type());
  if (found == ElementType::float64 && !operand.quantization.present() && !is_integer(data)) return ElementType::float32;
  if (!is_real(found) || !is_integer(data)) {
    if (is_real(found) && operand.quantization.present())
      fail(operand, "has a scale, but its values are real: say which integer type they are to have");
    return found;
  }
  if (position == 2 && has_weights(layer.kind)) return ElementType::int32;
  if (!operand.quantization.present()) fail(operand, "holds real values where the layer's data are integers: give its scale");
  return data;
}

Tensor widened_or_narrowed(const LayerOperand& operand, const Tensor& values, ElementType type) {
  Tensor result(type, values.shape());
  const IntegerRange range = range_of(type);
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const std::span<T> out = result.values<T>();
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t value = values.integer_at(static_cast<std::int64_t>(i));
        if (value < range.min || value > range.max) fail(operand, std::to_string(value) + " is outside " + std::string(name_of(type)));
        out[i] = static_cast<T>(value);
      }
    }
  });
  return result;
}

template <class To>
Tensor real_values(const Tensor& values, To convert) {
  using T = decltype(convert(0.0));
  Tensor result(element_type_of<T>, values.shape());
  visit_element_type(values.type(), [&]<class From>() {
    const std::span<const From> in = values.values<From>();
    const std::span<T> out = result.values<T>();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = convert(static_cast<double>(in[i]));
  });
  return result;
}

/// How many consecutive values share a scale, and how many scales there are, for a quantisation along an axis.
struct Channels {
  std::size_t count = 1, inner = 1;
  [[nodiscard]] std::size_t of(std::size_t index) const { return index / inner % count; }
};
Channels channels_of(const Shape& shape, const Quantization& quantization) {
  Channels channels;
  if (!quantization.per_channel()) return channels;
  channels.count = quantization.scales.size();
  for (auto axis = static_cast<std::size_t>(quantization.axis) + 1; axis < shape.rank(); ++axis) {
    channels.inner *= static_cast<std::size_t>(shape[axis]);
  }
  return channels;
}

Tensor quantized(const Tensor& real, ElementType type, const Quantization& quantization, const QuantizeArithmetic& rule) {
  const Channels channels = channels_of(real.shape(), quantization);
  const Tensor floats = real_values(real, [](double value) { return static_cast<float>(value); });
  Tensor result(type, real.shape());
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const std::span<const float> in = floats.values<float>();
      const std::span<T> out = result.values<T>();
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t channel = channels.of(i);
        out[i] = static_cast<T>(lastbit::quantize(rule, in[i], static_cast<float>(quantization.scale(channel)),
                                                  quantization.zero_point(channel), range_of(type)));
      }
    }
  });
  return result;
}

/// The array in the type that the layer reads.
Tensor converted(const LayerOperand& operand, Tensor values, ElementType type, const Quantization& quantization, const Backend& backend) {
  if (values.type() == type) return values;
  if (is_integer(values.type()) && is_integer(type)) return widened_or_narrowed(operand, values, type);
  if (is_real(values.type()) && type == ElementType::float32)
    return real_values(values, [](double value) { return static_cast<float>(value); });
  if (is_real(values.type()) && type == ElementType::float16) {
    return real_values(values, [](double value) { return to_float16(static_cast<float>(value), ieee_float16); });
  }
  if (!is_real(values.type()) || !is_integer(type)) {
    fail(operand, std::string(name_of(values.type())) + " cannot become " + std::string(name_of(type)), ErrorCode::type_mismatch);
  }
  if (!quantization.present()) fail(operand, "real values become integers by a scale, which is missing");
  return quantized(values, type, quantization, quantization_by(backend, "array '" + operand.name + "'"));
}

class Builder {
 public:
  Builder(const LayerDescription& layer, const Backend& backend) : layer_(layer), backend_(backend), arrays_(layer) {}

  [[nodiscard]] Layer build() {
    builder_.model.name = std::string(name_of(layer_.kind));
    Operation& operation = builder_.model.operations.emplace_back();
    operation = {
        .kind = layer_.kind, .name = std::string(name_of(layer_.kind)), .inputs = {}, .outputs = {}, .attributes = layer_.attributes};
    for (std::size_t i = 0; i < layer_.operands.size(); ++i) add_operand(i);
    add_outputs();
    quantize_operands();
    validate(builder_.model, "layer");
    result_.output_permutation = arrays_.output_permutation();
    result_.output_shape = shown_shape();
    result_.model = std::move(builder_.model);
    return std::move(result_);
  }

 private:
  [[nodiscard]] Operation& operation() { return builder_.model.operations.front(); }

  void add_operand(std::size_t position) {
    if (!layer_.operands[position]) return operation().inputs.push_back(absent_tensor);
    const LayerOperand& given = *layer_.operands[position];
    Arrangement arranged = arrays_.operand(position);
    Tensor values = permuted(arranged.complete, arranged.permutation);
    if (!given.constant) result_.users_inputs.push_back({given.values.shape(), arranged.complete.shape(), std::move(arranged.permutation)});
    if (builder_.model.find_tensor(given.name)) fail(given, "two arrays have this name");
    const TensorDescription tensor{given.name, wanted_type(layer_, position), values.shape(), given.quantization};
    operation().inputs.push_back(given.constant ? builder_.tensor(tensor) : builder_.input(tensor));
    values_.push_back(std::move(values));
  }

  [[nodiscard]] ElementType output_type() {
    using enum ElementType;
    if (layer_.output_type) return *layer_.output_type;
    const ElementType data = builder_.model.tensor(operation().inputs[0]).type;
    if (layer_.kind == dequantize || layer_.kind == block_matmul) return float32;
    if (layer_.kind == pwl) return int16;
    return delivers_sums() && is_integer(data) && !layer_.output_quantization.present() ? int32 : data;
  }

  /// Sums without a scale to bring them to, and without a table.
  [[nodiscard]] bool delivers_sums() {
    if (layer_.kind == fused_conv2d) return operation().inputs.size() <= fused_pwl_input;
    return has_weights(layer_.kind) || layer_.kind == matmul;
  }

  /// What an operation that says nothing of its output's scale hands on.
  [[nodiscard]] Quantization output_quantization(ElementType type) {
    if (layer_.output_quantization.present() || !is_integer(type)) return layer_.output_quantization;
    const bool sums = has_weights(layer_.kind) || layer_.kind == matmul || layer_.kind == recurrent;
    const ModelTensor& first = builder_.model.tensor(operation().inputs[0]);
    return sums || first.type != type ? Quantization{} : first.quantization;
  }

  void add_outputs() {
    std::vector<Shape> shapes;
    if (layer_.output_shape) shapes.assign(static_cast<std::size_t>(layer_.outputs), model_shape(*layer_.output_shape));
    else shapes = output_shapes(builder_.model, operation(), layer_.outputs);
    const ElementType type = output_type();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::string name = shapes.size() == 1 ? "output" : "output_" + std::to_string(i + 1);
      operation().outputs.push_back(builder_.tensor({name, type, shapes[i], output_quantization(type)}));
    }
    builder_.model.outputs = operation().outputs;
    if (layer_.kind == recurrent && shapes.size() > 1) output(1).type = ElementType::int32;  // the sums
    if (layer_.kind == block_quantize) {
      output(0).type = codes_of(std::get<BlockAttributes>(operation().attributes).format).type;
      output(1).type = ElementType::float16;
    }
    if (layer_.kind == dynamic_quantize) {
      for (const std::size_t codes : {std::size_t{0}, std::size_t{2}})
        output(codes) = {output(codes).name, ElementType::uint8, output(codes).shape, {}, {}};
    }
  }
  [[nodiscard]] ModelTensor& output(std::size_t position) {
    return builder_.model.tensors[static_cast<std::size_t>(operation().outputs[position])];
  }

  /// The output as the user's arrays have it: windows leave out what the input had not.
  [[nodiscard]] std::optional<Shape> shown_shape() const {
    const Axes dropped = arrays_.dropped_axes();
    if (layer_.shown_shape || dropped.empty()) return layer_.shown_shape;
    const Shape& model = builder_.model.tensor(builder_.model.outputs[0]).shape;
    Axes sizes(model.sizes().begin(), model.sizes().end());
    if (!result_.output_permutation.empty()) sizes = {sizes[0], sizes[3], sizes[1], sizes[2]};
    for (const std::int64_t axis : dropped) sizes.erase(sizes.begin() + axis);
    return Shape(std::move(sizes));
  }

  /// A shape that the user states, channels last and with every axis.
  [[nodiscard]] Shape model_shape(const Shape& stated) const {
    Axes sizes(stated.sizes().begin(), stated.sizes().end());
    Axes dropped = arrays_.dropped_axes();
    std::ranges::reverse(dropped);
    for (const std::int64_t axis : dropped) sizes.insert(sizes.begin() + std::min<std::ptrdiff_t>(axis, std::ssize(sizes)), 1);
    if (arrays_.output_permutation().empty() || sizes.size() != 4) return Shape(std::move(sizes));
    return {sizes[0], sizes[2], sizes[3], sizes[1]};
  }

  /// Scales along the output channels; a bias counts in input scale times weight scale unless it has a scale of its own.
  void quantize_operands() {
    for (std::size_t i = 0, stored = 0; i < layer_.operands.size(); ++i) {
      if (!layer_.operands[i]) continue;
      ModelTensor& tensor = builder_.model.tensors[stored];
      if (tensor.quantization.per_channel() && i == 1)
        tensor.quantization.axis = output_channel_axis(OperationView(builder_.model, 0, "layer"));
      require_channels(*layer_.operands[i], tensor);
      Quantization unit = tensor.quantization;
      if (i == 2 && has_weights(layer_.kind) && !unit.present()) unit = bias_quantization();
      Tensor values = converted(*layer_.operands[i], std::move(values_[stored]), tensor.type, unit, backend_);
      if (layer_.operands[i]->constant) tensor.constant = std::move(values);
      else result_.inputs.push_back(std::move(values));
      ++stored;
    }
  }

  static void require_channels(const LayerOperand& operand, const ModelTensor& tensor) {
    const auto& [scales, zero_points, axis] = tensor.quantization;
    if (scales.size() <= 1 && zero_points.size() <= 1) return;
    const auto rank = static_cast<std::int64_t>(tensor.shape.rank());
    const std::int64_t channels = axis < rank ? tensor.shape[static_cast<std::size_t>(axis)] : 0;
    const bool fits =
        static_cast<std::int64_t>(scales.size()) == channels && (zero_points.size() <= 1 || zero_points.size() == scales.size());
    if (!fits) {
      fail(operand,
           std::to_string(scales.size()) + " scales and " + std::to_string(zero_points.size()) + " zero points for " +
               std::to_string(channels) + " channels",
           ErrorCode::bad_quantization);
    }
  }

  [[nodiscard]] Quantization bias_quantization() const {
    const Quantization& input = builder_.model.tensors[0].quantization;
    const Quantization& weights = builder_.model.tensors[1].quantization;
    if (!input.present() || !weights.present()) return {};
    Quantization product;
    for (const double scale : weights.scales) product.scales.push_back(input.scale() * scale);
    return product;
  }

  const LayerDescription& layer_;
  const Backend& backend_;
  Arrays arrays_;
  std::vector<Tensor> values_;
  ModelBuilder builder_;
  Layer result_;
};

}  // namespace

Tensor permuted(const Tensor& tensor, const Axes& permutation) {
  if (permutation.empty()) return tensor;
  const std::size_t rank = permutation.size(), width = size_of(tensor.type());
  Axes sizes(rank), strides(rank, 1), steps(rank);
  for (std::size_t axis = rank - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * tensor.shape()[axis];
  for (std::size_t axis = 0; axis < rank; ++axis) {
    sizes[axis] = tensor.shape()[static_cast<std::size_t>(permutation[axis])];
    steps[axis] = strides[static_cast<std::size_t>(permutation[axis])];
  }
  Tensor result(tensor.type(), Shape(sizes));
  Axes position(rank, 0);
  std::int64_t from = 0;
  for (std::size_t to = 0; to < result.bytes().size(); to += width) {
    std::memcpy(result.bytes().data() + to, tensor.bytes().data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t axis = rank; axis-- > 0;) {
      from += steps[axis];
      if (++position[axis] < sizes[axis]) break;
      from -= steps[axis] * sizes[axis];
      position[axis] = 0;
    }
  }
  return result;
}

Layer make_layer(const LayerDescription& description, const Device& device) { return Builder(description, device.backend).build(); }

namespace {

/// Around a layer's model: tensors of the user's shapes that have its names, and the operations between these and its own.
class Surroundings {
 public:
  explicit Surroundings(const Layer& layer) : layer_(layer), model_(layer.model) {}

  [[nodiscard]] Model made() {
    std::vector<Operation> before;
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) add_input(i, before);
    model_.operations.insert(model_.operations.begin(), before.begin(), before.end());
    for (std::int32_t& output : model_.outputs) output = add_output(output);
    validate(model_, "layer");
    return std::move(model_);
  }

 private:
  /// A tensor of the type and quantisation of another.
  std::int32_t tensor_like(std::int32_t like, const std::string& name, const Shape& shape) {
    ModelTensor tensor = model_.tensor(like);
    tensor.name = name, tensor.shape = shape;
    tensor.constant = {};
    model_.tensors.push_back(std::move(tensor));
    return static_cast<std::int32_t>(model_.tensors.size()) - 1;
  }
  /// Its name goes to another tensor.
  std::string take_name(std::int32_t index) {
    std::string& name = model_.tensors[static_cast<std::size_t>(index)].name;
    return std::exchange(name, name + " (NHWC)");
  }
  static Operation reshaped(std::int32_t from, std::int32_t to, const std::string& name) {
    return {.kind = reshape, .name = name, .inputs = {from}, .outputs = {to}, .attributes = {}};
  }
  static Operation transposed(std::int32_t from, std::int32_t to, const Axes& permutation, const std::string& name) {
    return {.kind = transpose, .name = name, .inputs = {from}, .outputs = {to}, .attributes = TransposeAttributes{permutation}};
  }

  void add_input(std::size_t position, std::vector<Operation>& before) {
    const auto& [given, complete, permutation] = layer_.users_inputs[position];
    std::int32_t& input = model_.inputs[position];
    const std::int32_t inner = input;
    if (permutation.empty() && given == complete) return;
    const std::string name = take_name(inner);
    input = tensor_like(inner, name, given);
    const bool both = !permutation.empty() && given != complete;
    const std::int32_t between = both ? tensor_like(inner, name + " (complete)", complete) : permutation.empty() ? inner : input;
    if (given != complete) before.push_back(reshaped(input, between, name + " (complete)"));
    if (!permutation.empty()) before.push_back(transposed(between, inner, permutation, name + " (NHWC)"));
  }

  std::int32_t add_output(std::int32_t inner) {
    const Axes& permutation = layer_.output_permutation;
    const Shape own = model_.tensor(inner).shape;
    Axes sizes(own.sizes().begin(), own.sizes().end());
    for (std::size_t i = 0; i < permutation.size(); ++i) sizes[i] = own[static_cast<std::size_t>(permutation[i])];
    const Shape complete{sizes}, shown = layer_.output_shape.value_or(complete);
    if (permutation.empty() && shown == own) return inner;
    const std::string name = take_name(inner);
    const bool both = !permutation.empty() && shown != complete;
    const std::int32_t outer = tensor_like(inner, name, shown);
    const std::int32_t between = both ? tensor_like(inner, name + " (complete)", complete) : permutation.empty() ? inner : outer;
    if (!permutation.empty()) model_.operations.push_back(transposed(inner, between, permutation, both ? name + " (complete)" : name));
    if (shown != complete) model_.operations.push_back(reshaped(between, outer, name));
    return outer;
  }

  const Layer& layer_;
  Model model_;
};

}  // namespace

Model model_of_users_arrays(const Layer& layer) { return Surroundings(layer).made(); }

Tensor in_users_layout(const Layer& layer, const Tensor& output) {
  Tensor tensor = permuted(output, layer.output_permutation);
  if (layer.output_shape) tensor.reshape(*layer.output_shape);
  return tensor;
}

}  // namespace lastbit
