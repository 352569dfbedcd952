// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/ggml.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;

constexpr std::string_view ggml = "ggml-org/ggml d99724f2, ";
constexpr std::string_view in_blocks = "ggml-quants.h: what is in blocks is multiplied as integers";

constexpr EvidenceRow portable_evidence[]{
    {"domain", source, ggml, in_blocks},
    {"block_quantize.q8_0", code, ggml, "quantize_row_q8_0_ref, run and recorded, ggml/quantize_row, ggml/vec_dot"},
    {"block_quantize.q4_0", code, ggml, "quantize_row_q4_0_ref, run and recorded, ggml/quantize_row, ggml/vec_dot"},
    {"block_matmul.q8_0", code, ggml, "ggml_vec_dot_q8_0_q8_0_generic, run and recorded, ggml/quantize_row, ggml/vec_dot"},
    {"block_matmul.q4_0", code, ggml, "ggml_vec_dot_q4_0_q8_0_generic, run and recorded, ggml/quantize_row, ggml/vec_dot"}};

// Of vectors: built by gcc 12 -O3, which fuses what it may.
constexpr EvidenceRow avx2_evidence[]{
    {"domain", source, ggml, in_blocks},
    {"block_quantize.q8_0", code, ggml, "quantize_row_q8_0, arch/x86/quants.c, run and recorded, ggml_avx2/*"},
    {"block_quantize.q4_0", code, ggml, "quantize_row_q4_0_ref, run and recorded, ggml_avx2/*"},
    {"block_matmul.q8_0", code, ggml, "ggml_vec_dot_q8_0_q8_0, arch/x86/quants.c, run and recorded, ggml_avx2/*"},
    {"block_matmul.q4_0", code, ggml, "ggml_vec_dot_q4_0_q8_0, arch/x86/quants.c, run and recorded, ggml_avx2/*"}};
constexpr EvidenceRow neon_evidence[]{
    {"domain", source, ggml, in_blocks},
    {"block_quantize.q8_0", code, ggml, "quantize_row_q8_0, arch/arm/quants.c, run and recorded, ggml_neon/*"},
    {"block_quantize.q4_0", code, ggml, "quantize_row_q4_0_ref, run and recorded, ggml_neon/*"},
    {"block_matmul.q8_0", code, ggml, "ggml_vec_dot_q8_0_q8_0, arch/arm/quants.c, run and recorded, ggml_neon/*"},
    {"block_matmul.q4_0", code, ggml, "ggml_vec_dot_q4_0_q8_0, arch/arm/quants.c, run and recorded, ggml_neon/*"}};

constexpr std::string_view fuses = "a compiler that fuses, for a processor that can";
/// Where a compiler is free to fuse, that it does.
constexpr SettingRow portable_settings[]{{"block_quantize.q4_0.offset", {"fused_zero_point_and_half"}, fuses},
                                         {"block_matmul.*.addition", {"fused"}, fuses}};

constexpr SettingRow neon_settings[]{
    {"block_quantize.q4_0.offset", {"zero_point_and_half"}, "built with -ffp-contract=off"},
    {"block_matmul.*.rest_addition", {"product_rounded"}, "built with -ffp-contract=off"},
    {"block_matmul.*.addition", {"fused"}, "clang, whose vmlaq_n_f32 is a product and a sum that may be fused"},
    {"block_matmul.*.terms", {"2"}, "processors without the dot product instruction"}};

constexpr OpenRow open[]{{"block_matmul", LayerCondition::several_rows,
                          "builds of llama.cpp often take other loops for several tokens (rows repacked by 4 or 8, llamafile's sgemm, int8 "
                          "matrix instructions of Arm, KleidiAI), which were "
                          "not read"}};

}  // namespace

std::span<const SheetRow> ggml_sheets() {
  static constexpr SheetRow sheets[]{
      {"ggml",
       "ggml, llama.cpp: block formats q8_0 and q4_0, portable code",
       ggml_portable,
       portable_evidence,
       portable_settings,
       {},
       LayerList::none,
       open},
      {"ggml_avx2", "the same on x86-64 with AVX2 and FMA", ggml_avx2, avx2_evidence, {}, {}, LayerList::none, open},
      {"ggml_neon", "the same on 64-bit Arm with NEON", ggml_neon, neon_evidence, neon_settings, {}, LayerList::none, open}};
  return sheets;
}

}  // namespace lastbit
