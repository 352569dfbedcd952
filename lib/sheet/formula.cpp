// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "sheet/formula.hpp"

#include <algorithm>
#include <typeinfo>
#include <utility>

#include "lastbit/ratio_text.hpp"
#include "sheet/chain_text.hpp"
#include "sheet/delegated.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

using Lines = std::vector<std::string>;

/// One number, or one for each number of vectors.
std::string by_group(const TermsByGroup& table) {
  if (table == TermsByGroup(table(1))) return std::to_string(table(1));
  std::string all;
  for (const std::uint32_t terms : table.terms) all += (all.empty() ? "" : "/") + std::to_string(terms);
  return all + " (1 to 8 vectors together)";
}

std::string when(const AccumulatorRule& rule) {
  switch (rule.when) {
    case NarrowingPoint::every_add: return "at every add";
    case NarrowingPoint::every_tile: return "after every " + by_group(rule.tile) + " adds";
    case NarrowingPoint::at_end: break;
  }
  return "at the end";
}

std::string width_line(const AccumulatorRule& rule) {
  const std::string overflow = rule.overflow == Overflow::wrap       ? "wraps "
                               : rule.overflow == Overflow::saturate ? "saturates "
                                                                     : "must not overflow ";
  return "i" + text(rule.bits) + " " + overflow + when(rule);
}

std::string partial_line(const PartialSums& rule) {
  const bool of_kernel = rule.method == PartialMethod::kernel_codes, of_codes = rule.method != PartialMethod::consecutive_terms;
  const std::string width = (rule.overflow == Overflow::saturate ? "sat" : text(rule.overflow)) + text(rule.bits);
  std::string line = "partial sums: every " + by_group(rule.terms) + " " + (of_codes ? "products of codes x*w" : "terms") +
                     " that lie side by side" +
                     (of_kernel  ? " in the whole kernel, padding as zero_in*w,"
                      : of_codes ? " at a position of the kernel"
                                 : "") +
                     " are first added in " + width;
  if (rule.emptied > 0) line += ", these in " + width + " as well, emptied after " + text(rule.emptied) + " terms";
  if (of_codes) line += of_kernel ? "; what zero points add is taken off exactly" : "; zero_in*w is taken off exactly";
  if (rule.vector == 0) return line;
  line += "; terms behind the last whole " + text(rule.vector) + " of a run: ";
  return line + (rule.tail == PartialTail::exact ? "each by itself" : rule.tail == PartialTail::one_sum ? "one partial sum" : "dropped");
}

std::string centred(Centring centring) {
  if (centring == Centring::nothing) return "x";
  return centring == Centring::own_zero_point ? "x - zero_in" : "x - zero_1";
}

/// A chain, and what the scale that it applies stands for.
void add_chain(Lines& lines, const std::string& result, const RescaleRule& rule, const std::string& start) {
  if (applies_scale(rule.chain)) lines.push_back(scale_line(rule, text_of(rule.by)));
  lines.push_back(result + " = " + expression(rule, start));
}

/// "in*w/out"
std::string short_text(const Ratio& ratio) {
  std::string text = text_of(ratio);
  if (const std::size_t at = text.find("weight"); at != std::string::npos) text.replace(at, 6, "w");
  return text;
}

std::string product(Centring centring) { return centring == Centring::nothing ? "x*w" : "(x - zero_in)*(w - zero_w)"; }

/// `beside`: what is said of the accumulator, `of_terms`: of every product.
Lines sum_of_products(const SumArithmetic& sum, const std::string& beside, const std::string& of_terms) {
  Lines lines{"acc " + width_line(sum.accumulator) + beside, of_terms};
  if (has_partial_sums(sum.accumulator)) lines.push_back(partial_line(sum.accumulator.partial));
  if (!sum.operand.chain.empty()) add_chain(lines, "term", sum.operand, product(sum.centring));
  else if (sum.centring == Centring::nothing) lines.emplace_back("term = " + product(sum.centring));
  lines.push_back(scale_line(sum.output, short_text(sum.output.by)));
  lines.push_back("y = " + expression(sum.output, "acc"));
  return lines;
}

Lines formula(const ConvArithmetic& rule) {
  const std::string bias = rule.bias_bits > 0 ? " as i" + text(rule.bias_bits) + " shifted left, " + text(rule.bias_rounding) : "",
                    scales = applies_scale(rule.sum) ? "; per-channel scales: " + text(rule.per_channel) : "";
  return sum_of_products(rule.sum, "; bias at " + std::string(rule.bias == BiasAt::accumulator_start ? "start" : "end") + bias + scales,
                         rule.row_multiplier != RowMultiplier::absent ? "terms times the row's multiplier, the bias not" : "");
}

Lines formula(const MatmulArithmetic& rule) { return sum_of_products(rule.sum, "", ""); }

Lines formula(const FusedConvArithmetic& rule) {
  if (rule.order == FusedOrder::activation_then_pool) return {"y = pool(pwl(acc)), each step as the operation of that name"};
  return {"y = pwl(acc(pool(sum))): sums pooled as they are, then narrowed as the convolution's accumulator",
          "sum " + width_line(rule.sum)};
}

Lines formula(const PwlArithmetic& rule) {
  return {"y = type(((x - base)*slope >> shift) + value) of the last segment with base <= x; x <= first base: its value",
          "type: " + std::string(rule.output_overflow == Overflow::wrap ? "wraps" : "saturates")};
}

Lines formula(const SumPoolArithmetic& rule) {
  Lines lines{"window order: " + text(rule.order)};
  const auto add = [&](const std::string& data, const SumArithmetic& sum) {
    if (!exists(sum)) return;
    lines.push_back(data + ": y = " + expression(sum.output, "sum of " + expression(sum.operand, centred(sum.centring))) + ", sum " +
                    width_line(sum.accumulator));
  };
  add("8-bit data", rule.i8);
  add("wider data", rule.wide);
  return lines;
}

/// What the operands' multipliers of a common encoding are.
std::string together_line(const ScaleEncoding& scale, const std::string& ratio) {
  const std::string bits = text(scale.significant_bits), in = computed_in(scale.arithmetic);
  switch (scale.normalization) {
    case Normalization::layer:
      return "M*unit = " + ratio + ", computed in " + in + ", unit = 2^e: one for all operands, the largest M has " + bits +
             " bits; M: " + text(scale.rounding);
    case Normalization::unit:
      return "M*unit = " + ratio + ", computed in " + in + ", unit = largest / (2^" + bits + " - 1); M: " + text(scale.rounding);
    case Normalization::unit_of_pair:
      return "M*unit = " + ratio + ", computed in " + in + ", unit = max(smallest/127, largest/2^" + text(scale.max_exponent) +
             "); M = floor(" + ratio + "/unit + 1/2): at most 127 of the smallest, " + bits + " leading bits of the others";
    default: return {};
  }
}

Lines formula(const SumArithmetic& rule) {
  const bool rescales = !rule.operand.chain.empty(), first = centred(rule.centring) == "x - zero_1";
  Lines lines;
  lines.push_back("sum of " + expression(rule.operand, centred(rule.centring)) + " over the operands, sub: less; " +
                  width_line(rule.accumulator) + (rescales ? "" : "; operands share one quantisation"));
  if (rescales && applies_scale(rule.operand.chain)) {
    const std::string together = together_line(rule.operand.scale, text_of(rule.operand.by));
    lines.push_back(together.empty() ? scale_line(rule.operand, text_of(rule.operand.by)) : together);
  }
  if (first)
    lines.push_back("and (zero_1 - zero_in)*in/(unit*first_in), " +
                    std::string(rule.centring == Centring::first_zero_point_product_rounded ? "rounded as a whole" : "its factor rounded") +
                    ", half_away");
  lines.push_back("y = " + expression(rule.output, "sum"));
  if (applies_scale(rule.output.chain)) lines.push_back(scale_line(rule.output, text_of(rule.output.by)));
  return lines;
}

/// The output of a sum of one operand's codes.
Lines average_lines(const SumArithmetic& rule, const std::string& count) {
  const std::string sum = "sum(" + centred(rule.centring) + ")";
  Lines lines{"y = " + expression(rule.output, sum) + "; count: " + count, "sum " + width_line(rule.accumulator)};
  if (applies_scale(rule.output.chain)) lines.push_back(scale_line(rule.output, text_of(rule.output.by)));
  return lines;
}

Lines formula(const AveragePoolArithmetic& rule) {
  if (rule.in_float.method != FloatAverageMethod::absent)
    return {"y = clamp(" + text(rule.in_float.rounding) + "(S / count / out + zp)), S = sum(in*(x - zero_in)); count: padding " +
                text(rule.padding),
            "every step in float32, the values in the order of the window"};
  Lines lines = average_lines(rule.sum, "padding " + text(rule.padding));
  if (rule.output_scale == OutputScale::of_input) lines.back() += "; input and output share one quantisation";
  if (rule.output_scale == OutputScale::scale_of_input) lines.back() += "; input and output share one scale";
  return lines;
}

Lines formula(const MeanArithmetic& rule) {
  Lines lines = average_lines(rule.sum, "all values");
  if (rule.count == CountIn::multiplier) lines.back() += "; then M divided by count, truncated";
  return lines;
}

Lines formula(const FloatSumArithmetic& rule) {
  if (rule.method == FloatSumMethod::dequantized)
    return {"y = clamp(" + text(rule.rounding) + "(float(ra + rb) * float(1/out)) + zp)",
            "ra = fma(in_a, a, float(in_a*-zero_a)), rb = fma(in_b, b, float(in_b*-zero_b)), in float"};
  return {"y = clamp(" + text(rule.rounding) + "(fma(a, ra, fma(b, rb, c)))), ra = float(in_a/out), rb = float(in_b/out)",
          "c = float(zp - fma(ra, zero_a, float(rb*zero_b)))"};
}

std::string concat_method(ConcatMethod method) {
  switch (method) {
    case ConcatMethod::absent: return "absent";
    case ConcatMethod::copy: return "copied; one quantisation for all";
    case ConcatMethod::scale_and_bias: return "half_away(x*s + b) + zp, s and b float";
    case ConcatMethod::rescaled: return "each input as requantize";
    case ConcatMethod::dequantize: break;
  }
  return "dequantised and quantised again";
}

Lines formula(const ConcatArithmetic& rule) {
  return {"int8, int16: " + concat_method(rule.method) + "; uint8: " + concat_method(rule.method_uint8)};
}

Lines formula(const QuantizeArithmetic& rule) {
  const std::string quotient = rule.division == ScaleDivision::multiply_by_inverse ? "x * float(1/s)" : "x / s";
  const std::string sum = rule.zero_point == ZeroPointAt::after_rounding ? text(rule.rounding) + "(" + quotient + ") + zp"
                                                                         : text(rule.rounding) + "(" + quotient + " + zp)";
  const std::string in = rule.division == ScaleDivision::divide_in_double ? "double" : "float";
  return {"y = clamp(" + sum + "), in " + in + "; beyond int32: " + text(rule.out_of_range)};
}

Lines formula(const DequantizeArithmetic& rule) {
  return {rule.arithmetic == DequantizeProduct::f64 ? "y = float(double(s) * (q - zp))" : "y = s * float(q - zp), in float"};
}

Lines formula(const DynamicQuantizeArithmetic& rule) {
  return {"s = float(float(max(x, 0) - min(x, 0))/255), 1 for zeros; zp = " + text(rule.rounding) + "(-min(x, 0)/s)", "y as quantize"};
}

/// How a value x of a row or an image becomes a code.
std::string dynamic_code(const DynamicArithmetic& rule, DynamicCodes codes) {
  const std::string rounded = text(rule.rounding);
  if (codes == DynamicCodes::symmetric) return "in = max|x| / 127, code = " + rounded + "(x * float(127 / max|x|)), z = 0";
  const std::string scaled = "x * float(1 / in)";
  const std::string code =
      rule.zero_point == ZeroPointAt::before_rounding ? rounded + "(z + " + scaled + ")" : "z + " + rounded + "(" + scaled + ")";
  return "in = (max(x, 0) - min(x, 0)) / 255, z = " + rounded + "(-128 - min(x, 0) / in), code = " + code;
}

Lines formula(const DynamicArithmetic& rule) {
  Lines lines{"of a row, or an image, in float32 (op/dynamic_sum.hpp):"};
  if (rule.codes == DynamicCodes::by_layer) {
    lines.push_back(dynamic_code(rule, DynamicCodes::symmetric));
    lines.push_back("asymmetric_inputs: " + dynamic_code(rule, DynamicCodes::asymmetric));
  } else {
    lines.push_back(dynamic_code(rule, rule.codes));
  }
  const std::string scaled = rule.product == DynamicProduct::scales_first        ? "acc * (in * w)"
                             : rule.product == DynamicProduct::input_scale_first ? "(acc * in) * w"
                                                                                 : "(acc * w) * in";
  lines.push_back("acc = sum of (code - z)*weight, i32 wraps; y = activation(" + scaled + " + bias), w: scale of the weights");
  return lines;
}

Lines formula(const BlockQuantizeArithmetic& rule) {
  const bool is_signed = rule.scale == BlockScale::signed_largest;
  const std::string least = is_signed ? "(least code - z)" : "(largest code - z)", m = is_signed ? "m" : "|m|";
  const std::string quotient = rule.division == BlockDivision::by_inverse             ? "x * float(1 / d)"
                               : rule.division == BlockDivision::by_inverse_of_stored ? "x * float(1 / s)"
                               : rule.division == BlockDivision::by_steps             ? "x * float(" + least + " / " + m + ")"
                                                                                      : "x / d";
  const std::string rounded = text(rule.rounding);
  const std::string code = rule.offset == BlockOffset::nothing      ? rounded + "(" + quotient + ") + z"
                           : rule.offset == BlockOffset::zero_point ? rounded + "(" + quotient + " + z)"
                                                                    : rounded + "(" + quotient + " + (z + 1/2))" +
                                                                          (rule.offset == BlockOffset::zero_point_and_half ? "" : " fused");
  return {"of a block, in float32: m = the first x of largest magnitude, d = " + m + " / " + least,
          "s = float16(d), " + text(rule.stored) + "; code = clamp(" + code + ")"};
}

/// A block's product, and how it joins a sum.
std::string with_block(DynamicProduct product, BlockAddition addition) {
  const std::string scaled = product == DynamicProduct::scales_first        ? "float(i) * float(dx*dw)"
                             : product == DynamicProduct::input_scale_first ? "float(float(i) * dx) * dw"
                                                                            : "float(float(i) * dw) * dx";
  return scaled + (addition == BlockAddition::fused ? ", rounded once with the sum" : ", rounded before it joins the sum");
}

Lines formula(const BlockMatmulArithmetic& rule) {
  Lines lines{"of a block: i = sum of q*(w - z), exact; y = y + " + with_block(rule.product, rule.addition)};
  if (rule.lanes > 1)
    lines.push_back(text(rule.lanes) + " lanes, to which " + text(rule.terms) + " terms side by side go in turn; added " +
                    text(rule.lane_order));
  if (rule.sums > 1) {
    lines.push_back("blocks go in turn to " + text(rule.sums) + " sums, added at the end" +
                    (rule.lanes > 1 ? ", lanes " + text(rule.lane_join) : ""));
    lines.push_back("blocks behind the last turn: then + " + with_block(rule.rest_product, rule.rest_addition));
  }
  return lines;
}

/// What the chain's scale stands for, where it applies one, and the chain.
Lines rescaled(const RescaleRule& rule, const std::string& ratio, const std::string& start) {
  Lines lines;
  if (applies_scale(rule.chain)) lines.push_back(scale_line(rule, ratio));
  lines.push_back("y = " + expression(rule, start));
  return lines;
}
Lines formula(const RescaleRule& rule) { return rescaled(rule, "in/out", "x - zero_in"); }
Lines product_formula(const RescaleRule& rule) {
  return rescaled(rule, text_of(rule.by) + ", weight: of the second factor", "(a - zero_a)*(b - zero_b)");
}

Lines formula(const FunctionArithmetic& rule) {
  if (rule.method == FunctionMethod::float_table_8bit)
    return {"8 bits: y = clamp(" + text(rule.rounding) + "(f(in*(x - zero_in)) / out) + zp), f in float",
            "16 bits: fixed-point approximation (arith/fixed_function.hpp)"};
  if (rule.method == FunctionMethod::table_entry)
    return {"y = a table's entry of 12288*x / 512, tanh: / 256, cut and at most 255 (arith/fixed_activation.hpp); x in 2^-12, y in 2^-15"};
  if (rule.method == FunctionMethod::float_table)
    return {"y = clamp(" + text(rule.rounding) + "(f(in*(x - zero_in)) / out) + zp), f in float"};
  if (rule.method == FunctionMethod::float_table_by_inverse)
    return {"y = clamp(" + text(rule.rounding) + "(f(in*(x - zero_in)) * float(1/out)) + zp), f in float"};
  if (rule.method == FunctionMethod::float_table_onto_zero_point)
    return {"y = clamp(" + text(rule.rounding) + "(float(f(in*(x - zero_in)) * float(1/out)) + zp)), f in float"};
  if (rule.method == FunctionMethod::float_ratio)
    return {"y = clamp(" + text(rule.rounding) +
            "(f(in*(x - zero_in)) / out) + zp), f: a ratio of polynomials (arith/float32_function.hpp)"};
  if (rule.method == FunctionMethod::float_exponentials)
    return {"y = clamp(" + text(rule.rounding) + "(float(e(x) * floor(1/out)) / sum(e)) + zp); e: float32, a table",
            "e(x) = float(exp((255 - max + x + room)*in)), room = (log(largest float32/columns) - 5)/in (arith/float_softmax.hpp)"};
  if (rule.method == FunctionMethod::fixed_point || rule.method == FunctionMethod::fixed_point_by_double) {
    const RescaleRule input{rule.input.scale, rule.input.chain};
    if (input.chain.empty())
      return {"fixed-point approximation (arith/fixed_function.hpp) with stages of its own; its scales as",
              scale_line({input.scale, {stage::multiply()}}, "input to fixed point, fixed point to output")};
    return {"fixed-point approximation (arith/fixed_function.hpp); its input rescaled as", scale_line(input, "input to fixed point"),
            "v = " + expression(input, "x - zero_in")};
  }
  const std::string rescaled = expression(rule.rescale, "x - zero_in");
  return {scale_line(rule.rescale, "in/out, in*alpha/out for negative x"),
          "y = " + (rescaled.starts_with("clamp") ? rescaled : "clamp(" + rescaled + " + zp)")};
}

std::string grid_line(const ResizeArithmetic& rule) {
  const std::string rounded = text(rule.grid_rounding) + "(c * 2^" + text(rule.fraction_bits) + ")";
  switch (rule.grid) {
    case ResizeGrid::coordinate: return "coordinates: " + rounded;
    case ResizeGrid::start_and_step: return "first coordinate and step: " + rounded;
    case ResizeGrid::step: break;
  }
  return "step: " + rounded + "; half a pixel: half of it, floor";
}

Lines bilinear_lines(const ResizeArithmetic& rule, ResizeMethod method) {
  if (method != ResizeMethod::fixed_point) {
    const char* const term = method == ResizeMethod::float_by_row ? "(q*wy)*wx" : "q*(wy*wx)";
    return {"bilinear: y = toward_zero(sum of " + std::string(term) + " + 1/2), every step in float32"};
  }
  return {"bilinear: y = " + text(rule.rounding) + "(sum of (" + centred(rule.centring) + ")*wy*wx / 2^" + text(2 * rule.fraction_bits) +
              "), weights of " + text(rule.fraction_bits) + " bits",
          grid_line(rule)};
}

Lines formula(const ResizeArithmetic& rule) {
  Lines lines = rule.method == ResizeMethod::absent ? Lines{} : bilinear_lines(rule, rule.method);
  if (rule.method_uint8 != ResizeMethod::absent) lines.push_back("uint8: " + bilinear_lines(rule, rule.method_uint8).front());
  lines.push_back("nearest: the value itself" +
                  std::string(rule.nearest == NearestCoordinate::exact ? "" : ", its coordinate computed in float32"));
  return lines;
}

Lines formula(const ArgmaxArithmetic& rule) {
  return {text(rule.method) + "; running maximum " + text(rule.running_maximum) + "; of a single channel: " + text(rule.single_channel)};
}

Lines formula(const SvdfArithmetic& rule) {
  Lines lines{"sums " + width_line(rule.accumulator) + "; fused activation " + text(rule.activation)};
  const auto add_state = [&](const std::string& type, const RescaleRule& state) {
    if (state.chain.empty()) return;
    lines.push_back("state " + type + " = " + expression(state, "sum(x*w)") + " (zp of the state)");
    lines.push_back(scale_line(state, "in*w/state"));
  };
  add_state("i8", rule.state_i8);
  add_state("i16", rule.state_i16);
  lines.push_back("y = " + expression(rule.output, "bias + sum of filters(sum(state*time))"));
  lines.push_back(scale_line(rule.output, "state*time/out"));
  return lines;
}

Lines formula(const LstmArithmetic& rule) {
  Lines lines;
  const auto add_gate = [&](const std::string& type, const GateArithmetic& gate) {
    const SumArithmetic& sum = gate.sum;
    if (!exists(sum)) return;
    lines.push_back("gate of " + type + " data: sums " + width_line(sum.accumulator) + "; bias at " +
                    (gate.bias == BiasAt::accumulator_start ? "start" : "end"));
    if (!sum.operand.chain.empty()) add_chain(lines, "term", sum.operand, product(sum.centring));
    const std::string part = expression(sum.output, sum.operand.chain.empty() ? "sum(x*w)" : "sum(term)");
    lines.push_back("g = f(" + narrowed(rule.sum, 16, part + " + the same of sum(h*w)") + "), f: logistic or tanh of 16 bits, " +
                    (rule.method == LstmMethod::fixed_point ? "fixed-point (arith/fixed_function_i16.hpp)" : "by tables"));
    lines.push_back(scale_line(sum.output, "in*w*2^12"));
  };
  add_gate("i8", rule.gate_i8);
  add_gate("i16", rule.gate_i16);
  lines.push_back("c = " + narrowed(rule.sum, 16, expression(rule.cell, "forget*c") + " + the same of input*candidate") + " within " +
                  text(rule.clip_rounding) + "(clip / cell)");
  lines.push_back(scale_line(rule.cell, "2^-15, 2^-30/cell"));
  lines.push_back("h = y = " + expression(rule.output, "tanh(c)*output"));
  lines.push_back(scale_line(rule.output, "2^-30/out"));
  return lines;
}

Lines formula(const Extreme&) { return {"y = the largest, or the least, of codes of one quantisation"}; }

Lines formula(const L2Normalization& rule) {
  return {"y = clamp((x - zero_in) * 2^7 * m + zp), m: 1/sqrt(sum of (x - zero_in)^2) in 31 bits (arith/fixed_root.hpp); " + text(rule)};
}

Lines formula(const Detection&) { return {"boxes, classes, scores and count in float32 (engine/detection.hpp)"}; }

Lines formula(const Bitwise&) { return {"y = the inputs' codes combined bit by bit"}; }
Lines formula(const MaxPool&) { return {"y = clamp(largest code of the window)"}; }
Lines formula(const Float32Operations& rule) {
  if (rule == Float32Operations::golden) return {"y = f(x) in float32 on float32 tensors: the golden path"};
  return {
      "y = f(x) in float32, step by step: sums arith/float32_sum.hpp, functions arith/float32_function.hpp, exp and softmax "
      "arith/float32_exponential.hpp; else golden"};
}
Lines formula(const Fusion& rule) {
  const std::string left = rule == Fusion::none ? "all" : rule == Fusion::by_default ? "those not fused by default" : "those never fused";
  return {"operations between dequantize and quantize, " + left + ": y = quantize(f(dequantize(x))), f as float32"};
}
Lines formula(const DelegatedLayers& rule) { return lines_of(rule); }
Lines formula(const Coding& rule) { return {rule == Coding::symmetric ? "signed codes, zero point 0" : "zero point 0"}; }

template <class T>
void add_formulas(std::vector<OperationFormula>& list, const std::string& name, const T& rule) {
  list.push_back({name, formula(rule)});
  std::erase(list.back().lines, "");
}

/// How an operation of some type adds its formulas.
struct Writer {
  const std::type_info* type;
  void (*add)(std::vector<OperationFormula>&, const std::string&, const void*);
};
template <class T>
Writer writer() {
  return {&typeid(T), [](std::vector<OperationFormula>& list, const std::string& name, const void* rule) {
            add_formulas(list, name, *static_cast<const T*>(rule));
          }};
}
template <class... T>
std::vector<Writer> writers() {
  return {writer<T>()...};
}

const std::vector<Writer>& all_writers() {
  static const std::vector<Writer> all =
      writers<ConvArithmetic, MatmulArithmetic, FusedConvArithmetic, PwlArithmetic, SumPoolArithmetic, MaxPool, AveragePoolArithmetic,
              MeanArithmetic, SumArithmetic, FloatSumArithmetic, ConcatArithmetic, QuantizeArithmetic, DequantizeArithmetic,
              DynamicQuantizeArithmetic, DynamicArithmetic, BlockQuantizeArithmetic, BlockMatmulArithmetic, RescaleRule, FunctionArithmetic,
              ResizeArithmetic, Float16Arithmetic, Float32Operations, SvdfArithmetic, LstmArithmetic, ArgmaxArithmetic, Bitwise, Extreme,
              L2Normalization, Detection, Coding, Fusion, DelegatedLayers>();
  return all;
}

}  // namespace

std::vector<OperationFormula> formulas_of(const Backend& backend) {
  if (backend.domain == Domain::real)
    return {{"every operation",
             {"y = f(x) in float on dequantised values; nothing is rounded to integers",
              backend.golden_range == GoldenRange::representable ? "y = clamp(y) to what the codes of its tensor stand for"
                                                                 : "y has no bound"}}};
  std::vector<OperationFormula> list;
  for (const Rule* const rule : present_operations(backend)) {
    const auto has_type = [&](const Writer& writer) { return *writer.type == *rule->type->type; };
    const auto found = std::find_if(all_writers().begin(), all_writers().end(), has_type);
    if (rule->path == "mul" || rule->path == "left.mul")
      list.push_back({rule->path, product_formula(rule->path == "mul" ? backend.mul : backend.left.mul)});
    else if (rule->path == "reduce_sum") list.push_back({rule->path, average_lines(backend.reduce_sum, "none")});
    else if (found != all_writers().end()) found->add(list, rule->path, address(backend, *rule));
  }
  return list;
}

}  // namespace lastbit
