// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lastbit/io/json_model.hpp"
#include "reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lastbit::fuzz::expect_value_or_error([&] {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const lastbit::Model model = lastbit::parse_json_model(text, "/nonexistent", "input.json");
    lastbit::validate(model, "again");
  });
}
