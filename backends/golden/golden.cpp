// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/golden.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

consteval auto by_definition(std::string_view range) {
  return std::to_array<EvidenceRow>({{"domain", EvidenceLevel::document, "by definition: ", "IEEE 754 binary32 on the dequantised network"},
                                     {"golden_range", EvidenceLevel::document, "by definition: ", range}});
}

constexpr auto of_codes = by_definition("a code of the tensor would hold no more");
constexpr auto as_written = by_definition("the network as written");

}  // namespace

std::span<const SheetRow> golden_sheets() {
  static constexpr SheetRow sheets[]{
      {"float", "golden path: everything dequantised and computed in float, bounded by what each tensor's codes stand for", float_golden,
       of_codes},
      {"float_unbounded", "golden path without bounds: as `float`, but where a converter dropped a ReLU nothing takes its place",
       float_unbounded, as_written}};
  return sheets;
}

}  // namespace lastbit
