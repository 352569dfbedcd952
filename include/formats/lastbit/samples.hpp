// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Samples of a network's inputs on disk, read a few at a time: what is in memory does not depend on how many there are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/io/image.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

class SampleFile;
class SampleReader;

/// Per input of the model, where its samples are: the place itself where there is one input, or where it is a .npz; else the place is a folder
/// that holds, per input, a file or folder of its name (characters other than letters, digits, '-', '.' and '_' written as '_'). Throws Error.
[[nodiscard]] std::vector<std::filesystem::path> places_of_inputs(const Model& model, const std::filesystem::path& place);

/// How many samples an array of the shape `file` is of an input: 0 for one of the input's own shape, or without its leading size of 1; N for
/// [N, the input's sizes], or for N in the place of a leading size of 1. None: it fits in none of these ways.
[[nodiscard]] std::optional<std::int64_t> samples_in(const Shape& file, const Shape& input);

/// Whether the place is one array or a .npz of them, not a folder, raw values or an image.
[[nodiscard]] bool holds_array(const std::filesystem::path& place);

/// Of the arrays of a .npz, the input's: the one of its name, as it is or as a file is named after it; the only one, of a network with one
/// input; or the one of its number, where they are arr_0, arr_1, … and as many as the inputs. Throws Error(bad_input) naming the file.
[[nodiscard]] std::string array_of_input(const std::vector<std::string>& names, const std::string& input, std::size_t position,
                                         std::size_t inputs, const std::filesystem::path& file);

/// Values of float16 for an input of another type are real ones: as float32, exactly. Others are what they were.
[[nodiscard]] Tensor as_given_to(Tensor values, ElementType input);

/// A place is a file, or a folder of files of one kind, in the order of their names:
/// - .npy, or .npz: array_of_input; one sample, or several: samples_in;
/// - .bin, .raw: bytes of the input's type or float32, which fill one sample or several. What may be either is float32 where its first values
///   look like it: none of them, 0 aside, beyond 1e-20 … 1e20;
/// - .png, .jpg, .jpeg, .ppm, .pgm, .pnm: an image, one sample: ImageInput.
/// The files of one input are all float32, or all of the input's type.
class SampleSource {
 public:
  /// One place per input of the model. Reads every header, and no value. Throws Error naming the file: unreadable, of another type or size;
  /// or the inputs have different numbers of samples.
  SampleSource(const Model& model, std::span<const std::filesystem::path> places, const ImageOptions& images = {});

  [[nodiscard]] std::int64_t samples() const { return inputs_.empty() ? 0 : inputs_.front().samples; }

  [[nodiscard]] bool has_images() const;

  /// What one sample of all inputs takes in memory, in bytes.
  [[nodiscard]] std::size_t bytes_per_sample() const;

  /// "input 'x': images: rgb; codes are the pixels less 128", of each input whose files do not say themselves what their values are.
  [[nodiscard]] std::vector<std::string> readings() const;

  /// Samples first … first + count - 1 (which there must be, count > 0): per input of the model a tensor with a leading dimension of `count`.
  /// Throws Error naming the file: unreadable, damaged, a value not finite.
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
    std::shared_ptr<const SampleReader> reader;
    std::shared_ptr<SampleFile> open;  ///< the file read last
    std::size_t open_piece = 0;
  };
  static Input open_input(const Model& model, std::size_t position, const std::filesystem::path& place, const ImageOptions& images);
  static Tensor read_input(Input& input, std::int64_t first, std::int64_t count);
  static void read_piece(Input& input, std::size_t piece, std::int64_t first, std::span<std::byte> into);

  std::vector<Input> inputs_;
};

}  // namespace lastbit
