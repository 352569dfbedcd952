// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// numpy arrays and the library's tensors. What the library computed is handed out without a copy: the array owns the tensor. What it is given
// it reads where it lies (Views), or copies once into a Tensor, which owns its values.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <vector>

#include "lastbit/model.hpp"
#include "lastbit/tensor.hpp"
#include "lastbit/tensor_view.hpp"

namespace lastbit::python {

namespace py = pybind11;

/// An array that owns the tensor.
[[nodiscard]] py::array array_of(Tensor tensor);
/// An array that is read alone and keeps `owner`, to which the tensor belongs.
[[nodiscard]] py::array view_of(const Tensor& tensor, const py::object& owner);

/// Row-major values of an element type. Throws Error(type_mismatch) naming `where`.
[[nodiscard]] Tensor tensor_from(const py::array& values, const std::string& where);

/// The inputs of a model, in its order, with samples where samples_in() finds them.
[[nodiscard]] std::vector<Tensor> inputs_from(const Model& model, const std::vector<py::array>& arrays);

/// The inputs of a model without a copy. An array is kept, or a copy where it is not row-major, aligned and in this machine's byte order.
struct Views {
  std::vector<py::array> kept;
  std::vector<TensorView> tensors;
};
[[nodiscard]] Views views_from(const Model& model, const std::vector<py::array>& arrays);

/// One list of inputs for each sample. Throws Error(shape_mismatch) where an input has another shape, or another number of samples.
[[nodiscard]] std::vector<std::vector<Tensor>> samples_from(const Model& model, const std::vector<py::array>& arrays);

[[nodiscard]] py::tuple shape_of(const Shape& shape);

}  // namespace lastbit::python
