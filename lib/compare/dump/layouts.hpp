// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Orders of values in a file that are not the model's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// One sample of a tensor in a file.
struct FileLayout {
  std::string name;                 ///< "nc1hwc0"
  std::vector<std::int64_t> sizes;  ///< of the file's axes
  std::vector<std::size_t> places;  ///< of every value in the model's order: where it stands in the file

  [[nodiscard]] std::int64_t size() const { return Shape(sizes).element_count(); }
};

/// Of a shape with four axes, or three, whose last is the channel: NCHW.
[[nodiscard]] FileLayout channels_first(const Shape& shape);

/// Those that differ from the model's for this shape, whose last axis is the channel; rows of values can only be filled up.
[[nodiscard]] std::vector<FileLayout> layouts_of(const Shape& shape);

/// Of these the one that a file's shape tells, with samples in front: none where it may be the model's own, and where it tells none.
[[nodiscard]] std::optional<FileLayout> layout_by_shape(const Shape& file, const Shape& shape);

/// Of values whose shape does not tell their order: the one that fills channels up, with one value wherever it does. Of several the one with the
/// fewest samples. None: nothing is filled up.
[[nodiscard]] std::optional<FileLayout> layout_by_fill(const Tensor& file, const Shape& shape);

/// The one that is named. A file's own axes say how wide its blocks are; without them the device's usual width does, 32 for values of a byte and 16
/// for wider ones, else the one that one sample fills. None: the model's own, or no other order of this tensor. Throws Error(shape_mismatch) where
/// the values do not fill it.
[[nodiscard]] std::optional<FileLayout> layout_named(std::string_view name, const Tensor& file, const Shape& shape,
                                                     const std::string& where);

/// "nc1hwc0, C0 = 16", "nhwc32, 32 channels for 19".
[[nodiscard]] std::string text_of(const FileLayout& layout, const Shape& shape);

/// The values in the model's order, with a leading axis of samples where there are several.
[[nodiscard]] Tensor in_model_order(const Tensor& file, const FileLayout& layout, const Shape& shape);

/// The other way round, of a tensor in the model's order, with samples in front or without. What fills up is 0.
[[nodiscard]] Tensor in_file_order(const Tensor& values, const FileLayout& layout);

}  // namespace lastbit
