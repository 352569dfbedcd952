// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/samples.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"
#include "model/checksum.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// The .npy files that a file or folder stands for, in order.
std::vector<fs::path> files_of(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) throw Error(ErrorCode::unreadable_file, place.string(), "no .npy file is in this folder");
  return files;
}

/// `first_sample`: of a file that holds several.
void require_finite(const Tensor& tensor, const fs::path& file, std::optional<std::int64_t> first_sample) {
  if (tensor.type() != ElementType::float32) return;
  const auto values = tensor.values<float>();
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const std::int64_t size = tensor.element_count() / tensor.shape()[0], index = bad - values.begin();
  const std::string sample = first_sample ? " of sample " + std::to_string(*first_sample + index / size) : "";
  throw Error(ErrorCode::bad_input, file.string(),
              "value " + std::to_string(index % size) + sample + " is " + (std::isnan(*bad) ? "NaN" : "infinite"));
}

void require_type(const NpyFile& file, const ModelTensor& input, const fs::path& path) {
  if (file.type() == ElementType::float32 || file.type() == input.type) return;
  throw Error(ErrorCode::type_mismatch, path.string(),
              std::string(name_of(file.type())) + "; input '" + input.name + "' needs float32" +
                  (input.type == ElementType::float32 ? "" : " or " + std::string(name_of(input.type))));
}

/// Along the leading dimension; 0: the file is one sample, without.
std::int64_t samples_along(const NpyFile& file, const ModelTensor& input, const fs::path& path) {
  const auto sizes = file.shape().sizes(), own = input.shape.sizes();
  if (std::ranges::equal(sizes, own)) return 0;
  if (sizes.size() == own.size() + 1 && std::ranges::equal(sizes.subspan(1), own)) return sizes[0];
  throw Error(ErrorCode::shape_mismatch, path.string(),
              "shape " + file.shape().text() + "; input '" + input.name + "' needs " + input.shape.text() +
                  ", or a leading dimension of samples more");
}

}  // namespace

std::vector<fs::path> places_of_inputs(const Model& model, const fs::path& place) {
  if (model.inputs.size() == 1) return {place};
  std::vector<fs::path> places;
  for (const std::int32_t index : model.inputs) {
    const std::string& input = model.tensor(index).name;
    std::string name;
    for (const char c : input) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ? c : '_';
    if (fs::exists(place / name)) places.push_back(place / name);
    else if (fs::exists(place / (name + ".npy"))) places.push_back(place / (name + ".npy"));
    else
      throw Error(ErrorCode::unreadable_file, place.string(),
                  "holds neither " + name + ".npy nor a folder " + name + " for input '" + input + "'");
  }
  return places;
}

SampleSource::SampleSource(const Model& model, std::span<const fs::path> places) {
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    inputs_.push_back(open_input(model.tensor(model.inputs[i]), places[i]));
    if (inputs_[i].samples == inputs_[0].samples) continue;
    throw Error(ErrorCode::bad_input, places[i].string(),
                count_of(inputs_[i].samples, "sample") + ", but " + std::to_string(inputs_[0].samples) + " of the first input");
  }
}

SampleSource::Input SampleSource::open_input(const ModelTensor& tensor, const fs::path& place) {
  Input input{.name = tensor.name, .shape = tensor.shape, .pieces = {}, .open = {}};
  for (const fs::path& path : files_of(place)) {
    const NpyFile file(path);
    require_type(file, tensor, path);
    const std::int64_t samples = samples_along(file, tensor, path);
    if (input.pieces.empty()) input.type = file.type();
    if (file.type() != input.type) {
      throw Error(ErrorCode::type_mismatch, path.string(),
                  std::string(name_of(file.type())) + ", but " + input.pieces.front().file.filename().string() + " is " +
                      std::string(name_of(input.type)) + "; the files of one input need one type");
    }
    input.pieces.push_back({path, input.samples, samples});
    input.samples += std::max<std::int64_t>(samples, 1);
  }
  return input;
}

std::vector<Tensor> SampleSource::read(std::int64_t first, std::int64_t count) {
  std::vector<Tensor> tensors;
  for (Input& input : inputs_) tensors.push_back(read_input(input, first, count));
  return tensors;
}

Tensor SampleSource::read_input(Input& input, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> sizes{count};
  sizes.insert(sizes.end(), input.shape.sizes().begin(), input.shape.sizes().end());
  Tensor tensor(input.type, Shape(std::move(sizes)));
  const std::size_t size = tensor.bytes().size() / static_cast<std::size_t>(count);
  const auto behind = std::ranges::upper_bound(input.pieces, first, {}, &Piece::first);
  auto piece = static_cast<std::size_t>(behind - input.pieces.begin()) - 1;
  for (std::int64_t done = 0; done < count; ++piece) {
    const Piece& from = input.pieces[piece];
    const std::int64_t skipped = first + done - from.first;
    const std::int64_t taken = std::min(std::max<std::int64_t>(from.samples, 1) - skipped, count - done);
    read_piece(input, piece, skipped,
               tensor.bytes().subspan(static_cast<std::size_t>(done) * size, static_cast<std::size_t>(taken) * size));
    done += taken;
  }
  return tensor;
}

void SampleSource::read_piece(Input& input, std::size_t piece, std::int64_t first, std::span<std::byte> into) {
  const Piece& from = input.pieces[piece];
  if (!input.open || input.open_piece != piece) {
    input.open.emplace(from.file);
    input.open_piece = piece;
  }
  NpyFile& file = *input.open;
  const std::size_t size = static_cast<std::size_t>(input.shape.element_count()) * size_of(input.type);
  const auto count = static_cast<std::int64_t>(into.size() / size);
  const auto fits = [&](std::int64_t samples) {
    return file.type() == input.type && file.shape().element_count() / input.shape.element_count() == samples;
  };
  if (!fits(std::max<std::int64_t>(from.samples, 1)))
    throw Error(ErrorCode::unreadable_file, from.file.string(), "the file has changed meanwhile");
  const std::int64_t leading = file.shape().rank() == 0 ? 1 : file.shape()[0];
  Tensor values = from.samples == 0 ? file.rows(0, leading) : file.rows(first, count);
  std::vector<std::int64_t> sizes{count};
  sizes.insert(sizes.end(), input.shape.sizes().begin(), input.shape.sizes().end());
  values.reshape(Shape(std::move(sizes)));
  require_finite(values, from.file, from.samples == 0 ? std::nullopt : std::optional(first));
  std::ranges::copy(values.bytes(), into.begin());
}

std::string SampleSource::identity() const {
  Checksum sum;
  for (const Input& input : inputs_) {
    sum.add(input.name);
    sum.add(std::string(name_of(input.type)));
    for (const Piece& piece : input.pieces) {
      sum.add(piece.file.filename().string());
      sum.add(piece.samples);
      sum.add(static_cast<std::int64_t>(fs::file_size(piece.file)));
      sum.add(std::int64_t{fs::last_write_time(piece.file).time_since_epoch().count()});
    }
  }
  return sum.text();
}

}  // namespace lastbit
