// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>

#include "lastbit/io/onnx.hpp"
#include "reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lastbit::fuzz::expect_value_or_error([&] {
    const auto bytes = std::as_bytes(std::span(data, size));
    const lastbit::Model model = lastbit::parse_onnx(bytes, "input.onnx");
    lastbit::validate(model, "again");
  });
}
