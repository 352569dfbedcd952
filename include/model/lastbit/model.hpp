// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network: tensors, and operations in execution order. No arithmetic lives here.
// Layouts: activations NHWC, convolution weights OHWI, depthwise weights [1,kh,kw,C*multiplier].
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lastbit/arith/rounding.hpp"
#include "lastbit/arith/scale_segment.hpp"
#include "lastbit/block_format.hpp"
#include "lastbit/constant.hpp"
#include "lastbit/tensor.hpp"
#include "lastbit/window.hpp"

namespace lastbit {

// clang-format off
enum class OperationKind : std::uint8_t {
  conv2d, depthwise_conv2d, transposed_conv2d, fully_connected, matmul,
  max_pool2d, average_pool2d, global_average_pool, mean,
  add, sub, mul, concat,
  pad, reshape, squeeze, transpose, slice, strided_slice, split,
  quantize, dequantize, requantize,
  relu, relu6, relu_n1_to_1, leaky_relu, prelu, hard_swish, logistic, tanh, softmax,
  clip, dynamic_quantize,
  cast, add_n,
  exp, resize,
  svdf, lstm,
  pwl, sum_pool2d, fused_conv2d, recurrent,
  argmax,
  bitwise_or, bitwise_xor,
  gather, maximum, minimum, div, pow,
  reduce_sum, reduce_max, reduce_min,
  abs, neg, log, sqrt, rsqrt, erf,
  less, less_or_equal, equal, select,
  elu, floor, log_softmax, l2_normalization, argmin, cumsum,
  detection_postprocess, top_k,
  round_half_even, truncate, floor_div,
  block_quantize, block_matmul,
};
// clang-format on

[[nodiscard]] std::string_view name_of(OperationKind kind);
[[nodiscard]] std::optional<OperationKind> operation_kind_from(std::string_view name);

/// Whether the operation only moves data: no arithmetic, the same for every backend.
[[nodiscard]] constexpr bool is_movement(OperationKind kind) {
  using enum OperationKind;
  return kind == pad || kind == reshape || kind == squeeze || kind == transpose || kind == slice || kind == strided_slice ||
         kind == split || kind == gather;
}

/// Whether it makes or takes codes in blocks (block_format.hpp): integers, with float16 scales beside them.
[[nodiscard]] constexpr bool is_of_blocks(OperationKind kind) {
  return kind == OperationKind::block_quantize || kind == OperationKind::block_matmul;
}

/// What registers of the device hold in place of what its rule makes of a scale: the value times `multiplier`, shifted right by `shift`, with an
/// `offset` where the device has a place for one.
struct ScaleRegister {
  std::int64_t multiplier = 0;
  int shift = 0;
  std::int64_t offset = 0;
  friend bool operator==(const ScaleRegister&, const ScaleRegister&) = default;
};

/// A function in segments that registers of the device hold (arith/scale_segment.hpp); copies of a layer share it.
class SegmentTable {
 public:
  SegmentTable() = default;
  explicit SegmentTable(std::vector<ScaleSegment> segments)
      : segments_(std::make_shared<const std::vector<ScaleSegment>>(std::move(segments))) {}
  /// Valid while the table, or a copy of it, exists.
  [[nodiscard]] std::span<const ScaleSegment> segments() const {
    return segments_ == nullptr ? std::span<const ScaleSegment>{} : std::span(*segments_);
  }
  [[nodiscard]] bool empty() const { return segments().empty(); }
  friend bool operator==(const SegmentTable& a, const SegmentTable& b) { return std::ranges::equal(a.segments(), b.segments()); }

 private:
  std::shared_ptr<const std::vector<ScaleSegment>> segments_;
};

inline constexpr int largest_register_shift = 63;
/// Offsets have at most 41 bits, their sign included: more than any device's register has.
inline constexpr int register_offset_bits = 41;

/// What happens to the output at the end: an activation, or outright bounds: quantised ones, or real ones where the output is a float.
struct OutputBounds {
  Activation activation = Activation::none;
  std::optional<IntegerRange> clamp{};
  std::optional<std::array<float, 2>> real_clamp{};  ///< [min, max]; where the output is a float
  /// Accumulators are bounded to [0, clip] before they are rescaled: one bound, or one per output channel; empty: none.
  std::vector<std::int64_t> accumulator_clip{};
  std::vector<ScaleRegister> registers{};   ///< one, or one per output channel; empty: as the device's rule has it
  std::vector<ScaleRegister> below_zero{};  ///< of values below 0, likewise; empty: they are treated as the others
  std::vector<ScaleRegister> converter{};   ///< of a second scale behind the first, likewise; empty: it changes nothing
  SegmentTable segments{};                  ///< of the function behind the scale; empty: the device has none
  friend bool operator==(const OutputBounds&, const OutputBounds&) = default;
};

/// Whether a layer states anything of a device's registers.
[[nodiscard]] inline bool states_registers(const OutputBounds& bounds) {
  return !bounds.registers.empty() || !bounds.below_zero.empty() || !bounds.converter.empty() || !bounds.segments.empty();
}

/// What registers of the device hold in place of zero points: sums of the codes as they are, padding that of the input's zero point, to which the
/// device adds the windows' sum of data and of weights by these factors, and a constant for every input channel.
struct CrossTerms {
  ScaleRegister data{};
  ScaleRegister weights{};
  std::int64_t per_channel = 0;
  friend bool operator==(const CrossTerms&, const CrossTerms&) = default;
};

/// Of conv2d, depthwise_conv2d, transposed_conv2d.
struct Conv2dAttributes {
  Extent2d stride{1, 1};
  Extent2d dilation{1, 1};
  Padding2d padding;
  OutputBounds bounds{};
  std::optional<CrossTerms> cross_terms{};  ///< of conv2d and depthwise_conv2d
};
/// Of fully_connected.
struct FullyConnectedAttributes {
  OutputBounds bounds{};
  std::vector<std::int64_t> active_rows = {};    ///< rows of the weights that are computed, in this order; empty: all
  std::optional<std::int64_t> bias_column = {};  ///< of a bias [outputs, columns]
  bool stated_by_input = false;    ///< the file holds the weights as [inputs, outputs]; the order of sums in float32 follows it
  bool asymmetric_inputs = false;  ///< of a hybrid layer (is_hybrid): the codes of its data shall have a zero point
};
/// Of matmul.
struct MatmulAttributes {
  bool transpose_a = false;
  bool transpose_b = false;
  OutputBounds bounds{};
};
/// Of max_pool2d, average_pool2d, sum_pool2d; filter is ignored by global_average_pool.
struct Pool2dAttributes {
  Extent2d filter{1, 1};
  Extent2d stride{1, 1};
  Padding2d padding;
  PartialWindows partial_windows = PartialWindows::dropped;
  OutputBounds bounds{};
  bool counted_padding =
      false;            ///< average: padding counts (as part of the input); only what a last window adds to it lies beyond the image
  bool planar = false;  ///< average: where the file's own program computes, each channel of the image lies by itself (NCHW)
};
enum class PoolKind : std::uint8_t { none, max, sum };
/// Of fused_conv2d; the pool's windows are read where there is a pool.
struct FusedConv2dAttributes {
  Extent2d stride{1, 1};
  Padding2d padding;
  PoolKind pool = PoolKind::none;
  Extent2d pool_filter{1, 1};
  Extent2d pool_stride{1, 1};
  PartialWindows partial_windows = PartialWindows::last_truncated;
};
/// Positions of inputs behind the weights.
inline constexpr std::size_t bias_input = 2, multiplier_input = 3;                      // fully_connected, depthwise_conv2d
inline constexpr std::size_t fused_pwl_input = 3;                                       // fused_conv2d: input, weights, bias, table
inline constexpr std::size_t recurrent_feedback_input = 2, recurrent_pwl_input = 3;     // recurrent: input, weights, feedback, table,
inline constexpr std::size_t recurrent_bias_input = 4, recurrent_multiplier_input = 5;  // bias, multiplier

/// Of mean, reduce_sum, reduce_max, reduce_min.
struct MeanAttributes {
  std::vector<std::int64_t> axes;
  bool keep_dims = false;
};
/// Of add, sub, mul, div, add_n.
struct ElementwiseAttributes {
  OutputBounds bounds{};
  bool power_of_two_scales = false;
};
/// Of concat.
struct ConcatAttributes {
  std::int64_t axis = 0;
  Activation activation = Activation::none;
};
/// Of pad.
struct PadAttributes {
  std::vector<std::array<std::int64_t, 2>> paddings;  ///< [before, after] per axis
  std::optional<std::int64_t> value;                  ///< quantised; absent: the zero point
  std::optional<double> real_value;                   ///< where the input is a float; what dequantized() makes of `value`
};
/// Of transpose: axis i of the output is axis permutation[i] of the input.
struct TransposeAttributes {
  std::vector<std::int64_t> permutation;
};
/// Of slice, strided_slice; the size is the output's shape.
struct SliceAttributes {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> strides;  ///< may be negative; empty: all 1
};
/// Of split: equal parts along an axis.
struct SplitAttributes {
  std::int64_t axis = 0;
};
/// inputs: data, indices of any shape, which takes the axis' place in the output. An index below 0 or beyond the axis counts as the nearest one there is.
struct GatherAttributes {
  std::int64_t axis = 0;
};
/// Of leaky_relu, elu.
struct LeakyReluAttributes {
  double alpha = 0;
};
/// Of softmax and log_softmax: exp(beta * x).
struct SoftmaxAttributes {
  double beta = 1;
};
/// Of clip.
struct ClipAttributes {
  OutputBounds bounds{};
};
/// inputs: input, feature weights, time weights, state, bias (may be absent); outputs: output, new state. Contract: op/svdf.hpp.
struct SvdfAttributes {
  std::int64_t rank = 1;  ///< filters that make one output
  Activation activation = Activation::none;
};
/// inputs: input, hidden state, cell state, input weights, recurrent weights, biases (each of the gates input, forget, cell, output);
/// outputs: hidden state after every step, new hidden state, new cell state. Contract: op/lstm.hpp.
struct LstmAttributes {
  double cell_clip = 0;     ///< the cell state stays within ± this; 0: unbounded
  bool time_major = false;  ///< [time, batch, values] instead of [batch, time, values]
};
/// Of requantize.
struct RequantizeAttributes {
  OutputBounds bounds{};
};
/// Of argmax, argmin.
struct ArgmaxAttributes {
  std::int64_t axis = 0;  ///< the output lacks it
};

/// Every output is the sum of the inputs before it along the axis and, unless exclusive, of the one in its place.
struct CumsumAttributes {
  std::int64_t axis = 0;
  bool exclusive = false;
  bool reverse = false;  ///< of the inputs behind it
};
/// outputs: the values in order, and the indices that they have along the axis; of equal values the first comes first. As many as the outputs have.
struct TopKAttributes {
  std::int64_t axis = 0;
  bool smallest = false;
};
/// block_quantize: of its codes. Inputs: data [..., values]; outputs: codes [..., blocks, 32], scales [..., blocks].
/// block_matmul: of its weights, its data are q8_0. Inputs: codes [..., blocks, 32] and scales [..., blocks] of the data, codes [outputs, blocks, 32] and
/// scales [outputs, blocks] of the weights; output: [..., outputs]. Contracts: op/block_quantize.hpp, op/block_matmul.hpp.
struct BlockAttributes {
  BlockFormat format = BlockFormat::q8_0;
};
/// How each class' boxes are thinned out. best_class: every box goes by its best class, all classes together. each_class: class by class.
enum class Suppression : std::uint8_t { best_class, each_class };
[[nodiscard]] std::string_view name_of(Suppression suppression);
[[nodiscard]] std::optional<Suppression> suppression_from(std::string_view name);
/// inputs: boxes [1, count, 4 or more], scores [1, count, classes, perhaps one more before them: the background], anchors [count, 4];
/// outputs: boxes [1, n, 4], classes [1, n], scores [1, n], count [1]. Contract: engine/detection.hpp.
struct DetectionAttributes {
  std::int64_t classes = 1;
  std::int64_t most_detections = 1;
  std::int64_t classes_per_detection = 1;   ///< read by best_class: that many detections of every box
  std::int64_t detections_per_class = 100;  ///< read by each_class
  Suppression suppression = Suppression::best_class;
  double least_score = 0;
  double most_overlap = 1;                   ///< in (0, 1]: area of both over area of either
  std::array<double, 4> scales{1, 1, 1, 1};  ///< of y, x, height and width
};

enum class ResizeMode : std::uint8_t { nearest, bilinear };
/// Where output pixel i lies in the input, s = output size / input size: half_pixel (i + 1/2) / s - 1/2; asymmetric i / s;
/// align_corners i * (in - 1) / (out - 1); half_pixel_or_zero: half_pixel, but 0 where the output has one pixel.
enum class ResizeCoordinates : std::uint8_t { half_pixel, asymmetric, align_corners, half_pixel_or_zero };
[[nodiscard]] std::string_view name_of(ResizeMode mode);
[[nodiscard]] std::optional<ResizeMode> resize_mode_from(std::string_view name);
[[nodiscard]] std::string_view name_of(ResizeCoordinates coordinates);
[[nodiscard]] std::optional<ResizeCoordinates> resize_coordinates_from(std::string_view name);

/// Of the sizes are the output's.
struct ResizeAttributes {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  Rounding nearest = Rounding::half_down;       ///< floor, ceil, half_down or half_up; read by nearest
  std::optional<std::array<double, 2>> scales;  ///< s of [height, width]; absent: from the sizes
};

using AnyAttributes =
    std::variant<std::monostate, Conv2dAttributes, FullyConnectedAttributes, MatmulAttributes, Pool2dAttributes, MeanAttributes,
                 ElementwiseAttributes, ConcatAttributes, PadAttributes, TransposeAttributes, SliceAttributes, SplitAttributes,
                 LeakyReluAttributes, SoftmaxAttributes, ClipAttributes, ResizeAttributes, SvdfAttributes, LstmAttributes,
                 FusedConv2dAttributes, RequantizeAttributes, ArgmaxAttributes, GatherAttributes, CumsumAttributes, TopKAttributes,
                 DetectionAttributes, BlockAttributes>;

template <class One, class Any>
inline constexpr bool is_one_of = false;
template <class One, class... Each>
inline constexpr bool is_one_of<One, std::variant<Each...>> = (std::same_as<One, Each> || ...);

/// The attributes of one operation, of the type that belongs to its kind: std::get and std::visit read them. Copied and moved in one file, as Tensor is.
class Attributes : public AnyAttributes {
 public:
  Attributes();
  template <class One>
  requires is_one_of<One, AnyAttributes> Attributes(One attributes) : AnyAttributes(std::in_place_type<One>, std::move(attributes)) {}
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();
};

/// The attributes that an operation kind carries, with default values.
[[nodiscard]] Attributes default_attributes(OperationKind kind);

inline constexpr std::int32_t absent_tensor = -1;

/// How the file states an operation on codes. on_codes: as such. The others: on real numbers, between DequantizeLinear and QuantizeLinear; a runtime that
/// fuses the three has an operator on codes for it (fusible); the same, but by default it makes uint8 of these int8 codes first (fusible_as_uint8);
/// has one that it takes by an option alone, for products of int8 codes (fusible_by_option); or has none, or not with the activation in between
/// (not_fusible).
enum class Statement : std::uint8_t { on_codes, fusible, fusible_as_uint8, fusible_by_option, not_fusible };
[[nodiscard]] std::string_view name_of(Statement statement);
[[nodiscard]] std::optional<Statement> statement_from(std::string_view name);

/// One operation of a model, on tensors by their indices.
struct Operation {
  OperationKind kind = OperationKind::conv2d;
  std::string name;                   ///< never empty: the first output's name if the file has none
  std::vector<std::int32_t> inputs;   ///< indices into Model::tensors; absent_tensor for an omitted optional input
  std::vector<std::int32_t> outputs;  ///< indices into Model::tensors
  Attributes attributes;
  Statement stated = Statement::on_codes;
};

/// A tensor of a model: its type, shape and quantisation, and its values where the file has them.
struct ModelTensor {
  std::string name;  ///< as in the user's file
  ElementType type = ElementType::int8;
  Shape shape;
  Quantization quantization;
  Constant constant;  ///< weights and other data stored in the file
  /// Of codes between two pairs of QuantizeLinear and DequantizeLinear, one directly behind the other: what a runtime that fuses makes of both pairs.
  std::optional<Quantization> merged{};
};

/// What a network remembers from one sample to the next: before the first sample `before` is real 0 (its zero point); before every other
/// one it is what `after` was when the sample before it had been computed.
struct State {
  std::int32_t before = 0;  ///< index into Model::tensors: read by operations, computed by none
  std::int32_t after = 0;   ///< computed by an operation; of the same type, shape and quantisation
};

/// A network: tensors, operations in execution order, inputs, outputs and states.
struct Model {
  std::string name;
  std::vector<ModelTensor> tensors;
  std::vector<Operation> operations;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  std::vector<State> states;

  [[nodiscard]] const ModelTensor& tensor(std::int32_t index) const { return tensors[static_cast<std::size_t>(index)]; }
  [[nodiscard]] std::optional<std::int32_t> find_tensor(std::string_view name) const;
};

/// Whether an operation sums products of float32 data and integer weights ("dynamic range quantisation"): what of, its device's rule `dynamic` says.
[[nodiscard]] bool is_hybrid(const Model& model, const Operation& operation);

/// Structural check every reader runs before it hands out a model: indices in range, every tensor written once and before it is read,
/// constants as large as their shape, quantisation well-formed (finite positive scales, counts that fit the axis), as many inputs and
/// outputs as the kind takes, attributes of the kind's own type. Throws Error(malformed_file) naming `where` and the operation.
void validate(const Model& model, std::string_view where);

}  // namespace lastbit
