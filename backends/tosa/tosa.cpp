// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/tosa.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto document = EvidenceLevel::document;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view apply_scale =
    "TOSA reference model, quant_util.h (Arm, 2020-2021): apply_scale_32, apply_scale_16, reciprocal_scale, compiled and recorded";
constexpr std::string_view specification = "TOSA specification: integer operators give the same bits on every conforming device";
constexpr std::string_view compiler = "RESCALE is given multiplier and shift: here as TFLite's converter makes them of a scale";

constexpr EvidenceRow evidence[]{
    {"*", document, specification},
    {"*.*.bias", document, "TOSA specification: after the sum; of exact sums it makes no difference"},
    {"*.*.output.chain", code, apply_scale},
    {"*.*.output.scale", assumption, compiler},
    {"*.*.output.by", assumption, compiler},
    {"average_pool", code, apply_scale},
    {"global_average_pool", document, "TOSA specification: AVG_POOL2D whose window is the image"},
    {"mul", assumption, compiler},
    {"mul.chain", code, apply_scale},
    {"requantize", assumption, compiler},
    {"requantize.chain", code, apply_scale},
};

}  // namespace

std::span<const SheetRow> tosa_sheets() {
  static constexpr SheetRow sheets[]{{"tosa_single", "Arm TOSA, RESCALE with SINGLE_ROUND", tosa_single, evidence, {}},
                                     {"tosa_double", "Arm TOSA, RESCALE with DOUBLE_ROUND", tosa_double, evidence, {}}};
  return sheets;
}

}  // namespace lastbit
