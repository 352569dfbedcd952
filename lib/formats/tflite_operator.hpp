// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operator of a .tflite file on its way into a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "tflite_subset_generated.h"

namespace lastbit::tflite_format {

/// What the operator says, and the model under construction, which holds all tensors already.
class OperatorReader {
 public:
  OperatorReader(lastbit::ModelBuilder& builder, const Operator& source, std::string name, std::string place,
                 std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs)
      : builder_(builder),
        source_(source),
        name_(std::move(name)),
        place_(std::move(place)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}

  [[noreturn]] void fail(ErrorCode code, const std::string& reason) const { throw Error(code, place_, reason); }
  [[noreturn]] void malformed(const std::string& reason) const { fail(ErrorCode::malformed_file, reason); }
  [[noreturn]] void unsupported(const std::string& reason) const { fail(ErrorCode::unsupported_operation, reason); }

  /// Counts, checked before any tensor is asked for. Every input up to `least` is there.
  void require_inputs(std::size_t least, std::size_t most) const;
  [[nodiscard]] bool has_input(std::size_t position) const { return position < inputs_.size() && inputs_[position] != absent_tensor; }
  [[nodiscard]] std::int32_t input_index(std::size_t position) const {
    return position < inputs_.size() ? inputs_[position] : absent_tensor;
  }
  [[nodiscard]] const ModelTensor& input(std::size_t position) const { return builder_.model.tensor(inputs_[position]); }
  [[nodiscard]] const ModelTensor& output(std::size_t position = 0) const { return builder_.model.tensor(outputs_[position]); }
  [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
  [[nodiscard]] std::size_t output_count() const { return outputs_.size(); }
  [[nodiscard]] const std::vector<std::int32_t>& inputs() const { return inputs_; }

  /// The values of a constant int32 or int64 input.
  [[nodiscard]] std::vector<std::int64_t> constant_integers(std::size_t position) const;
  /// A negative axis counts from the end.
  [[nodiscard]] std::int64_t axis_of(std::int64_t axis, const ModelTensor& tensor) const;

  template <class Options>
  [[nodiscard]] const Options* find_options() const {
    return source_.builtin_options_as<Options>();
  }
  template <class Options>
  [[nodiscard]] const Options& options() const {
    const auto* found = find_options<Options>();
    if (found == nullptr) malformed("its options are missing");
    return *found;
  }
  [[nodiscard]] Activation activation(ActivationFunctionType type) const;
  [[nodiscard]] OutputBounds bounds(ActivationFunctionType type) const {
    OutputBounds bounds;
    bounds.activation = activation(type);
    return bounds;
  }
  [[nodiscard]] Padding2d padding(Padding mode) const;

  /// Makes an input a state of the model, and returns the new tensor that holds what it was before.
  [[nodiscard]] std::int32_t state_before(std::size_t position) const;

  /// A new constant: zeros of int32, one for each of the weights' first sizes.
  [[nodiscard]] std::int32_t add_zero_bias() const;

  /// Appends an operation to the model: from these data inputs to the operator's outputs, and then to these.
  void emit(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes,
            const std::vector<std::int32_t>& more_outputs = {}) const;
  void emit(OperationKind kind, std::vector<std::int32_t> data_inputs) const {
    emit(kind, std::move(data_inputs), default_attributes(kind));
  }
  /// The same with a new tensor in between, which a reshape turns into the output.
  void emit_then_reshape(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes, Shape between) const;
  /// An operation that gives a new tensor of this shape, with the output's type and quantisation; its index.
  [[nodiscard]] std::int32_t emit_between(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes,
                                          Shape between) const;
  /// The same with a type of its own.
  [[nodiscard]] std::int32_t emit_of_type(ElementType type, Quantization quantization, OperationKind kind,
                                          std::vector<std::int32_t> data_inputs, Attributes attributes, Shape shape) const;
  /// An input as a reshape gives it, of its own type.
  [[nodiscard]] std::int32_t reshaped_input(std::size_t position, Shape shape) const {
    return emit_of_type(input(position).type, input(position).quantization, OperationKind::reshape, {input_index(position)},
                        std::monostate{}, std::move(shape));
  }
  /// An input as a reshape gives it.
  [[nodiscard]] std::int32_t reshaped(std::int32_t input, Shape shape) const {
    return emit_between(OperationKind::reshape, {input}, std::monostate{}, std::move(shape));
  }
  /// A new constant of these int32 values.
  [[nodiscard]] std::int32_t add_integers(std::string_view what, const std::vector<std::int64_t>& values) const;
  [[nodiscard]] std::int32_t add_constant(std::string_view what, lastbit::Tensor values) const;
  /// The shape of an output of which the file states none.
  void state_shape(std::size_t output, Shape shape) const;
  /// What a custom operator says.
  [[nodiscard]] std::span<const std::uint8_t> custom_options() const;
  /// To one of several outputs of the operator.
  void emit_output(OperationKind kind, std::vector<std::int32_t> data_inputs, Attributes attributes, std::size_t output) const;

 private:
  lastbit::ModelBuilder& builder_;
  const Operator& source_;
  std::string name_;
  std::string place_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> outputs_;
};

// The operators that only move data, beside pad, reshape, transpose, slices and split (tflite_movement.cpp).
void read_gather(const OperatorReader& source);
void read_pack(const OperatorReader& source);
void read_unpack(const OperatorReader& source);
void read_space_to_depth(const OperatorReader& source);
void read_depth_to_space(const OperatorReader& source);
void read_space_to_batch(const OperatorReader& source);
void read_batch_to_space(const OperatorReader& source);
void read_mirror_pad(const OperatorReader& source);
void read_tile(const OperatorReader& source);
void read_broadcast_to(const OperatorReader& source);
void read_split_v(const OperatorReader& source);
void read_reverse(const OperatorReader& source);
void read_resize_bilinear(const OperatorReader& source);
void read_resize_nearest(const OperatorReader& source);

// The operators that remember (tflite_recurrent.cpp).
void read_svdf(const OperatorReader& source);
void read_unidirectional_lstm(const OperatorReader& source);

// Truth values (tflite_logic.cpp).
void read_less(const OperatorReader& source);
void read_less_equal(const OperatorReader& source);
void read_greater(const OperatorReader& source);
void read_greater_equal(const OperatorReader& source);
void read_equal(const OperatorReader& source);
void read_not_equal(const OperatorReader& source);
void read_logical_and(const OperatorReader& source);
void read_logical_or(const OperatorReader& source);
void read_logical_not(const OperatorReader& source);
void read_select(const OperatorReader& source);
void read_select_v2(const OperatorReader& source);
void read_cast(const OperatorReader& source);
void read_one_hot(const OperatorReader& source);

// Functions of values and of one axis (tflite_functions.cpp).
void read_arg_max(const OperatorReader& source);
void read_arg_min(const OperatorReader& source);
void read_ceil(const OperatorReader& source);
void read_cumsum(const OperatorReader& source);
void read_gather_nd(const OperatorReader& source);
void read_l2_normalization(const OperatorReader& source);
void read_top_k(const OperatorReader& source);

// Custom operators (tflite_detection.cpp, tflite_transposed_bias.cpp).
void read_detection_postprocess(const OperatorReader& source);
void read_transposed_convolution_with_bias(const OperatorReader& source);

/// `custom`: the name of a custom operator.
[[nodiscard]] bool is_supported(BuiltinOperator code, std::string_view custom);
/// "CONV_2D", or "number 4711".
[[nodiscard]] std::string name_or_number(BuiltinOperator code);

/// Appends what a supported operator does.
void read_operator(BuiltinOperator code, std::string_view custom, const OperatorReader& source);

}  // namespace lastbit::tflite_format
