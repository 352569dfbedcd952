// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/sample_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "formats/file.hpp"
#include "formats/raw_values.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npz.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/samples.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, SampleForm>, 10> endings{{{".npy", SampleForm::array},
                                                                           {".npz", SampleForm::array},
                                                                           {".bin", SampleForm::raw},
                                                                           {".raw", SampleForm::raw},
                                                                           {".png", SampleForm::image},
                                                                           {".jpg", SampleForm::image},
                                                                           {".jpeg", SampleForm::image},
                                                                           {".ppm", SampleForm::image},
                                                                           {".pgm", SampleForm::image},
                                                                           {".pnm", SampleForm::image}}};

std::optional<SampleForm> known_form(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* const found = std::ranges::find(endings, std::string_view(extension), [](const auto& each) { return each.first; });
  return found == endings.end() ? std::nullopt : std::optional(found->second);
}

class ArrayFile final : public SampleFile {
 public:
  ArrayFile(NpyFile file, const ModelTensor& input, const std::string& where) : file_(std::move(file)), input_(input.type) {
    if (type() != ElementType::float32 && type() != input.type) {
      throw Error(ErrorCode::type_mismatch, where,
                  std::string(name_of(file_.type())) + "; input '" + input.name + "' needs float32" +
                      (input.type == ElementType::float32 ? "" : " or " + std::string(name_of(input.type))));
    }
    const auto samples = samples_in(file_.shape(), input.shape);
    if (!samples)
      throw Error(ErrorCode::shape_mismatch, where,
                  "shape " + file_.shape().text() + "; input '" + input.name + "' needs " + input.shape.text() +
                      ", or a leading dimension of samples more");
    samples_ = *samples;
  }
  [[nodiscard]] ElementType type() const override {
    const bool widens = file_.type() == ElementType::float16 && input_ != ElementType::float16;
    return widens ? ElementType::float32 : file_.type();
  }
  [[nodiscard]] std::int64_t samples() const override { return samples_; }
  [[nodiscard]] Tensor read(std::int64_t first, std::int64_t count) override {
    return as_given_to(samples_ == 0 ? file_.values() : file_.rows(first, count), input_);
  }

 private:
  NpyFile file_;
  ElementType input_;
  std::int64_t samples_ = 0;
};

/// Values without a header: of the input's type, or float32.
class RawFile final : public SampleFile {
 public:
  RawFile(const fs::path& path, const ModelTensor& input) : file_(file_bytes(path)), elements_(input.shape.element_count()) {
    const auto own = static_cast<std::uint64_t>(elements_) * size_of(input.type), real = static_cast<std::uint64_t>(elements_) * 4;
    const std::uint64_t size = file_->size();
    const bool fits_own = size > 0 && size % own == 0, fits_real = size > 0 && size % real == 0;
    if (!fits_own && !fits_real) {
      const std::string name = "input '" + input.name + "'";
      throw Error(ErrorCode::shape_mismatch, path.string(),
                  count_of(static_cast<std::int64_t>(size), "byte") + "; a sample of " + name + " has " + std::to_string(own) + " (" +
                      std::string(name_of(input.type)) + ")" +
                      (input.type == ElementType::float32 ? "" : " or " + std::to_string(real) + " (float32)"));
    }
    const bool is_real = fits_real && size != own && (!fits_own || first_looks_real(real));
    type_ = is_real ? ElementType::float32 : input.type;
    const auto count = static_cast<std::int64_t>(size / (is_real ? real : own));
    samples_ = count == 1 ? 0 : count;
  }
  [[nodiscard]] ElementType type() const override { return type_; }
  [[nodiscard]] std::int64_t samples() const override { return samples_; }
  [[nodiscard]] Tensor read(std::int64_t first, std::int64_t count) override {
    Tensor tensor(type_, Shape({count, elements_}));
    file_->read_at(static_cast<std::uint64_t>(first * elements_) * size_of(type_), tensor.bytes());
    return tensor;
  }

 private:
  [[nodiscard]] bool first_looks_real(std::uint64_t size) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    file_->read_at(0, bytes);
    return look_real(bytes);
  }

  std::unique_ptr<ByteSource> file_;
  std::int64_t elements_ = 0;
  ElementType type_ = ElementType::float32;
  std::int64_t samples_ = 0;
};

class ImageFile final : public SampleFile {
 public:
  ImageFile(fs::path path, ImageInput input) : path_(std::move(path)), input_(std::move(input)) {
    input_.require(read_image_header(path_), path_.string());
  }
  [[nodiscard]] ElementType type() const override { return input_.type(); }
  [[nodiscard]] std::int64_t samples() const override { return 0; }
  [[nodiscard]] Tensor read(std::int64_t /*first*/, std::int64_t /*count*/) override {
    return input_.values(read_image(path_), path_.string());
  }

 private:
  fs::path path_;
  ImageInput input_;
};

}  // namespace

SampleForm form_of(const fs::path& file) { return known_form(file).value_or(SampleForm::array); }
bool has_samples(const fs::path& file) { return known_form(file).has_value(); }

std::string sample_endings() {
  std::string text;
  for (const auto& [ending, form] : endings) text += (text.empty() ? "" : ", ") + std::string(ending);
  return text;
}

std::unique_ptr<SampleFile> SampleReader::open(const fs::path& file) const {
  switch (form_of(file)) {
    case SampleForm::raw: return std::make_unique<RawFile>(file, input_);
    case SampleForm::image: return std::make_unique<ImageFile>(file, ImageInput(input_, images_));
    case SampleForm::array: break;
  }
  return open_array(file);
}

std::unique_ptr<SampleFile> SampleReader::open_array(const fs::path& file) const {
  if (!is_npz(file)) return std::make_unique<ArrayFile>(NpyFile(file), input_, file.string());
  const NpzFile arrays(file);
  const std::string name = array_of_input(arrays.names(), input_.name, position_, inputs_, file);
  return std::make_unique<ArrayFile>(arrays.open(name), input_, file.string() + ": " + printable(name));
}

std::string SampleReader::text(SampleForm form, ElementType type) const {
  if (form == SampleForm::image) return "images: " + ImageInput(input_, images_).text();
  if (form == SampleForm::raw) return "raw values, read as " + std::string(name_of(type));
  return {};
}

std::vector<double> SampleReader::identity(SampleForm form) const {
  if (form != SampleForm::image) return {};
  std::vector<double> numbers{static_cast<double>(images_.colors), images_.resize ? 1.0 : 0.0};
  for (const std::vector<double>* const list : {&images_.mean, &images_.std}) {
    numbers.push_back(static_cast<double>(list->size()));
    numbers.insert(numbers.end(), list->begin(), list->end());
  }
  return numbers;
}

}  // namespace lastbit
