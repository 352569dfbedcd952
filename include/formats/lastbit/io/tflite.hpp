// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Lite (LiteRT) networks.
//
// Tensor i of the model is tensor i of the file's first subgraph; constant shapes, axes and paddings become attributes. Where one operator
// of the file is two operations here (a strided slice that drops dimensions), the tensor between them follows after those of the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/io/cut.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// A validated model, or a part of it. Throws Error naming the file, and the operator or tensor. `shapes`: of inputs, by name, whose sizes the file
/// leaves open (its shape_signature); those that it puts for them serve where none is given.
[[nodiscard]] Model read_tflite(const std::filesystem::path& path, const Cut& cut = {},
                                const std::map<std::string, Shape, std::less<>>& shapes = {});

/// The same from memory; `where` names the bytes in messages.
[[nodiscard]] Model parse_tflite(std::span<const std::byte> bytes, std::string_view where, const Cut& cut = {},
                                 const std::map<std::string, Shape, std::less<>>& shapes = {});

/// Replaces the file. Reading it back gives the same network: tensor i is tensor i, and constants that stand in the file for shapes, axes and
/// paddings follow. Operations have the names of their outputs there. Throws Error(unsupported_operation) naming what the format cannot say: an
/// operation that it lacks, bounds that are no activation, a padding that is neither `same` nor `valid`, a scale that is no 32-bit float;
/// Error(unreadable_file) where the file cannot be written.
void write_tflite(const Model& model, const std::filesystem::path& path);

/// The network with a pad before every convolution and pool whose padding is neither `same` nor `valid`, so that write_tflite() can say it. The values
/// are the same: a pad holds the zero point, before a max pool the least value. Averages that leave padding out stay as they are.
[[nodiscard]] Model with_pads(Model model);

/// The same into memory; `where` names the file in messages.
[[nodiscard]] std::vector<std::byte> tflite_bytes(const Model& model, std::string_view where);

}  // namespace lastbit
