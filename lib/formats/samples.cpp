// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/samples.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <utility>

#include "formats/sample_file.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npz.hpp"
#include "lastbit/printable.hpp"
#include "model/checksum.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// The files of samples that a file or folder stands for, in order.
std::vector<fs::path> files_of(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    if (has_samples(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty())
    throw Error(ErrorCode::unreadable_file, place.string(), "no .npy file is in this folder, nor one of " + sample_endings());
  const auto other = std::ranges::find_if(files, [&](const fs::path& file) { return form_of(file) != form_of(files.front()); });
  if (other != files.end())
    throw Error(ErrorCode::bad_input, place.string(),
                "holds " + files.front().filename().string() + " and " + other->filename().string() +
                    "; the files of one input need one kind: arrays, raw values or images");
  return files;
}

/// What of a name can stand in a file's.
std::string file_name_of(const std::string& input) {
  std::string name;
  for (const char c : input) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ? c : '_';
  return name;
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

/// The place below a folder that is named after an input, with an ending or without.
std::optional<fs::path> place_named(const fs::path& folder, const std::string& name) {
  if (fs::exists(folder / name)) return folder / name;
  if (fs::exists(folder / (name + ".npy"))) return folder / (name + ".npy");
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().stem() == name && has_samples(entry.path())) found.push_back(entry.path());
  if (found.size() > 1)
    throw Error(ErrorCode::bad_input, folder.string(),
                "holds " + found[0].filename().string() + " and " + found[1].filename().string() + " for one input");
  return found.empty() ? std::nullopt : std::optional(found.front());
}

}  // namespace

std::vector<fs::path> places_of_inputs(const Model& model, const fs::path& place) {
  if (model.inputs.size() == 1) return {place};
  if (is_npz(place)) return std::vector<fs::path>(model.inputs.size(), place);
  std::vector<fs::path> places;
  for (const std::int32_t index : model.inputs) {
    const std::string &input = model.tensor(index).name, name = file_name_of(input);
    const auto found = place_named(place, name);
    if (!found)
      throw Error(ErrorCode::unreadable_file, place.string(),
                  "holds neither " + name + ".npy nor a folder " + name + " for input '" + input + "'");
    places.push_back(*found);
  }
  return places;
}

std::optional<std::int64_t> samples_in(const Shape& file, const Shape& input) {
  const auto sizes = file.sizes(), own = input.sizes();
  if (std::ranges::equal(sizes, own)) return 0;
  if (sizes.size() == own.size() + 1 && std::ranges::equal(sizes.subspan(1), own)) return sizes[0];
  if (own.size() < 2 || own[0] != 1) return std::nullopt;
  if (std::ranges::equal(sizes, own.subspan(1))) return 0;
  if (sizes.size() == own.size() && std::ranges::equal(sizes.subspan(1), own.subspan(1))) return sizes[0];
  return std::nullopt;
}

bool holds_array(const fs::path& place) { return !fs::is_directory(place) && form_of(place) == SampleForm::array; }

std::string array_of_input(const std::vector<std::string>& names, const std::string& input, std::size_t position, std::size_t inputs,
                           const fs::path& file) {
  for (const std::string& name : {input, file_name_of(input), "arr_" + std::to_string(position)}) {
    const bool is_there = std::ranges::find(names, name) != names.end();
    const bool by_number = name != input && name.starts_with("arr_") && names.size() != inputs;
    if (is_there && !by_number) return name;
  }
  if (inputs == 1 && names.size() == 1) return names.front();
  std::string held;
  for (const std::string& name : names) held += (held.empty() ? "'" : ", '") + printable(name) + "'";
  throw Error(ErrorCode::bad_input, file.string(),
              "holds no array '" + input + "'" + (names.empty() ? ", nor any other" : ", but " + beginning(held)));
}

Tensor as_given_to(Tensor values, ElementType input) {
  if (values.type() != ElementType::float16 || input == ElementType::float16) return values;
  Tensor wide(ElementType::float32, values.shape());
  std::ranges::transform(values.values<Float16>(), wide.values<float>().begin(), [](Float16 value) { return to_float32(value); });
  return wide;
}

SampleSource::SampleSource(const Model& model, std::span<const fs::path> places, const ImageOptions& images) {
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    inputs_.push_back(open_input(model, i, places[i], images));
    if (inputs_[i].samples == inputs_[0].samples) continue;
    throw Error(ErrorCode::bad_input, places[i].string(),
                count_of(inputs_[i].samples, "sample") + ", but " + std::to_string(inputs_[0].samples) + " of the first input");
  }
}

SampleSource::Input SampleSource::open_input(const Model& model, std::size_t position, const fs::path& place, const ImageOptions& images) {
  const ModelTensor& tensor = model.tensor(model.inputs[position]);
  Input input{.name = tensor.name, .shape = tensor.shape, .pieces = {}, .reader = {}, .open = {}};
  input.reader = std::make_shared<const SampleReader>(model, position, images);
  for (const fs::path& path : files_of(place)) {
    const std::unique_ptr<SampleFile> file = input.reader->open(path);
    const std::int64_t samples = file->samples();
    if (input.pieces.empty()) input.type = file->type();
    if (file->type() != input.type) {
      throw Error(ErrorCode::type_mismatch, path.string(),
                  std::string(name_of(file->type())) + ", but " + input.pieces.front().file.filename().string() + " is " +
                      std::string(name_of(input.type)) + "; the files of one input need one type");
    }
    input.pieces.push_back({path, input.samples, samples});
    input.samples += std::max<std::int64_t>(samples, 1);
  }
  return input;
}

bool SampleSource::has_images() const {
  return std::ranges::any_of(inputs_, [](const Input& input) { return form_of(input.pieces.front().file) == SampleForm::image; });
}

std::size_t SampleSource::bytes_per_sample() const {
  std::size_t bytes = 0;
  for (const Input& input : inputs_) bytes += static_cast<std::size_t>(input.shape.element_count()) * size_of(input.type);
  return bytes;
}

std::vector<std::string> SampleSource::readings() const {
  std::vector<std::string> texts;
  for (const Input& input : inputs_) {
    const std::string text = input.reader->text(form_of(input.pieces.front().file), input.type);
    if (!text.empty()) texts.push_back("input '" + input.name + "': " + text);
  }
  return texts;
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
    input.open = input.reader->open(from.file);
    input.open_piece = piece;
  }
  const std::size_t size = static_cast<std::size_t>(input.shape.element_count()) * size_of(input.type);
  const auto count = static_cast<std::int64_t>(into.size() / size);
  if (input.open->type() != input.type || input.open->samples() != from.samples)
    throw Error(ErrorCode::unreadable_file, from.file.string(), "the file has changed meanwhile");
  Tensor values = input.open->read(first, count);
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
    for (const double number : input.reader->identity(form_of(input.pieces.front().file))) sum.add(std::bit_cast<std::int64_t>(number));
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
