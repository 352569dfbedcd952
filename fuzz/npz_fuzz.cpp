// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lastbit/io/npz.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lastbit::fuzz::expect_value_or_error([&] {
    const lastbit::NpzFile arrays(lastbit::fuzz::folder_with("a.npz", data, size) / "a.npz");
    for (const std::string& name : arrays.names()) {
      constexpr std::size_t most_per_byte = 1032;  // of deflate
      const lastbit::Tensor tensor = arrays.read(name);
      if (tensor.bytes().size() > most_per_byte * size) std::abort();
    }
  });
}
