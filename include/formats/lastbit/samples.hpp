// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Samples of a network's inputs on disk, read a few at a time: what is in memory does not depend on how many there are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// Per input of the model, where its samples are: the place itself where there is one input; else the place is a folder that holds, per
/// input, a file or folder of its name (characters other than letters, digits, '-', '.' and '_' written as '_'). Throws Error.
[[nodiscard]] std::vector<std::filesystem::path> places_of_inputs(const Model& model, const std::filesystem::path& place);

/// A place is a .npy file, one sample or several along an extra leading dimension; or a folder of such files, in the order of their names.
/// The files of one input are all float32, or all of the input's type.
class SampleSource {
 public:
  /// One place per input of the model. Reads every header, and no value. Throws Error naming the file: unreadable, of another type or size;
  /// or the inputs have different numbers of samples.
  SampleSource(const Model& model, std::span<const std::filesystem::path> places);

  [[nodiscard]] std::int64_t samples() const { return inputs_.empty() ? 0 : inputs_.front().samples; }

  /// Samples first … first + count - 1 (which there must be, count > 0): per input of the model a tensor with a leading dimension of `count`.
  /// Throws Error naming the file: unreadable, a value not finite.
  [[nodiscard]] std::vector<Tensor> read(std::int64_t first, std::int64_t count);

  /// A checksum of the names, sizes and times of last change of the files, and of the inputs they belong to: of other data, another one.
  [[nodiscard]] std::string identity() const;

 private:
  struct Piece {
    std::filesystem::path file;
    std::int64_t first = 0;    ///< sample
    std::int64_t samples = 0;  ///< 0: the file is one sample, without a leading dimension of its own
  };
  struct Input {
    std::string name;
    Shape shape;
    ElementType type = ElementType::float32;
    std::vector<Piece> pieces;
    std::int64_t samples = 0;
    std::optional<NpyFile> open;  ///< the file read last
    std::size_t open_piece = 0;
  };
  static Input open_input(const ModelTensor& tensor, const std::filesystem::path& place);
  static Tensor read_input(Input& input, std::int64_t first, std::int64_t count);
  static void read_piece(Input& input, std::size_t piece, std::int64_t first, std::span<std::byte> into);

  std::vector<Input> inputs_;
};

}  // namespace lastbit
