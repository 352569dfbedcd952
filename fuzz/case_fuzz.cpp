// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A file of recorded cases: each is computed, or fails with a reason; the file is one, or is refused.
#include <cstddef>
#include <cstdint>

#include "lastbit/verify.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastbit;
  return fuzz::expect_value_or_error([&] { static_cast<void>(verify(fuzz::folder_with("cases.json", data, size) / "cases.json")); });
}
