// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "convert.hpp"

#include <cstring>
#include <memory>

#include "lastbit/error.hpp"
#include "lastbit/samples.hpp"

namespace lastbit::python {
namespace {

py::dtype dtype_of(ElementType type) { return py::dtype(std::string(name_of(type))); }

std::vector<py::ssize_t> sizes_of(const Shape& shape) { return {shape.sizes().begin(), shape.sizes().end()}; }

ElementType type_from(const py::array& values, const std::string& where) {
  const auto name = values.dtype().attr("name").cast<std::string>();
  const auto type = element_type_from(name);
  if (!type) throw Error(ErrorCode::type_mismatch, where, "numpy's " + name + " is no element type");
  return *type;
}

/// Values of one sample.
Tensor slice(const Tensor& tensor, const Shape& own, std::int64_t sample) {
  Tensor part(tensor.type(), own);
  const std::size_t bytes = part.bytes().size();
  std::memcpy(part.bytes().data(), tensor.bytes().data() + static_cast<std::size_t>(sample) * bytes, bytes);
  return part;
}

/// Row-major, aligned, in this machine's byte order: the array itself where it is.
py::array in_order(const py::array& values, const std::string& where) {
  constexpr int flags = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
  return py::array::ensure(values.attr("astype")(dtype_of(type_from(values, where)), py::arg("copy") = false), flags);
}

TensorView view_from(const py::array& ordered, const std::string& where) {
  const ElementType type = type_from(ordered, where);
  std::vector<std::int64_t> sizes(ordered.shape(), ordered.shape() + ordered.ndim());
  if (!checked_element_count(sizes, type)) throw Error(ErrorCode::shape_mismatch, where, "a size below 1, or too large as a whole");
  return {type, Shape(std::move(sizes)), {static_cast<const std::byte*>(ordered.data()), static_cast<std::size_t>(ordered.nbytes())}};
}

/// The samples that samples_in() finds become a leading dimension of their own.
TensorView with_samples_apart(const TensorView& view, const Shape& own) {
  const auto samples = samples_in(view.shape(), own);
  if (!samples) return view;
  std::vector<std::int64_t> sizes(own.sizes().begin(), own.sizes().end());
  if (*samples > 0) sizes.insert(sizes.begin(), *samples);
  return {view.type(), Shape(std::move(sizes)), view.bytes()};
}

}  // namespace

py::array array_of(Tensor tensor) {
  auto owned = std::make_unique<Tensor>(std::move(tensor));
  Tensor& values = *owned;
  const py::capsule owner(owned.release(), [](void* kept) { delete static_cast<Tensor*>(kept); });
  return {dtype_of(values.type()), sizes_of(values.shape()), {}, values.bytes().data(), owner};
}

py::array view_of(const Tensor& tensor, const py::object& owner) {
  py::array view(dtype_of(tensor.type()), sizes_of(tensor.shape()), {}, tensor.bytes().data(), owner);
  view.attr("setflags")(py::arg("write") = false);
  return view;
}

Tensor tensor_from(const py::array& values, const std::string& where) {
  const py::array ordered = in_order(values, where);
  return view_from(ordered, where).copy();
}

std::vector<Tensor> inputs_from(const Model& model, const std::vector<py::array>& arrays) {
  std::vector<Tensor> inputs;
  for (const TensorView& view : views_from(model, arrays).tensors) inputs.push_back(view.copy());
  return inputs;
}

Views views_from(const Model& model, const std::vector<py::array>& arrays) {
  Views views;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const bool known = i < model.inputs.size();
    const std::string where = known ? "input '" + model.tensor(model.inputs[i]).name + "'" : "inputs";
    views.kept.push_back(in_order(arrays[i], where));
    const TensorView view = view_from(views.kept.back(), where);
    views.tensors.push_back(known ? with_samples_apart(view, model.tensor(model.inputs[i]).shape) : view);
  }
  return views;
}

std::vector<std::vector<Tensor>> samples_from(const Model& model, const std::vector<py::array>& arrays) {
  const std::vector<Tensor> inputs = inputs_from(model, arrays);
  std::vector<std::vector<Tensor>> samples;
  for (std::size_t i = 0; i < inputs.size() && i < model.inputs.size(); ++i) {
    const ModelTensor& input = model.tensor(model.inputs[i]);
    const auto count = samples_in(inputs[i].shape(), input.shape);
    if (!count)
      throw Error(ErrorCode::shape_mismatch, "input '" + input.name + "'", inputs[i].shape().text() + " in place of " + input.shape.text());
    const auto number = static_cast<std::size_t>(*count == 0 ? 1 : *count);
    if (i == 0) samples.resize(number);
    if (samples.size() != number)
      throw Error(ErrorCode::shape_mismatch, "input '" + input.name + "'", "another number of samples than the first");
    for (std::size_t k = 0; k < number; ++k) samples[k].push_back(slice(inputs[i], input.shape, static_cast<std::int64_t>(k)));
  }
  return samples;
}

py::tuple shape_of(const Shape& shape) {
  py::tuple sizes(shape.rank());
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) sizes[axis] = shape[axis];
  return sizes;
}

}  // namespace lastbit::python
