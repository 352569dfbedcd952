// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/ascend.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto document = EvidenceLevel::document;
constexpr auto assumption = EvidenceLevel::assumption;

std::string operators(const char* detail) { return std::string("Huawei's TBE operators, read: ") + detail; }

/// How a value is rounded and what stands in place of an overflow; of these alone the sheets differ in evidence.
std::vector<Evidence> device_rules() {
  const std::string rounding = "CANN: CAST_RINT; the vendor's fp16_t class, run, rounds the same way with subnormals kept";
  const std::string overflow =
      "CANN, INF_NAN_MODE_ENABLE and aclrtFloatOverflowMode: saturation (Inf to 65504, NaN to 0) is the only mode of 310, 310P and 910A, "
      "Inf/NaN the default of 910B, where saturation can be chosen";
  std::vector<Evidence> list;
  for (const std::string step : {"conversion", "sum", "product", "quotient"}) {
    list.push_back({"float16." + step, document, rounding});
    list.push_back({"float16." + step + ".overflow", document, overflow});
  }
  return list;
}

std::vector<Evidence> class_rules() {
  const std::string run = "graphengine 45d6a09b ge/common/fp16_t.cc, run and recorded: fp16_";
  return {{"float16.conversion", code, run + "cast"},
          {"float16.sum", code, run + "add, fp16_sub"},
          {"float16.product", code, run + "mul"},
          {"float16.quotient", code, run + "div"}};
}

std::vector<Evidence> float16_evidence() {
  return {
      {"float16.method", document, "CANN: the vector unit computes float16 operations at float16 precision"},
      {"float16.cube.sum.precision", document, "CANN mmad: float16 times float16 into float32 partial sums in L0C"},
      {"float16.cube.sum.block", document, "CANN: one step of the cube is 16 x 16 x 16 float16 values"},
      {"float16.cube.sum.order", assumption,
       "the order of the additions inside a step is not public; assumed: a tree, then the partial sum"},
      {"float16.cube.terms", document, "NC1HWC0 and FRACTAL_Z: C1, kernel rows, kernel columns, then C0 = 16 channels"},
      {"float16.cube.bias", assumption, "assumed: the bias initialises L0C"},
      {"float16.add_n", source, operators("add_n: one vadd per input in turn, at the precision of the data")},
      {"float16.mean.scaling", source, operators("reduce_mean_d: vmuls by 1/count, then sum")},
      {"float16.mean.sum.precision", source, operators("reduce_mean_d: float32 where high precision is on and the chip is not the 310")},
      {"float16.mean.sum", assumption, "the order of a reduction depends on the schedule; assumed: sequential"},
      {"float16.average_pool", assumption, "assumed: float16 sums one after another, then a product with 1/count"},
      {"float16.logistic", source, operators("sigmoid: vmuls by -1, vexp, vadds 1, reciprocal; in float32 on 310P and 910B")},
      {"float16.tanh", source, operators("tanh: (x - x*e) / ((|x| + tiny) * (e + 1)), e = exp(-2|x|); in float32 where vexp takes it")},
      {"float16.hard_swish", assumption, "assumed: x + 3, bounded to 0 and 6, times x, times 1/6, each in float16"},
      {"float16.softmax", source, operators("softmax_v2: max and difference in float16, sum and quotient in float32")},
      {"float16.softmax.sum.order", assumption, "the order of a reduction depends on the schedule; assumed: sequential"},
      {"float16.softmax.sum.block", assumption, "read in blocks only"},
      {"float16.quantize", source, operators("ascend_quant: float32 data are cast to float16; vmuls by the scale, vadds the offset")},
      {"float16.quantize.rounding", assumption,
       "round_mode Round; assumed: half to even as TBE's round, not half away as AscendC's CAST_ROUND"},
      {"float16.dequantize", document, "Ascend C AscendDequant: int32 to float32, times the float32 deq_scale, cast to the output"},
      {"float32", assumption, "operations kept in float32 are taken as correctly rounded: the golden path"},
  };
}

std::vector<Evidence> integer_evidence() {
  std::vector<Evidence> list{{"domain", document, "float16 and 8-bit integers"}};
  for (const char* operation : {"conv", "depthwise_conv", "transposed_conv", "fully_connected", "matmul"}) {
    list.push_back({operation, document, "CANN mmad: int8 times int8 into int32 accumulators"});
    list.push_back({std::string(operation) + ".i8.accumulator", assumption, "assumed to wrap; overflow is not documented"});
    list.push_back({std::string(operation) + ".i8.output", assumption, "AscendRequant: one float32 scale; its rounding is not documented"});
    if (operation != std::string_view("matmul"))
      list.push_back({std::string(operation) + ".i8.bias", assumption, "assumed: the bias initialises L0C"});
  }
  list.push_back({"max_pool", assumption, "assumed: codes are compared"});
  list.push_back({"requantize", assumption, "assumed: as AscendRequant"});
  list.push_back({"quantize", document, "AscendQuant: y = round(x * scale + offset)"});
  list.push_back({"quantize.rounding", assumption, "as float16.quantize.rounding"});
  list.push_back({"quantize.out_of_range", assumption, "assumed to saturate"});
  list.push_back({"dequantize", document, "Ascend C AscendDequant: int32 to float32, times the float32 deq_scale"});
  return list;
}

std::vector<Setting> settings_of(const Backend& backend) {
  const std::string order = "the order of the additions is not public",
                    other = backend.float16.mean.sum.precision == StepPrecision::float16 ? "float32" : "float16";
  return {
      {"float16.cube.sum.order", {"sequential", "pairwise", "blocks_sequential", "blocks_exact"}, order + " inside a step of 16 terms"},
      {"float16.cube.terms", {"kernel_then_channel"}, "the order of a layout with channels last"},
      {"float16.cube.bias", {"accumulator_end"}, "an Add fused behind the convolution instead of a preloaded bias"},
      {"float16.add_n.order", {"pairwise", "blocks_pairwise"}, "with saturating additions 60000 + 60000 - 60000 is 5504 in this order"},
      {"float16.mean.sum.order", {"pairwise", "blocks_pairwise"}, order},
      {"float16.mean.sum.precision", {other}, "high_performance against high_precision"},
      {"float16.average_pool.sum.precision", {"float32"}, "the cube, where the compiler makes a convolution of it"},
      {"float16.softmax.sum.order", {"pairwise", "blocks_pairwise"}, order},
      {"float16.quantize.factor", {"square_root_twice"}, "sqrt_mode of AscendQuant"},
      {"float16.quantize.rounding", {"half_away", "floor", "ceil", "toward_zero"}, "round_mode: Round (its tie), Floor, Ceil, Trunc"},
      {"float16.dequantize.scale_bits", {"11"}, "a register that keeps 19 bits of the float32 scale; no public page was found"},
      {"*.i8.accumulator.overflow", {"saturate"}, "overflow of the int32 accumulators is not documented"},
  };
}

SpecSheet sheet(const char* name, const char* title, const Backend& backend, std::vector<Evidence> rules) {
  SpecSheet made{.name = name, .title = title, .backend = backend, .evidence = integer_evidence(), .settings = settings_of(backend)};
  for (Evidence& entry : float16_evidence()) made.evidence.push_back(std::move(entry));
  for (Evidence& entry : rules) made.evidence.push_back(std::move(entry));
  return made;
}

}  // namespace

std::vector<SpecSheet> ascend_sheets() {
  std::vector<SpecSheet> sheets{sheet("ascend310", "Huawei Ascend 310: float16, saturation mode", ascend310, device_rules()),
                                sheet("ascend310p", "Huawei Ascend 310P: float16, saturation mode", ascend310p, device_rules()),
                                sheet("ascend910a", "Huawei Ascend 910A: float16, saturation mode", ascend910a, device_rules()),
                                sheet("ascend910b", "Huawei Ascend 910B, 910C (A2, A3): float16, Inf/NaN mode", ascend910b, device_rules()),
                                sheet("ascend_ge2021", "Huawei's fp16_t software class of 2021: float16 with its overflow pattern 0x7FFF",
                                      ascend_ge2021, class_rules())};
  sheets[3].settings.push_back({"float16.*.overflow", {"saturate"}, "saturation mode, as on the older chips"});
  for (SpecSheet& made : sheets) {
    made.quantizer = "float16";
    made.layer_list = LayerList::keep_dtype;
  }
  return sheets;
}

}  // namespace lastbit
