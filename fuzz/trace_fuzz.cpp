// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A trace's folder: trace.json of any bytes, beside one array that it may name.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "lastbit/trace.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastbit;
  static const bool has_array = [] {
    write_npy(fuzz::scratch_folder() / "x.npy", Tensor::from<std::int8_t>({1, 4}, std::vector<std::int8_t>{1, -2, 3, -4}));
    return true;
  }();
  return fuzz::expect_value_or_error([&] {
    if (has_array) static_cast<void>(read_trace(fuzz::folder_with("trace.json", data, size)));
  });
}
