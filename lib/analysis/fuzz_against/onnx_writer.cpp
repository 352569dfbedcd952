// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/fuzz_against/layout.hpp"
#include "analysis/fuzz_against/onnx_graph.hpp"
#include "lastbit/fuzz_against.hpp"

namespace lastbit {
namespace {

using onnx_message::Node;
using Kind = OperationKind;
using Integers = std::vector<std::int64_t>;

constexpr std::string_view microsoft = "com.microsoft";
const Permutation depthwise_order{3, 0, 1, 2}, transposed_order{3, 0, 1, 2}, swapped_axes{1, 0};

Tensor integer_list(const Integers& values) { return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values); }

class FileWriter : private OnnxGraph {
 public:
  explicit FileWriter(const Model& model) : OnnxGraph(model) {}

  std::string file() {
    for (const Operation& operation : model().operations) write(operation);
    return finished();
  }

 private:
  // Windows.

  static void set_padding(Node& node, const Padding2d& padding) {
    if (padding.mode == PaddingMode::same) node.set("auto_pad", std::string_view("SAME_UPPER"));
    if (padding.mode == PaddingMode::explicit_sizes) node.set("pads", Integers{padding.top, padding.left, padding.bottom, padding.right});
  }

  void set_convolution(Node& node, const Operation& operation) const {
    const auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
    const Shape &weights = tensor(operation.inputs[1]).shape, &in = tensor(operation.inputs[0]).shape;
    node.set("kernel_shape", Integers{weights[1], weights[2]});
    node.set("strides", Integers{attributes.stride.height, attributes.stride.width});
    if (attributes.dilation != Extent2d{}) node.set("dilations", Integers{attributes.dilation.height, attributes.dilation.width});
    set_padding(node, attributes.padding);
    const std::int64_t groups = operation.kind == Kind::depthwise_conv2d ? in[3] : operation.kind == Kind::conv2d ? in[3] / weights[3] : 1;
    if (groups != 1) node.set("group", groups);
  }

  void write_convolution(const Operation& operation) {
    const Permutation& order = operation.kind == Kind::conv2d             ? channels_first
                               : operation.kind == Kind::depthwise_conv2d ? depthwise_order
                                                                          : transposed_order;
    const bool has_bias = operation.inputs.size() > bias_input && operation.inputs[bias_input] != absent_tensor;
    if (operation.inputs.size() > multiplier_input && operation.inputs[multiplier_input] != absent_tensor)
      refuse(operation, "a multiplier");
    const std::int32_t data = operation.inputs[0], weights = operation.inputs[1], output = operation.outputs[0];
    if (on_codes(operation)) {
      Names inputs{codes(data), scale(data), zero(data), codes(weights, order), scale(weights), zero(weights), scale(output), zero(output)};
      if (has_bias) inputs.push_back(codes(operation.inputs[bias_input], Permutation{}));
      Node convolution("QLinearConv", inputs, {tensor(output).name});
      set_convolution(convolution, operation);
      return node(convolution);
    }
    Names inputs{dequantized(data), dequantized(weights, order)};
    if (has_bias) inputs.push_back(dequantized_bias(operation));
    const std::string real = fresh("real");
    Node convolution(operation.kind == Kind::transposed_conv2d ? "ConvTranspose" : "Conv", inputs, {real});
    set_convolution(convolution, operation);
    quantized(operation, convolution, real);
  }

  /// Without a bias MatMul, of weights [inputs, outputs]; with one Gemm, of weights [outputs, inputs].
  void write_dense(const Operation& operation) {
    const bool has_bias =
        operation.kind == Kind::fully_connected && operation.inputs.size() > bias_input && operation.inputs[bias_input] != absent_tensor;
    const std::int32_t data = operation.inputs[0], weights = operation.inputs[1], output = operation.outputs[0];
    if (tensor(data).shape.rank() != 2) refuse(operation, "a product of more than two dimensions");
    const std::optional<Permutation> order =
        operation.kind == Kind::fully_connected ? std::optional(has_bias ? Permutation{} : swapped_axes) : std::nullopt;
    if (on_codes(operation) && !has_bias) {
      return node(
          Node("QLinearMatMul",
               {codes(data), scale(data), zero(data), codes(weights, order), scale(weights), zero(weights), scale(output), zero(output)},
               {tensor(output).name}));
    }
    Names inputs{dequantized(data), dequantized(weights, order, has_bias ? 0 : 1)};
    const std::string real = fresh("real");
    if (!has_bias) return quantized(operation, Node("MatMul", inputs, {real}), real);
    inputs.push_back(dequantized_bias(operation));
    quantized(operation, Node("Gemm", inputs, {real}).set("transB", std::int64_t{1}), real);
  }

  void write_pool(const Operation& operation) {
    const auto& attributes = std::get<Pool2dAttributes>(operation.attributes);
    const bool global = operation.kind == Kind::global_average_pool;
    const auto set = [&](Node& pool) {
      if (global) return;
      pool.set("kernel_shape", Integers{attributes.filter.height, attributes.filter.width});
      pool.set("strides", Integers{attributes.stride.height, attributes.stride.width});
      set_padding(pool, attributes.padding);
      if (attributes.partial_windows == PartialWindows::every_start) refuse(operation, "a window at every start");
      if (attributes.partial_windows == PartialWindows::last_truncated) pool.set("ceil_mode", std::int64_t{1});
      if (attributes.counted_padding) pool.set("count_include_pad", std::int64_t{1});
    };
    if (on_codes(operation)) return write_own(operation, global ? "QLinearGlobalAveragePool" : "QLinearAveragePool", set);
    const std::string real = fresh("real");
    const std::string_view name = global ? "GlobalAveragePool" : operation.kind == Kind::max_pool2d ? "MaxPool" : "AveragePool";
    Node pool(name, {dequantized(operation.inputs[0])}, {real});
    set(pool);
    quantized(operation, pool, real);
  }

  /// An operator of ONNX Runtime's own on one tensor's codes.
  template <class Set>
  void write_own(const Operation& operation, std::string_view name, const Set& set) {
    const std::int32_t data = operation.inputs[0], output = operation.outputs[0];
    Node own(name, {codes(data), scale(data), zero(data), scale(output), zero(output)}, {tensor(output).name}, microsoft);
    set(own);
    node(own);
  }

  // Value by value.

  void write_binary(const Operation& operation, const std::string& name) {
    const std::int32_t a = operation.inputs[0], b = operation.inputs[1], output = operation.outputs[0];
    if (on_codes(operation)) {
      return node(Node("QLinear" + name, {codes(a), scale(a), zero(a), codes(b), scale(b), zero(b), scale(output), zero(output)},
                       {tensor(output).name}, microsoft));
    }
    const std::string real = fresh("real"), left = dequantized(a), right = dequantized(b);
    quantized(operation, Node(name, {left, right}, {real}), real);
  }

  void write_concat(const Operation& operation) {
    const std::int32_t output = operation.outputs[0];
    const std::int64_t axis = file_axis(std::get<ConcatAttributes>(operation.attributes).axis, tensor(output).shape.rank());
    if (std::get<ConcatAttributes>(operation.attributes).activation != Activation::none) refuse(operation, "an activation");
    Names inputs;
    if (on_codes(operation)) inputs = {scale(output), zero(output)};
    for (const std::int32_t input : operation.inputs) {
      if (on_codes(operation)) inputs.insert(inputs.end(), {codes(input), scale(input), zero(input)});
      else inputs.push_back(dequantized(input));
    }
    if (on_codes(operation)) return node(Node("QLinearConcat", inputs, {tensor(output).name}, microsoft).set("axis", axis));
    const std::string real = fresh("real");
    quantized(operation, Node("Concat", inputs, {real}).set("axis", axis), real);
  }

  template <class Set>
  void write_unary(const Operation& operation, std::string_view name, std::string_view own_name, const Set& set) {
    if (on_codes(operation) && !own_name.empty()) return write_own(operation, own_name, set);
    const std::string real = fresh("real");
    Node unary(name, {dequantized(operation.inputs[0])}, {real});
    set(unary);
    quantized(operation, unary, real);
  }

  void write_softmax(const Operation& operation) {
    const std::size_t rank = tensor(operation.inputs[0]).shape.rank();
    const std::int64_t axis = file_axis(static_cast<std::int64_t>(rank) - 1, rank);
    if (std::get<SoftmaxAttributes>(operation.attributes).beta != 1) refuse(operation, "a factor");
    write_unary(operation, "Softmax", "QLinearSoftmax", [&](Node& node) {
      node.set("axis", axis);
      if (on_codes(operation)) node.set("opset", std::int64_t{13});
    });
  }

  void write_clip(const Operation& operation, Activation activation) {
    to_codes(operation, activated(dequantized(operation.inputs[0]), activation));
  }

  // Movement.

  void write_moved(const Operation& operation, std::string_view name, const Names& more, const std::string& mode = {}) {
    Names inputs{dequantized(operation.inputs[0])};
    inputs.insert(inputs.end(), more.begin(), more.end());
    const std::string real = fresh("real");
    Node moved(name, inputs, {real});
    if (!mode.empty()) moved.set("mode", mode);
    if (const auto* resized = std::get_if<ResizeAttributes>(&operation.attributes)) set_resize(moved, *resized);
    quantized(operation, moved, real);
  }

  static void set_resize(Node& node, const ResizeAttributes& attributes) {
    using enum ResizeCoordinates;
    const std::string_view coordinates = attributes.coordinates == half_pixel      ? "half_pixel"
                                         : attributes.coordinates == asymmetric    ? "asymmetric"
                                         : attributes.coordinates == align_corners ? "align_corners"
                                                                                   : "pytorch_half_pixel";
    node.set("coordinate_transformation_mode", coordinates);
    if (attributes.mode != ResizeMode::nearest) return;
    const std::string_view rounding = attributes.nearest == Rounding::floor       ? "floor"
                                      : attributes.nearest == Rounding::ceil      ? "ceil"
                                      : attributes.nearest == Rounding::half_down ? "round_prefer_floor"
                                                                                  : "round_prefer_ceil";
    node.set("nearest_mode", rounding);
  }

  Integers sizes_of(std::int32_t index) const {
    const Shape shape = file_shape(tensor(index).shape);
    return {shape.sizes().begin(), shape.sizes().end()};
  }

  void write_resize(const Operation& operation) {
    const auto& attributes = std::get<ResizeAttributes>(operation.attributes);
    if (attributes.scales) refuse(operation, "a resize by scales");
    write_moved(operation, "Resize", {"", "", constant(fresh("sizes"), integer_list(sizes_of(operation.outputs[0])))},
                attributes.mode == ResizeMode::nearest ? "nearest" : "linear");
  }

  void write_pad(const Operation& operation) {
    const auto& attributes = std::get<PadAttributes>(operation.attributes);
    const ModelTensor& data = tensor(operation.inputs[0]);
    const std::size_t rank = attributes.paddings.size();
    Integers pads(2 * rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const auto at = static_cast<std::size_t>(file_axis(static_cast<std::int64_t>(axis), rank));
      pads[at] = attributes.paddings[axis][0];
      pads[rank + at] = attributes.paddings[axis][1];
    }
    Names more{constant(fresh("pads"), integer_list(pads))};
    if (attributes.value) {
      Tensor value(ElementType::float32, {});
      value.values<float>()[0] =
          static_cast<float>(*attributes.value - data.quantization.zero_point()) * static_cast<float>(data.quantization.scale());
      more.push_back(constant(fresh("value"), value));
    }
    write_moved(operation, "Pad", more);
  }

  void write_mean(const Operation& operation) {
    const auto& attributes = std::get<MeanAttributes>(operation.attributes);
    Integers axes;
    for (const std::int64_t axis : attributes.axes) axes.push_back(file_axis(axis, tensor(operation.inputs[0]).shape.rank()));
    const std::size_t left = tensor(operation.outputs[0]).shape.rank();
    if (!attributes.keep_dims && left > 2) refuse(operation, "a mean that leaves three dimensions");
    write_unary(operation, "ReduceMean", "", [&](Node& reduce) {
      reduce.set("axes", axes);
      reduce.set("keepdims", std::int64_t{attributes.keep_dims ? 1 : 0});
    });
  }

  [[nodiscard]] static bool on_codes(const Operation& operation) {
    return operation.stated == Statement::on_codes && activation_of(operation) == Activation::none;
  }

  void write(const Operation& operation) {
    const auto nothing = [](Node&) {};
    switch (operation.kind) {
      case Kind::conv2d:
      case Kind::depthwise_conv2d:
      case Kind::transposed_conv2d: return write_convolution(operation);
      case Kind::fully_connected:
      case Kind::matmul: return write_dense(operation);
      case Kind::max_pool2d:
      case Kind::average_pool2d:
      case Kind::global_average_pool: return write_pool(operation);
      case Kind::mean: return write_mean(operation);
      case Kind::add: return write_binary(operation, "Add");
      case Kind::mul: return write_binary(operation, "Mul");
      case Kind::sub: return write_binary(operation, "Sub");
      case Kind::concat: return write_concat(operation);
      case Kind::pad: return write_pad(operation);
      case Kind::resize: return write_resize(operation);
      case Kind::reshape:
        return write_moved(operation, "Reshape", {constant(fresh("shape"), integer_list(sizes_of(operation.outputs[0])))});
      case Kind::requantize: return to_codes(operation, dequantized(operation.inputs[0]));
      case Kind::relu: return write_unary(operation, "Relu", "", nothing);
      case Kind::relu6: return write_clip(operation, Activation::relu6);
      case Kind::hard_swish: return write_unary(operation, "HardSwish", "", nothing);
      case Kind::logistic: return write_unary(operation, "Sigmoid", "QLinearSigmoid", nothing);
      case Kind::tanh: return write_unary(operation, "Tanh", "", nothing);
      case Kind::softmax: return write_softmax(operation);
      case Kind::leaky_relu: {
        const double alpha = std::get<LeakyReluAttributes>(operation.attributes).alpha;
        return write_unary(operation, "LeakyRelu", "QLinearLeakyRelu", [&](Node& node) { node.set("alpha", alpha); });
      }
      default: refuse(operation, "this operation");
    }
  }
};

}  // namespace

std::string onnx_bytes(const Model& network) { return FileWriter(network).file(); }

}  // namespace lastbit
