// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/input_shapes.hpp"

#include <optional>

#include "lastbit/printable.hpp"

namespace lastbit::onnx_format {
namespace {

constexpr char open_size[] = "?";

struct Size {
  std::optional<std::int64_t> value;  ///< none: open
  std::string name;                   ///< what the file calls an open one; may be empty
};

struct Input {
  std::string name;
  std::vector<Size> sizes;
  bool stated = false;  ///< how many sizes there are
};

Input input_from(const onnx::ValueInfoProto& source) {
  Input input{source.name(), {}, source.type().tensor_type().has_shape()};
  for (const auto& dimension : source.type().tensor_type().shape().dim()) {
    const bool open = !dimension.has_dim_value() || dimension.dim_value() < 1;
    Size size{open ? std::nullopt : std::optional(dimension.dim_value()), {}};
    if (dimension.has_dim_param()) size.name = dimension.dim_param();
    input.sizes.push_back(std::move(size));
  }
  return input;
}

class OpenSizes {
 public:
  OpenSizes(std::vector<Input> inputs, const std::string& where) : inputs_(std::move(inputs)), where_(where) {}

  void give(const std::string& name, const Shape& shape) {
    Input& input = called(name);
    if (!input.stated) input.sizes.resize(shape.rank());
    if (input.sizes.size() != shape.rank()) misfit(input, shape);
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      const auto& stated = input.sizes[axis].value;
      if (shape[axis] < 1 || (stated && *stated != shape[axis])) misfit(input, shape);
    }
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) set(input.sizes[axis], shape[axis]);
    input.stated = true;
  }

  /// Sizes of one name are one.
  void share() {
    for (Input& input : inputs_)
      for (Size& size : input.sizes) size.value = size_of(size);
  }
  /// An open batch is one sample.
  void complete() {
    for (Input& input : inputs_)
      if (!input.sizes.empty() && !size_of(input.sizes[0])) set(input.sizes[0], 1);
    share();
  }

  /// How all that is open is given.
  [[nodiscard]] std::string options() const {
    std::string options;
    for (const Input& input : inputs_) {
      const std::string sizes = input.stated ? text(input) : "…";
      if (!input.stated || sizes.find(open_size) != std::string::npos) options += " --shape " + printable(input.name) + "=" + sizes;
    }
    return options;
  }

  [[nodiscard]] std::map<std::string, Shape> shapes() const {
    std::map<std::string, Shape> shapes;
    for (const Input& input : inputs_) {
      std::vector<std::int64_t> sizes;
      for (std::size_t axis = 0; axis < input.sizes.size(); ++axis) {
        if (!input.sizes[axis].value) refuse(input, axis);
        sizes.push_back(*input.sizes[axis].value);
      }
      if (!input.stated) throw Error(ErrorCode::unsupported_operation, place(input), "no shape is stated;" + options() + " says which");
      shapes.emplace(input.name, Shape(std::move(sizes)));
    }
    return shapes;
  }

 private:
  [[nodiscard]] std::string place(const Input& input) const { return where_ + ": input '" + printable(input.name) + "'"; }

  [[nodiscard]] Input& called(const std::string& name) {
    std::string names;
    for (Input& input : inputs_) {
      if (input.name == name) return input;
      names += (names.empty() ? "" : ", ") + std::string("'") + printable(input.name) + "'";
    }
    throw Error(ErrorCode::bad_input, where_, "a shape is given for '" + printable(name) + "'; the inputs are " + names);
  }

  [[nodiscard]] std::optional<std::int64_t> size_of(const Size& size) const {
    const auto named = names_.find(size.name);
    return size.value || size.name.empty() || named == names_.end() ? size.value : named->second;
  }
  void set(Size& size, std::int64_t value) {
    size.value = value;
    if (size.name.empty()) return;
    const auto [at, added] = names_.emplace(size.name, value);
    if (at->second != value)
      throw Error(ErrorCode::bad_input, where_,
                  "'" + printable(size.name) + "' is given as " + std::to_string(at->second) + " and as " + std::to_string(value));
  }

  [[nodiscard]] static std::string text(const Input& input) {
    std::string text;
    for (const Size& size : input.sizes) text += (text.empty() ? "" : "x") + (size.value ? std::to_string(*size.value) : open_size);
    return text;
  }
  [[noreturn]] void refuse(const Input& input, std::size_t axis) const {
    const std::string& name = input.sizes[axis].name;
    throw Error(
        ErrorCode::unsupported_operation, place(input),
        "dimension " + std::to_string(axis) + (name.empty() ? "" : " '" + printable(name) + "'") + " is open;" + options() + " says which");
  }
  [[noreturn]] void misfit(const Input& input, const Shape& shape) const {
    throw Error(ErrorCode::bad_input, place(input), "shape " + shape.text() + " is given; the file says " + text(input));
  }

  std::vector<Input> inputs_;
  const std::string& where_;
  std::map<std::string, std::int64_t> names_;  ///< of open sizes
};

OpenSizes sizes_given(const std::vector<const onnx::ValueInfoProto*>& inputs, const OnnxOptions& options, const std::string& where) {
  std::vector<Input> known;
  for (const auto* const input : inputs) known.push_back(input_from(*input));
  OpenSizes sizes(std::move(known), where);
  for (const auto& [name, shape] : options.shapes) sizes.give(name, shape);
  return sizes;
}

}  // namespace

std::map<std::string, Shape> input_shapes(const std::vector<const onnx::ValueInfoProto*>& inputs, const OnnxOptions& options,
                                          const std::string& where) {
  OpenSizes sizes = sizes_given(inputs, options, where);
  sizes.complete();
  return sizes.shapes();
}

std::string open_batches(const std::vector<const onnx::ValueInfoProto*>& inputs, const OnnxOptions& options, const std::string& where) {
  OpenSizes sizes = sizes_given(inputs, options, where);
  sizes.share();
  return sizes.options();
}

}  // namespace lastbit::onnx_format
