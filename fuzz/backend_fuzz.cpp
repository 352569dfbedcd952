// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A device's file is a sheet that can be described, written and read again, or is refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastbit;
  return fuzz::expect_value_or_error([&] {
    const SpecSheet sheet = backend_from_json({reinterpret_cast<const char*>(data), size}, "backend.json");
    static_cast<void>(list_rules(sheet.backend));
    const SpecSheet again = backend_from_json(backend_to_json(sheet), "again");
    if (!(again.backend == sheet.backend)) std::abort();
  });
}
