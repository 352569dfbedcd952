// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A run of two layers, and its tensors as the tools of vendors write them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/dump.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"

namespace lastbit::test::dumped {

namespace fs = std::filesystem;

/// Two layers on images of 5 by 7: x of 3 channels, net/y of 19, net/z of 20.
inline Model two_layers() {
  ModelBuilder builder("two layers");
  const auto weights = [&](const char* name, std::int64_t out, std::int64_t in) {
    std::vector<std::int8_t> values(static_cast<std::size_t>(out * in));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int8_t>(static_cast<int>((i * 37 + 11) % 201) - 100);
    return builder.constant<std::int8_t>(name, {out, 1, 1, in}, values, {{0.02}, {0}});
  };
  const auto x = builder.input({"x", ElementType::int8, {1, 5, 7, 3}, {{0.05}, {3}}});
  const auto y =
      builder.operation(OperationKind::conv2d, {x, weights("w1", 19, 3)}, {"net/y", ElementType::int8, {1, 5, 7, 19}, {{0.07}, {-5}}});
  const auto z =
      builder.operation(OperationKind::conv2d, {y, weights("w2", 20, 19)}, {"net/z", ElementType::int8, {1, 5, 7, 20}, {{0.4}, {7}}});
  builder.model.operations[0].name = "Conv_0";
  builder.model.operations[1].name = "Conv_1";
  return builder.finished({z});
}

struct Run {
  Model model = two_layers();
  NamedTrace trace;
  explicit Run(std::int64_t samples = 1) {
    Tensor image(ElementType::int8, samples == 1 ? Shape({1, 5, 7, 3}) : Shape({samples, 1, 5, 7, 3}));
    std::int64_t i = 0;
    for (std::int8_t& value : image.values<std::int8_t>()) value = static_cast<std::int8_t>((i++ * 53) % 251 - 125);
    trace = run_named(model, find_backend("tflite_double"), std::vector<Tensor>{image});
  }
  [[nodiscard]] const Tensor& tensor(const std::string& name) const { return trace.find(name)->values; }
};

inline const std::array<std::string, 3> names{"x", "net/y", "net/z"};

/// An empty folder beside others of the test.
class Folder {
 public:
  Folder() : path_(parent().path() / std::to_string(made_++)) { fs::create_directory(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  static const test::Scratch& parent() {
    static const test::Scratch scratch;
    return scratch;
  }
  static inline int made_ = 0;
  fs::path path_;
};

inline std::string file_name(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

/// The values of one sample, or more, at [n,h,w,c], put where `place` says, among `size` values of a sample.
inline Tensor placed(const Tensor& tensor, std::int64_t c_size, Shape shape,
                     const std::function<std::int64_t(std::int64_t h, std::int64_t w, std::int64_t c)>& place) {
  Tensor file(ElementType::int8, std::move(shape));
  std::ranges::fill(file.values<std::int8_t>(), std::int8_t{99});  // what fills up is not 0
  const std::int64_t own = 5 * 7 * c_size, samples = tensor.element_count() / own, size = file.element_count() / samples;
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t h = 0; h < 5; ++h)
      for (std::int64_t w = 0; w < 7; ++w)
        for (std::int64_t c = 0; c < c_size; ++c)
          file.values<std::int8_t>()[static_cast<std::size_t>(n * size + place(h, w, c))] =
              tensor.values<std::int8_t>()[static_cast<std::size_t>(n * own + (h * 7 + w) * c_size + c)];
  return file;
}

inline std::int64_t channels_of(const std::string& name) { return name == "x" ? 3 : name == "net/y" ? 19 : 20; }

inline Tensor as_nchw(const Tensor& tensor, std::int64_t channels) {
  const std::int64_t samples = tensor.element_count() / (35 * channels);
  return placed(tensor, channels, Shape({samples, channels, 5, 7}), [](auto h, auto w, auto c) { return (c * 5 + h) * 7 + w; });
}

inline Tensor as_nc1hwc0(const Tensor& tensor, std::int64_t channels, std::int64_t c0) {
  const std::int64_t samples = tensor.element_count() / (35 * channels), blocks = (channels + c0 - 1) / c0;
  return placed(tensor, channels, Shape({samples, blocks, 5, 7, c0}),
                [&](auto h, auto w, auto c) { return ((c / c0 * 5 + h) * 7 + w) * c0 + c % c0; });
}

inline Tensor as_nhwc_padded(const Tensor& tensor, std::int64_t channels, std::int64_t multiple) {
  const std::int64_t samples = tensor.element_count() / (35 * channels), all = (channels + multiple - 1) / multiple * multiple;
  return placed(tensor, channels, Shape({samples, 5, 7, all}), [&](auto h, auto w, auto c) { return (h * 7 + w) * all + c; });
}

inline void write_bytes(const fs::path& file, const Tensor& tensor) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(tensor.bytes().data()), static_cast<std::streamsize>(tensor.bytes().size()));
}

inline void write_lines(const fs::path& file, const Tensor& tensor, const std::function<std::string(std::int8_t)>& text) {
  std::ofstream out(file);
  for (const std::int8_t value : tensor.values<std::int8_t>()) out << text(value) << "\n";
}

inline std::string printed(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// The dump holds the run, every tensor of it, and says so of each.
inline void check_holds(const Run& run, const NamedTrace& dump, std::size_t tensors = 3) {
  CHECK(dump.tensors.size() == tensors);
  for (const NamedTensor& tensor : dump.tensors) {
    INFO(tensor.name);
    CHECK(tensor.values == run.tensor(tensor.name));
  }
  CHECK(dump.unfit.empty());
}

inline bool says(const NamedTrace& dump, const std::string& text) {
  return std::ranges::any_of(dump.readings, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

inline std::string refusal(const fs::path& folder, const Model& model, const DumpOptions& options = {}) {
  try {
    static_cast<void>(read_dump(folder, model, options));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace lastbit::test::dumped
