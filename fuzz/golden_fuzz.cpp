// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A recording's folder: golden.json of any bytes, checked against a network of one layer.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lastbit/model_builder.hpp"
#include "lastbit/recording.hpp"
#include "lastbit/registry.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastbit;
  static const Model model = [] {
    ModelBuilder builder("one relu");
    const auto x = builder.input({"x", ElementType::int8, {1, 4}, {{0.5}, {0}}});
    return builder.finished({builder.operation(OperationKind::relu, {x}, {"y", ElementType::int8, {1, 4}, {{0.5}, {0}}})});
  }();
  static const bool recorded = [] {
    write_recording(fuzz::scratch_folder(), model, find_backend("tflite_double"),
                    std::vector{Tensor::from<std::int8_t>({1, 4}, std::vector<std::int8_t>{1, -2, 3, -4})});
    return true;
  }();
  return fuzz::expect_value_or_error([&] {
    if (recorded) static_cast<void>(check_recording(fuzz::folder_with("golden.json", data, size), model, find_backend("tflite_double")));
  });
}
