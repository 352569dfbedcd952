// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The structure of a model: what must hold before anything else about it can be looked at.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"
#include "model/operation_view.hpp"

namespace lastbit {
namespace {

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

class Validator {
 public:
  Validator(const Model& model, std::string_view where) : model_(model), where_(where), defined_(model.tensors.size(), false) {}

  void run() {
    if (!is_printable(model_.name)) fail(ErrorCode::malformed_file, "the model's name is not printable text");
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) check_tensor(i);
    if (model_.inputs.empty()) fail(ErrorCode::malformed_file, "the model has no inputs");
    for (const std::int32_t input : model_.inputs) define(input, "a model input");
    for (const State& state : model_.states) define(state.before, "a state before");
    for (std::size_t i = 0; i < model_.operations.size(); ++i) check_operation(i);
    for (const State& state : model_.states) check_state(state);
    if (model_.outputs.empty()) fail(ErrorCode::malformed_file, "the model has no outputs");
    for (const std::int32_t output : model_.outputs) require_defined(output, "a model output");
  }

 private:
  [[noreturn]] void fail(ErrorCode code, const std::string& message) const { throw Error(code, place_, message); }

  void check_tensor(std::size_t index) {
    const ModelTensor& tensor = model_.tensors[index];
    enter("tensor " + std::to_string(index));
    if (!is_printable(tensor.name)) fail(ErrorCode::malformed_file, "the name is not printable text");
    if (!tensor.name.empty()) enter("tensor '" + tensor.name + "'");
    if (tensor.type > ElementType::boolean) fail(ErrorCode::malformed_file, "unknown element type");
    if (tensor.shape.rank() > largest_rank) fail(ErrorCode::malformed_file, "more than " + std::to_string(largest_rank) + " dimensions");
    const auto count = checked_element_count(tensor.shape.sizes(), tensor.type);
    if (!count || *count * static_cast<std::int64_t>(size_of(tensor.type)) > largest_tensor_bytes) {
      fail(ErrorCode::malformed_file, "shape " + tensor.shape.text() + " has a size below 1 or is larger than 2^31 bytes");
    }
    if (tensor.constant) check_constant(tensor, *tensor.constant);
    check_quantization(tensor, tensor.quantization);
    if (tensor.merged) check_merged(tensor);
    leave();
  }

  void check_constant(const ModelTensor& tensor, const Tensor& constant) const {
    const bool fits = constant.type() == tensor.type && constant.shape() == tensor.shape &&
                      constant.bytes().size() == static_cast<std::size_t>(tensor.shape.element_count()) * size_of(tensor.type);
    if (!fits) fail(ErrorCode::malformed_file, "the stored values do not have the tensor's type and shape");
    const auto is_bool = [](std::byte value) { return value <= std::byte{1}; };
    if (tensor.type == ElementType::boolean && !std::all_of(constant.bytes().begin(), constant.bytes().end(), is_bool)) {
      fail(ErrorCode::malformed_file, "a bool is neither 0 nor 1");
    }
  }

  void check_merged(const ModelTensor& tensor) const {
    check_quantization(tensor, *tensor.merged);
    const bool can_be = is_integer(tensor.type) && size_of(tensor.type) == 1 && tensor.quantization.present() && !tensor.constant;
    if (!can_be || tensor.quantization.per_channel() || tensor.merged->scales.size() != 1)
      fail(ErrorCode::bad_quantization, "merged is for computed 8-bit codes, one scale in the place of one");
  }

  void check_quantization(const ModelTensor& tensor, const Quantization& quantization) const {
    const auto& [scales, zero_points, axis] = quantization;
    if (scales.empty() && zero_points.empty()) return;
    if (scales.size() > 1 && (axis < 0 || axis >= static_cast<std::int64_t>(tensor.shape.rank()) ||
                              tensor.shape[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(scales.size()))) {
      fail(ErrorCode::bad_quantization,
           std::to_string(scales.size()) + " scales along axis " + std::to_string(axis) + " of shape " + tensor.shape.text());
    }
    if (zero_points.size() > 1 && zero_points.size() != scales.size()) {
      fail(ErrorCode::bad_quantization,
           std::to_string(zero_points.size()) + " zero points for " + std::to_string(scales.size()) + " scales");
    }
    if (scales.empty()) fail(ErrorCode::bad_quantization, "a zero point without a scale");
    for (const double scale : scales) {
      if (!(scale >= smallest_scale && scale <= largest_scale)) {  // also false for NaN
        fail(ErrorCode::bad_quantization, "scale " + text_of(scale) + " is not between 2^-126 and 2^30");
      }
    }
    if (!is_integer(tensor.type)) return;
    const IntegerRange range = range_of(tensor.type);
    for (const std::int64_t zero : zero_points) {
      if (zero < range.min || zero > range.max) {
        fail(ErrorCode::bad_quantization, "zero point " + std::to_string(zero) + " is outside " + std::string(name_of(tensor.type)));
      }
    }
  }

  void check_operation(std::size_t index) {
    const Operation& operation = model_.operations[index];
    enter("operation " + std::to_string(index));
    if (static_cast<std::size_t>(operation.kind) >= operation_signatures().size()) fail(ErrorCode::unsupported_operation, "unknown kind");
    if (operation.name.empty() || !is_printable(operation.name)) fail(ErrorCode::malformed_file, "the name is empty or not printable text");
    place_ = place_of(where_, operation, index);
    const OperationSignature& signature = signature_of(operation.kind);
    check_count("inputs", operation.inputs.size(), signature.required_inputs, signature.most_inputs);
    check_count("outputs", operation.outputs.size(), 1, signature.most_outputs);
    if (operation.attributes.index() != signature.default_attributes().index()) {
      fail(ErrorCode::malformed_file, "attributes of another kind of operation");
    }
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const bool omitted = operation.inputs[i] == absent_tensor && i >= signature.required_inputs && signature.most_inputs != any_number;
      if (!omitted) require_defined(operation.inputs[i], "an input");
    }
    for (const std::int32_t output : operation.outputs) define(output, "an output");
    leave();
  }

  /// `after` is an operation's output, once: of everything that is defined, only inputs and the beginnings of states are none.
  void check_state(const State& state) {
    require_defined(state.after, "a state after");
    const ModelTensor &before = model_.tensor(state.before), &after = model_.tensor(state.after);
    enter("state '" + after.name + "'");
    const auto same = [&](const State& other) { return other.after == state.after; };
    const bool given =
        std::count(model_.inputs.begin(), model_.inputs.end(), state.after) != 0 ||
        std::any_of(model_.states.begin(), model_.states.end(), [&](const State& other) { return other.before == state.after; });
    if (after.constant || given || std::count_if(model_.states.begin(), model_.states.end(), same) != 1)
      fail(ErrorCode::malformed_file, "no operation computes what the state becomes, or two states become the same tensor");
    if (before.type != after.type || before.shape != after.shape || before.quantization != after.quantization)
      fail(ErrorCode::malformed_file, "type, shape or quantisation differ between '" + before.name + "' and '" + after.name + "'");
    leave();
  }

  void check_count(const std::string& what, std::size_t found, std::size_t least, std::size_t most) const {
    if (found >= least && found <= most) return;
    const std::string allowed = least == most        ? std::to_string(least)
                                : most == any_number ? std::to_string(least) + " or more"
                                                     : std::to_string(least) + " to " + std::to_string(most);
    fail(ErrorCode::malformed_file, std::to_string(found) + " " + what + "; " + allowed + " needed");
  }

  void require_index(std::int32_t index, const std::string& role) const {
    if (index >= 0 && static_cast<std::size_t>(index) < model_.tensors.size()) return;
    fail(ErrorCode::malformed_file, role + " is tensor " + std::to_string(index) + " of " + std::to_string(model_.tensors.size()));
  }

  void require_defined(std::int32_t index, const std::string& role) const {
    require_index(index, role);
    if (defined_[static_cast<std::size_t>(index)] || model_.tensor(index).constant) return;
    fail(ErrorCode::malformed_file,
         role + " is tensor " + std::to_string(index) + " '" + model_.tensor(index).name + "', which nothing has computed yet");
  }

  void define(std::int32_t index, const std::string& role) {
    require_index(index, role);
    const std::string tensor = "tensor " + std::to_string(index) + " '" + model_.tensor(index).name + "'";
    if (model_.tensor(index).constant) fail(ErrorCode::malformed_file, role + " is " + tensor + ", a constant");
    if (defined_[static_cast<std::size_t>(index)]) fail(ErrorCode::malformed_file, role + " is " + tensor + ", which is already given");
    defined_[static_cast<std::size_t>(index)] = true;
  }

  void enter(const std::string& part) { place_ = where_ + (where_.empty() ? "" : ": ") + part; }
  void leave() { place_ = where_; }

  const Model& model_;
  std::string where_;
  std::string place_ = where_;
  std::vector<bool> defined_;
};

}  // namespace

void check_operations(const Model& model, std::string_view where) {
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const OperationView operation(model, i, where);
    check_types(operation);
    check_shapes(operation);
  }
}

void validate(const Model& model, std::string_view where) {
  Validator(model, where).run();
  check_operations(model, where);
}

}  // namespace lastbit
