// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The files that hold samples, whatever their form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lastbit/io/image.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// By the file's ending; none of those that are known: an array.
enum class SampleForm { array, raw, image };
[[nodiscard]] SampleForm form_of(const std::filesystem::path& file);
/// Whether the ending is one of those that are known.
[[nodiscard]] bool has_samples(const std::filesystem::path& file);
/// ".npy, .npz, …", for messages.
[[nodiscard]] std::string sample_endings();

/// One file, opened.
class SampleFile {
 public:
  virtual ~SampleFile() = default;
  [[nodiscard]] virtual ElementType type() const = 0;
  /// Along a leading dimension; 0: the file is one sample, without.
  [[nodiscard]] virtual std::int64_t samples() const = 0;
  /// Samples first … first + count - 1, which there must be; of any shape with so many elements. Throws Error naming the file.
  [[nodiscard]] virtual Tensor read(std::int64_t first, std::int64_t count) = 0;
};

/// How files become samples of one input of a model.
class SampleReader {
 public:
  /// Input number `position` of the model.
  SampleReader(const Model& model, std::size_t position, ImageOptions images)
      : input_(model.tensor(model.inputs[position])), position_(position), inputs_(model.inputs.size()), images_(std::move(images)) {}

  /// Reads what stands before the values. Throws Error naming the file: unreadable, of another type or size.
  [[nodiscard]] std::unique_ptr<SampleFile> open(const std::filesystem::path& file) const;
  /// "images: rgb; codes are the pixels": what a reader of the report must know of files of this form and type; empty: nothing.
  [[nodiscard]] std::string text(SampleForm form, ElementType type) const;
  /// What else makes other values of the same files of this form.
  [[nodiscard]] std::vector<double> identity(SampleForm form) const;

 private:
  [[nodiscard]] std::unique_ptr<SampleFile> open_array(const std::filesystem::path& file) const;

  ModelTensor input_;
  std::size_t position_ = 0, inputs_ = 0;
  ImageOptions images_;
};

}  // namespace lastbit
