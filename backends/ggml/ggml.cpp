// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/ggml.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;

std::string of_ggml(const char* what) { return std::string("ggml-org/ggml d99724f2, ") + what; }

constexpr const char* in_blocks = "ggml-quants.h: what is in blocks is multiplied as integers";
constexpr const char* recorded = "run and recorded, ggml/quantize_row, ggml/vec_dot";

std::vector<Evidence> portable_evidence() {
  const auto ran = [](const char* what) { return of_ggml(what) + ", " + recorded; };
  return {{"domain", source, of_ggml(in_blocks)},
          {"block_quantize.q8_0", code, ran("quantize_row_q8_0_ref")},
          {"block_quantize.q4_0", code, ran("quantize_row_q4_0_ref")},
          {"block_matmul.q8_0", code, ran("ggml_vec_dot_q8_0_q8_0_generic")},
          {"block_matmul.q4_0", code, ran("ggml_vec_dot_q4_0_q8_0_generic")}};
}

/// Of vectors: built by gcc 12 -O3, which fuses what it may.
std::vector<Evidence> vector_evidence(const std::string& folder, const std::string& suites) {
  const auto ran = [&](const char* what) { return of_ggml(what) + ", " + folder + ", run and recorded, " + suites; };
  return {{"domain", source, of_ggml(in_blocks)},
          {"block_quantize.q8_0", code, ran("quantize_row_q8_0")},
          {"block_quantize.q4_0", code, of_ggml("quantize_row_q4_0_ref, run and recorded, ") + suites},
          {"block_matmul.q8_0", code, ran("ggml_vec_dot_q8_0_q8_0")},
          {"block_matmul.q4_0", code, ran("ggml_vec_dot_q4_0_q8_0")}};
}

/// Where a compiler is free to fuse, that it does.
std::vector<Setting> portable_settings() {
  const char* const fuses = "a compiler that fuses, for a processor that can";
  return {{"block_quantize.q4_0.offset", {"fused_zero_point_and_half"}, fuses}, {"block_matmul.*.addition", {"fused"}, fuses}};
}

std::vector<Setting> neon_settings() {
  return {{"block_quantize.q4_0.offset", {"zero_point_and_half"}, "built with -ffp-contract=off"},
          {"block_matmul.*.rest_addition", {"product_rounded"}, "built with -ffp-contract=off"},
          {"block_matmul.*.addition", {"fused"}, "clang, whose vmlaq_n_f32 is a product and a sum that may be fused"},
          {"block_matmul.*.terms", {"2"}, "processors without the dot product instruction"}};
}

}  // namespace

std::vector<SpecSheet> ggml_sheets() {
  return {
      {"ggml", "ggml, llama.cpp: block formats q8_0 and q4_0, portable code", ggml_portable, portable_evidence(), portable_settings()},
      {"ggml_avx2", "the same on x86-64 with AVX2 and FMA", ggml_avx2, vector_evidence("arch/x86/quants.c", "ggml_avx2/*"), {}},
      {"ggml_neon", "the same on 64-bit Arm with NEON", ggml_neon, vector_evidence("arch/arm/quants.c", "ggml_neon/*"), neon_settings()}};
}

}  // namespace lastbit
