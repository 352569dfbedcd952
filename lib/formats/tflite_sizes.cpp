// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/tflite_sizes.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "formats/tflite_operator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes sizes_of(const flatbuffers::Vector<std::int32_t>* list) { return list == nullptr ? Sizes{} : Sizes(list->begin(), list->end()); }

/// Open ones are negative.
Sizes stated_sizes(const Tensor& tensor) {
  const auto* const signature = tensor.shape_signature();
  return signature == nullptr || signature->size() == 0 ? sizes_of(tensor.shape()) : sizes_of(signature);
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : "x") + (size < 0 ? std::string("?") : std::to_string(size));
  return text;
}

bool is_open_so(const Sizes& stated, const Shape& shape) {
  if (stated.size() != shape.rank()) return false;
  for (std::size_t axis = 0; axis < stated.size(); ++axis)
    if (stated[axis] >= 0 && stated[axis] != shape[axis]) return false;
  return true;
}

/// One operator, its inputs of other shapes than the file puts.
class Resized {
 public:
  Resized(const Model& file, const SubGraph& graph, const std::map<std::size_t, Shape>& shapes, const Operator& source, std::string place)
      : file_(file), graph_(graph), shapes_(shapes), source_(source), place_(std::move(place)) {}

  [[noreturn]] void refuse() const {
    throw Error(ErrorCode::unsupported_operation, place_, "what it makes of an input of another size than the file puts is not known here");
  }
  [[nodiscard]] std::size_t input_count() const { return source_.inputs() == nullptr ? 0 : source_.inputs()->size(); }
  [[nodiscard]] Shape input(std::size_t position) const {
    const std::size_t index = tensor_of(position);
    const auto known = shapes_.find(index);
    if (known != shapes_.end()) return known->second;
    Sizes sizes = sizes_of(graph_.tensors()->Get(narrow(index))->shape());
    if (sizes.size() > largest_rank || std::ranges::any_of(sizes, [](std::int64_t size) { return size < 1; })) refuse();
    return Shape(std::move(sizes));
  }
  [[nodiscard]] Sizes input_sizes(std::size_t position = 0) const {
    const Shape shape = input(position);
    return {shape.sizes().begin(), shape.sizes().end()};
  }
  /// As the file puts them.
  [[nodiscard]] Sizes output_sizes() const {
    if (source_.outputs() == nullptr || source_.outputs()->size() != 1) refuse();
    return sizes_of(graph_.tensors()->Get(checked(source_.outputs()->Get(0)))->shape());
  }
  [[nodiscard]] Sizes constant(std::size_t position) const {
    const Tensor& tensor = *graph_.tensors()->Get(narrow(tensor_of(position)));
    const auto* const buffers = file_.buffers();
    if (tensor.type() != TensorType::INT32 || buffers == nullptr || tensor.buffer() == 0 || tensor.buffer() >= buffers->size()) refuse();
    const auto* const data = buffers->Get(tensor.buffer())->data();
    if (data == nullptr || data->size() % sizeof(std::int32_t) != 0) refuse();
    std::vector<std::int32_t> values(data->size() / sizeof(std::int32_t));
    std::memcpy(values.data(), data->data(), data->size());
    return {values.begin(), values.end()};
  }
  template <class Options>
  [[nodiscard]] const Options& options() const {
    const auto* const found = source_.builtin_options_as<Options>();
    if (found == nullptr) refuse();
    return *found;
  }
  [[nodiscard]] std::size_t axis(std::int64_t axis, std::size_t rank) const {
    const auto count = static_cast<std::int64_t>(rank);
    if (axis < -count || axis >= count) refuse();
    return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
  }

 private:
  static flatbuffers::uoffset_t narrow(std::size_t index) { return static_cast<flatbuffers::uoffset_t>(index); }
  [[nodiscard]] flatbuffers::uoffset_t checked(std::int32_t index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= graph_.tensors()->size()) refuse();
    return static_cast<flatbuffers::uoffset_t>(index);
  }
  [[nodiscard]] std::size_t tensor_of(std::size_t position) const {
    if (position >= input_count()) refuse();
    return checked(source_.inputs()->Get(narrow(position)));
  }

  const Model& file_;
  const SubGraph& graph_;
  const std::map<std::size_t, Shape>& shapes_;
  const Operator& source_;
  std::string place_;
};

Sizes as_first_input(const Resized& at) { return at.input_sizes(); }

Sizes broadcast_of_inputs(const Resized& at) {
  const auto joined = broadcast(at.input(0), at.input(1));
  if (!joined) at.refuse();
  return {joined->sizes().begin(), joined->sizes().end()};
}

template <class Options>
Sizes windows_of(const Resized& at, Extent2d filter, Extent2d dilation) {
  const auto& options = at.options<Options>();
  const Sizes in = at.input_sizes(), before = at.output_sizes();
  if (in.size() != 4 || before.size() != 4) at.refuse();
  for (const std::int64_t size :
       {std::int64_t{options.stride_h()}, std::int64_t{options.stride_w()}, filter.height, filter.width, dilation.height, dilation.width})
    if (size < 1 || size > largest_window_parameter) at.refuse();
  const Padding2d padding{options.padding() == Padding::SAME ? PaddingMode::same : PaddingMode::valid};
  const Extent2d count = window_count(padding, {in[1], in[2]}, filter, {options.stride_h(), options.stride_w()}, dilation);
  return {in[0], count.height, count.width, before[3]};
}

template <class Options>
Sizes of_convolution(const Resized& at) {
  const Sizes weights = at.input_sizes(1);
  if (weights.size() != 4) at.refuse();
  const auto& options = at.options<Options>();
  return windows_of<Options>(at, {weights[1], weights[2]}, {options.dilation_h_factor(), options.dilation_w_factor()});
}

Sizes of_pool(const Resized& at) {
  const auto& options = at.options<Pool2DOptions>();
  return windows_of<Pool2DOptions>(at, {options.filter_height(), options.filter_width()}, {1, 1});
}

Sizes of_transpose(const Resized& at) {
  const Sizes in = at.input_sizes(), permutation = at.constant(1);
  Sizes out;
  for (const std::int64_t axis : permutation) out.push_back(in[at.axis(axis, in.size())]);
  return out;
}

std::int64_t count_of_elements(const Resized& at, const Sizes& sizes) {
  constexpr std::int64_t largest_count = std::int64_t{1} << 40;
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > largest_count / count) at.refuse();
    count *= size;
  }
  return count;
}

/// A single size may be left to what there is: -1 of the constant shape.
Sizes of_reshape(const Resized& at) {
  Sizes out = at.constant(1);
  const auto open = std::ranges::find(out, -1);
  if (open == out.end()) return out;
  *open = 1;
  const std::int64_t known = count_of_elements(at, out);
  *open = count_of_elements(at, at.input_sizes()) / known;
  return out;
}

Sizes of_expand_dims(const Resized& at) {
  Sizes out = at.input_sizes();
  const Sizes axis = at.constant(1);
  if (axis.size() != 1) at.refuse();
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(at.axis(axis[0], out.size() + 1)), 1);
  return out;
}

/// All of size 1 where none is named.
Sizes of_squeeze(const Resized& at) {
  const Sizes in = at.input_sizes();
  std::vector<bool> dropped(in.size(), false);
  const Sizes named = sizes_of(at.options<SqueezeOptions>().squeeze_dims());
  for (const std::int64_t axis : named) dropped[at.axis(axis, in.size())] = true;
  Sizes out;
  for (std::size_t axis = 0; axis < in.size(); ++axis)
    if (named.empty() ? in[axis] != 1 : !dropped[axis]) out.push_back(in[axis]);
  return out;
}

Sizes of_concatenation(const Resized& at) {
  Sizes out = at.input_sizes();
  const std::size_t axis = at.axis(at.options<ConcatenationOptions>().axis(), out.size());
  for (std::size_t i = 1; i < at.input_count(); ++i) {
    const Sizes part = at.input_sizes(i);
    if (part.size() != out.size()) at.refuse();
    out[axis] += part[axis];
  }
  return out;
}

Sizes of_reduction(const Resized& at) {
  const Sizes in = at.input_sizes();
  std::vector<bool> reduced(in.size(), false);
  for (const std::int64_t axis : at.constant(1)) reduced[at.axis(axis, in.size())] = true;
  Sizes out;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    if (!reduced[axis]) out.push_back(in[axis]);
    else if (at.options<ReducerOptions>().keep_dims()) out.push_back(1);
  }
  return out;
}

Sizes of_pad(const Resized& at) {
  Sizes out = at.input_sizes();
  const Sizes paddings = at.constant(1);
  if (paddings.size() != 2 * out.size()) at.refuse();
  for (std::size_t axis = 0; axis < out.size(); ++axis) out[axis] += paddings[2 * axis] + paddings[2 * axis + 1];
  return out;
}

Sizes of_fully_connected(const Resized& at) {
  const Sizes in = at.input_sizes(), weights = at.input_sizes(1);
  if (weights.size() != 2 || in.empty()) at.refuse();
  if (!at.options<FullyConnectedOptions>().keep_num_dims()) return {count_of_elements(at, in) / weights[1], weights[0]};
  Sizes out = in;
  out.back() = weights[0];
  return out;
}

Sizes of_batch_matmul(const Resized& at) {
  Sizes a = at.input_sizes(), b = at.input_sizes(1);
  const auto& options = at.options<BatchMatMulOptions>();
  if (a.size() < 2 || b.size() < 2) at.refuse();
  const std::int64_t rows = options.adj_x() ? a.back() : a[a.size() - 2], columns = options.adj_y() ? b[b.size() - 2] : b.back();
  const auto batch = broadcast(Shape(Sizes(a.begin(), a.end() - 2)), Shape(Sizes(b.begin(), b.end() - 2)));
  if (!batch) at.refuse();
  Sizes out(batch->sizes().begin(), batch->sizes().end());
  out.insert(out.end(), {rows, columns});
  return out;
}

struct SizedOperator {
  BuiltinOperator code;
  Sizes (*sizes)(const Resized&);
};

constexpr SizedOperator sized_operators[] = {
    {BuiltinOperator::CONV_2D, of_convolution<Conv2DOptions>},
    {BuiltinOperator::DEPTHWISE_CONV_2D, of_convolution<DepthwiseConv2DOptions>},
    {BuiltinOperator::MAX_POOL_2D, of_pool},
    {BuiltinOperator::AVERAGE_POOL_2D, of_pool},
    {BuiltinOperator::FULLY_CONNECTED, of_fully_connected},
    {BuiltinOperator::BATCH_MATMUL, of_batch_matmul},
    {BuiltinOperator::TRANSPOSE, of_transpose},
    {BuiltinOperator::RESHAPE, of_reshape},
    {BuiltinOperator::EXPAND_DIMS, of_expand_dims},
    {BuiltinOperator::SQUEEZE, of_squeeze},
    {BuiltinOperator::CONCATENATION, of_concatenation},
    {BuiltinOperator::PAD, of_pad},
    {BuiltinOperator::PADV2, of_pad},
    {BuiltinOperator::MEAN, of_reduction},
    {BuiltinOperator::SUM, of_reduction},
    {BuiltinOperator::REDUCE_MAX, of_reduction},
    {BuiltinOperator::REDUCE_MIN, of_reduction},
    {BuiltinOperator::ADD, broadcast_of_inputs},
    {BuiltinOperator::SUB, broadcast_of_inputs},
    {BuiltinOperator::MUL, broadcast_of_inputs},
    {BuiltinOperator::DIV, broadcast_of_inputs},
    {BuiltinOperator::FLOOR_DIV, broadcast_of_inputs},
    {BuiltinOperator::MAXIMUM, broadcast_of_inputs},
    {BuiltinOperator::MINIMUM, broadcast_of_inputs},
    {BuiltinOperator::SQUARED_DIFFERENCE, broadcast_of_inputs},
    {BuiltinOperator::PRELU, broadcast_of_inputs},
    {BuiltinOperator::LESS, broadcast_of_inputs},
    {BuiltinOperator::LESS_EQUAL, broadcast_of_inputs},
    {BuiltinOperator::GREATER, broadcast_of_inputs},
    {BuiltinOperator::GREATER_EQUAL, broadcast_of_inputs},
    {BuiltinOperator::EQUAL, broadcast_of_inputs},
    {BuiltinOperator::NOT_EQUAL, broadcast_of_inputs},
};

constexpr BuiltinOperator of_one_shape[] = {BuiltinOperator::QUANTIZE,    BuiltinOperator::DEQUANTIZE,
                                            BuiltinOperator::CAST,        BuiltinOperator::RELU,
                                            BuiltinOperator::RELU6,       BuiltinOperator::LEAKY_RELU,
                                            BuiltinOperator::HARD_SWISH,  BuiltinOperator::RELU_N1_TO_1,
                                            BuiltinOperator::LOGISTIC,    BuiltinOperator::TANH,
                                            BuiltinOperator::SOFTMAX,     BuiltinOperator::LOG_SOFTMAX,
                                            BuiltinOperator::ELU,         BuiltinOperator::ABS,
                                            BuiltinOperator::NEG,         BuiltinOperator::EXP,
                                            BuiltinOperator::LOG,         BuiltinOperator::SQRT,
                                            BuiltinOperator::RSQRT,       BuiltinOperator::SQUARE,
                                            BuiltinOperator::FLOOR,       BuiltinOperator::CEIL,
                                            BuiltinOperator::ROUND,       BuiltinOperator::CUMSUM,
                                            BuiltinOperator::LOGICAL_NOT, BuiltinOperator::L2_NORMALIZATION};

Shape shape_behind(BuiltinOperator code, const Resized& at) {
  const auto entry = std::ranges::find(sized_operators, code, &SizedOperator::code);
  if (entry == std::end(sized_operators) && std::ranges::find(of_one_shape, code) == std::end(of_one_shape)) at.refuse();
  Sizes sizes = entry == std::end(sized_operators) ? as_first_input(at) : entry->sizes(at);
  if (sizes.size() > largest_rank || std::ranges::any_of(sizes, [](std::int64_t size) { return size < 1; })) at.refuse();
  return Shape(std::move(sizes));
}

/// The input of this name, if there is one.
std::optional<std::size_t> input_called(const SubGraph& graph, const std::vector<std::int32_t>& inputs, const std::string& name) {
  for (const std::int32_t index : inputs) {
    if (index < 0 || graph.tensors() == nullptr || static_cast<std::size_t>(index) >= graph.tensors()->size()) continue;
    const auto* const other = graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index))->name();
    if (other != nullptr && other->string_view() == name) return static_cast<std::size_t>(index);
  }
  return std::nullopt;
}

std::map<std::size_t, Shape> given_to_inputs(const SubGraph& graph, const std::vector<std::int32_t>& inputs, const GivenShapes& given,
                                             const std::string& where) {
  std::map<std::size_t, Shape> shapes;
  for (const auto& [name, shape] : given) {
    const auto found = input_called(graph, inputs, name);
    if (!found) throw Error(ErrorCode::bad_input, where, "a shape is given for '" + printable(name) + "', which is no input");
    const Sizes stated = stated_sizes(*graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(*found)));
    if (!is_open_so(stated, shape))
      throw Error(ErrorCode::bad_input, where + ": input '" + printable(name) + "'",
                  "shape " + shape.text() + " is given; the file says " + text_of(stated));
    shapes.emplace(*found, shape);
  }
  return shapes;
}

/// Of the only output.
void resize_output(const Resized& at, BuiltinOperator code, const Operator& source, std::map<std::size_t, Shape>& shapes) {
  if (source.outputs() == nullptr || source.outputs()->size() != 1 || source.outputs()->Get(0) < 0) at.refuse();
  const auto output = static_cast<std::size_t>(source.outputs()->Get(0));
  if (!shapes.contains(output)) shapes.emplace(output, shape_behind(code, at));
}

}  // namespace

std::map<std::size_t, Shape> resized_tensors(const Model& file, const SubGraph& graph, const PartSizes& part, const GivenShapes& given,
                                             const std::string& where) {
  std::map<std::size_t, Shape> shapes = given_to_inputs(graph, part.inputs, given, where);
  for (std::size_t i = 0; i < part.codes.size(); ++i) {
    const Operator& source = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto is_resized = [&](std::int32_t index) { return index >= 0 && shapes.contains(static_cast<std::size_t>(index)); };
    if (source.inputs() == nullptr || std::none_of(source.inputs()->begin(), source.inputs()->end(), is_resized)) continue;
    const Resized at(file, graph, shapes, source, where + ": " + name_or_number(part.codes[i]) + " (operation " + std::to_string(i) + ")");
    try {
      resize_output(at, part.codes[i], source, shapes);
    } catch (const Error&) {
      if (!part.left_out[i]) throw;
    }
  }
  return shapes;
}

std::string open_sizes(const Tensor& tensor) {
  const Sizes stated = stated_sizes(tensor);
  if (std::ranges::find(stated, -1) == stated.end() || tensor.name() == nullptr) return {};
  return text_of(stated) + ", for which the file puts " + text_of(sizes_of(tensor.shape())) + "; --shape " +
         printable(tensor.name()->string_view()) + "=" + text_of(stated) + " states others";
}

}  // namespace lastbit::tflite_format
