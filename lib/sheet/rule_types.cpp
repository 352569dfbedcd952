// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every structure of rules, stated once: its members in the order of their paths, what they mean, their limits, and when they are read.
#include "lastbit/op/block_matmul.hpp"
#include "lastbit/ratio_text.hpp"
#include "sheet/structure.hpp"

namespace lastbit {
namespace {

constexpr RuleLimits widths{2, 64};

[[nodiscard]] StageMembers read_by(const Stage& stage) { return facts_of(stage).reads(stage); }

/// Of the normalizations whose exponent is looked for.
[[nodiscard]] bool looks_for_exponent(const ScaleEncoding& rule) {
  return rule.normalization == Normalization::least_error || rule.normalization == Normalization::largest_below;
}

}  // namespace

// Operations of which nothing is said but whether, or by which method, the device has them.
template <>
constexpr bool is_operation<MaxPool> = true;
template <>
constexpr bool is_operation<Float32Operations> = true;
template <>
constexpr bool is_operation<Extreme> = true;
template <>
constexpr bool is_operation<L2Normalization> = true;
template <>
constexpr bool is_operation<Detection> = true;
template <>
constexpr bool is_operation<Bitwise> = true;

template <>
struct Structure<TermsByGroup> : Usual<TermsByGroup> {
  static constexpr std::string_view meaning = "a number of terms for every number of vectors processed together";
  static constexpr auto members = [] {
    std::array<RuleMember, largest_group> all{};
    for (std::size_t i = 0; i < largest_group; ++i) {
      all[i] = {.name = std::string_view("12345678").substr(i, 1),
                .offset = offsetof(Owner, terms) + i * sizeof(std::uint32_t),
                .type = &rule_type<std::uint32_t>,
                .meaning = "terms, where so many vectors are processed together",
                .limits = {0, std::int64_t{1} << 30}};
    }
    return all;
  }();
};

template <>
struct Structure<PartialSums> : Usual<PartialSums> {
  static constexpr std::string_view meaning = "narrower sums on the way to the accumulator, as vector instructions form them";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != PartialMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "which terms form partial sums"},
      {LASTBIT_MEMBER(terms), .meaning = "terms of one partial sum", .read_in = present},
      {LASTBIT_MEMBER(vector), .meaning = "terms of a vector; 0: a run has no tail", .limits = {0, 64}, .read_in = present},
      {LASTBIT_MEMBER(tail), .meaning = "what becomes of terms behind the last whole vector", .read_in = present},
      {LASTBIT_MEMBER(bits), .meaning = "their width", .limits = widths, .read_in = present},
      {LASTBIT_MEMBER(overflow), .meaning = "what becomes of one that leaves the width", .read_in = present},
      {LASTBIT_MEMBER(emptied),
       .meaning = "terms after which a sum of partial sums, of the same width and overflow, goes into the "
                  "accumulator; 0: every partial sum does by itself",
       .limits = {0, 65535}, .read_in = present},
  };
};

template <>
struct Structure<AccumulatorRule> : Usual<AccumulatorRule> {
  static constexpr std::string_view meaning = "a sum in a device's width";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(bits), .meaning = "width of the running sum", .limits = widths},
      {LASTBIT_MEMBER(overflow), .meaning = "what becomes of a sum that leaves the width"},
      {LASTBIT_MEMBER(when), .meaning = "when the running sum is narrowed to the width"},
      {LASTBIT_MEMBER(tile), .meaning = "terms between two narrowings",
       .read_in = asked([](const Owner& rule) { return rule.when == NarrowingPoint::every_tile; })},
      {LASTBIT_MEMBER(partial), .meaning = "sums of neighbouring terms that are formed first"},
  };
};

template <>
struct Structure<ScaleEncoding> : Usual<ScaleEncoding> {
  static constexpr std::string_view meaning = "from the real scale to a multiplier M and an exponent e";
  static constexpr RuleLimits exponents{-2000, 2000};
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(arithmetic), .meaning = "in which float type the effective scale is computed"},
      {LASTBIT_MEMBER(significant_bits), .meaning = "width of M", .limits = {1, 32}},
      {LASTBIT_MEMBER(rounding), .meaning = "how M is rounded",
       .read_in = asked([](const Owner& rule) { return rule.normalization != Normalization::unit_of_pair; })},
      {LASTBIT_MEMBER(normalization), .meaning = "where M's binary point lies"},
      {LASTBIT_MEMBER(form), .meaning = "which multipliers the device has; a scale that is no power of two, or no 2^k + 1, is then refused",
       .read_in = asked([](const Owner& rule) { return has_exponent(rule) && !looks_for_exponent(rule); })},
      {LASTBIT_MEMBER(min_exponent), .meaning = "least e; smaller scales have the multiplier 0", .limits = exponents,
       .read_in = asked([](const Owner& rule) { return has_exponent(rule); })},
      {LASTBIT_MEMBER(max_exponent), .meaning = "largest e; larger scales take the largest M with it", .limits = exponents,
       .read_in = asked([](const Owner& rule) { return has_exponent(rule) || rule.normalization == Normalization::unit_of_pair; })},
      {LASTBIT_MEMBER(carry), .meaning = "what becomes of a multiplier that comes to the next power of two",
       .read_in =
           asked([](const Owner& rule) { return rule.carry != MultiplierCarry::renormalize || rule.added != MultiplierAddend::nothing; })},
      {LASTBIT_MEMBER(added), .meaning = "what is added to the rounded M",
       .read_in = asked([](const Owner& rule) { return rule.added != MultiplierAddend::nothing; })},
  };
};

template <>
struct Structure<Stage> : Usual<Stage> {
  static constexpr std::string_view meaning = "one step on the way from an accumulator to an output";
  static constexpr bool has_only_read_members = true;
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(kind), .meaning = "what it does to the value v"},
      {LASTBIT_MEMBER(bits), .meaning = "width of the result, or of the multiplier; of a multiply 0: as it is",
       .limits_in = asked([](const Owner& stage) {
         return RuleLimits{facts_of(stage).least_bits, facts_of(stage).most_bits};
       }),
       .read_in = asked([](const Owner& stage) { return read_by(stage).bits; })},
      {LASTBIT_MEMBER(overflow), .meaning = "what becomes of a value that leaves the width",
       .read_in = asked([](const Owner& stage) { return read_by(stage).overflow; })},
      {LASTBIT_MEMBER(rounding), .meaning = "how what is dropped is rounded",
       .read_in = asked([](const Owner& stage) { return read_by(stage).rounding; })},
      {LASTBIT_MEMBER(step), .meaning = "whither what is rounded up steps from the integer below it",
       .read_in = asked([](const Owner& stage) { return read_by(stage).step; })},
      {LASTBIT_MEMBER(arithmetic), .meaning = "in which float type the product is formed",
       .read_in = asked([](const Owner& stage) { return read_by(stage).arithmetic; })},
      {LASTBIT_MEMBER(amount), .meaning = "which n the shift has",
       .read_in = asked([](const Owner& stage) { return read_by(stage).amount; })},
      {LASTBIT_MEMBER(constant), .meaning = "n itself; of excess: bits that stay, those of the output included", .limits = {0, 62},
       .read_in = asked([](const Owner& stage) { return read_by(stage).constant; })},
      {LASTBIT_MEMBER(limit), .meaning = "largest n; of segments: how many", .limits = {0, 62},
       .read_in = asked([](const Owner& stage) { return read_by(stage).limit; })},
  };
};

template <>
struct Structure<Chain> : Usual<Chain> {
  static constexpr RuleType::Kind kind = RuleType::Kind::chain;
  static constexpr std::string_view meaning = "stages in the order of the hardware";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(size), .meaning = "number of stages", .limits = {0, max_stages}},
  };
};

template <>
constexpr RuleType rule_type<Ratio>{
    .kind = RuleType::Kind::text,
    .type = &typeid(Ratio),
    .size = sizeof(Ratio),
    .fresh = &fresh<Ratio>,
    .equal = [](const void* a, const void* b) { return *static_cast<const Ratio*>(a) == *static_cast<const Ratio*>(b); },
    .to_text = [](const void* ratio) { return text_of(*static_cast<const Ratio*>(ratio)); },
    .beside =
        [](const void* ratio) {
          std::vector<std::string> texts;
          for (const Ratio& other : ratios_beside(*static_cast<const Ratio*>(ratio))) texts.push_back(text_of(other));
          return texts;
        },
    .from_text =
        [](std::string_view from, void* to) {
          const auto ratio = ratio_from(from);
          if (ratio) *static_cast<Ratio*>(to) = *ratio;
          return ratio.has_value();
        },
    .allowed = "ratios such as in*weight/out, float(in*weight)/out, larger_in/out*2^-19, 1/count"};

template <>
struct Structure<RescaleRule> : Usual<RescaleRule> {
  static constexpr std::string_view meaning = "an effective scale and the chain it drives; an empty chain: absent";
  static constexpr auto present = asked([](const Owner& rule) { return !rule.chain.empty(); });
  static constexpr auto scales = asked([](const Owner& rule) { return applies_scale(rule.chain); });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(by), .meaning = "the effective scale as a ratio of the layer's quantities", .read_in = scales},
      {LASTBIT_MEMBER(scale),
       .meaning = "how the scale becomes numbers of the device; a chain that multiplies in float reads `arithmetic` only",
       .read_in = scales, .first_member_in = asked([](const Owner& rule) { return !reads_multiplier(rule.chain); })},
      {LASTBIT_MEMBER(chain), .meaning = "the stages"},
  };
};

template <>
struct Structure<SumArithmetic> : Usual<SumArithmetic> {
  static constexpr std::string_view meaning = "terms, each through the operand chain, their sum, and the output chain";
  static constexpr auto present = asked([](const Owner& rule) { return exists(rule); });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(centring), .meaning = "what is subtracted from a term's code, or of a product from both", .read_in = present},
      {LASTBIT_MEMBER(operand), .meaning = "from a centred code, or a product, to a term; an empty chain: it is the term",
       .read_in = present},
      {LASTBIT_MEMBER(accumulator), .meaning = "the sum", .read_in = present},
      {LASTBIT_MEMBER(output), .meaning = "from the sum to the output", .former_name = "rescale"},
  };
};

template <>
struct Structure<CrossTermArithmetic> : Usual<CrossTermArithmetic> {
  static constexpr std::string_view meaning = "what joins sums of codes where a layer states factors in place of zero points";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != CrossTermMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how the factors act"},
      {LASTBIT_MEMBER(rounding), .meaning = "how what each shift drops is rounded", .read_in = present},
  };
};

template <>
struct Structure<ConvArithmetic> : Usual<ConvArithmetic> {
  static constexpr std::string_view meaning = "sums of products";
  static constexpr auto present = asked([](const Owner& rule) { return exists(rule.sum); });
  static constexpr auto has_stored_bias = asked([](const Owner& rule) { return exists(rule.sum) && rule.bias_bits > 0; });
  static constexpr auto members = joined(
      spliced<decltype(Owner::sum)>(offsetof(Owner, sum)),
      std::to_array<RuleMember>({
          {LASTBIT_MEMBER(bias), .meaning = "where the bias joins the sum", .read_in = present},
          {LASTBIT_MEMBER(row_multiplier), .meaning = "a layer's integer multiplier per output channel", .read_in = present},
          {LASTBIT_MEMBER(per_channel), .meaning = "what becomes of per-channel weight scales",
           .read_in = asked([](const Owner& rule) { return applies_scale(rule.sum); })},
          {LASTBIT_MEMBER(bias_bits), .meaning = "width of the stored bias, which is shifted left where it is added; 0: the bias as it is",
           .limits = {0, 64}, .read_in = has_stored_bias},
          {LASTBIT_MEMBER(bias_rounding), .meaning = "how what that shift drops is rounded", .read_in = has_stored_bias},
          {LASTBIT_MEMBER(cross_terms), .meaning = "what joins sums of codes where a layer states factors in place of zero points"},
      }));
};

template <>
struct Structure<ConvByType> : Usual<ConvByType> {
  static constexpr std::string_view meaning = "sums of products by the type of data";
  static constexpr bool is_by_type = true;
  static constexpr auto present = asked([](const Owner& rule) {
    return exists(rule.i8.sum) || exists(rule.u8.sum) || exists(rule.i16_bias32.sum) || exists(rule.i16_bias64.sum) ||
           exists(rule.i8_weights16.sum) || exists(rule.i16_weights8.sum) || exists(rule.i8_per_channel.sum) ||
           exists(rule.i8_without_bias.sum) || exists(rule.i16_without_bias.sum);
  });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(i8), .meaning = "8-bit data"},
      {LASTBIT_MEMBER(u8), .meaning = "uint8 data where they differ from int8"},
      {LASTBIT_MEMBER(i16_bias32), .meaning = "16-bit data with a 32-bit bias"},
      {LASTBIT_MEMBER(i16_bias64), .meaning = "16-bit data with a 64-bit bias"},
      {LASTBIT_MEMBER(i8_weights16), .meaning = "8-bit data with 16-bit weights where these differ"},
      {LASTBIT_MEMBER(i16_weights8), .meaning = "16-bit data with 8-bit weights where these differ"},
      {LASTBIT_MEMBER(i8_per_channel), .meaning = "8-bit data, weights with a scale per channel, where they differ"},
      {LASTBIT_MEMBER(i8_without_bias), .meaning = "8-bit data without a bias where they differ"},
      {LASTBIT_MEMBER(i16_without_bias), .meaning = "16-bit data without a bias where they differ"},
  };
};

template <>
struct Structure<MatmulArithmetic> : Usual<MatmulArithmetic> {
  static constexpr std::string_view meaning = "sums of products of two tensors";
  static constexpr auto present = asked([](const Owner& rule) { return exists(rule.sum); });
  static constexpr auto members = joined(spliced<decltype(Owner::sum)>(offsetof(Owner, sum)));
};

template <>
struct Structure<MatmulByType> : Usual<MatmulByType> {
  static constexpr std::string_view meaning = "products of two matrices by the type of data";
  static constexpr bool is_by_type = true;
  static constexpr auto present =
      asked([](const Owner& rule) { return exists(rule.i8.sum) || exists(rule.u8.sum) || exists(rule.i16.sum); });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(i8), .meaning = "8-bit data"},
      {LASTBIT_MEMBER(u8), .meaning = "uint8 data where they differ from int8"},
      {LASTBIT_MEMBER(i16), .meaning = "16-bit data", .former_name = "i16_bias64"},
  };
};

template <>
struct Structure<SumPoolArithmetic> : Usual<SumPoolArithmetic> {
  static constexpr std::string_view meaning = "sums over windows";
  static constexpr auto present = asked([](const Owner& rule) { return exists(rule.i8) || exists(rule.wide); });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(order), .meaning = "in which order a window's values are added", .read_in = present},
      {LASTBIT_MEMBER(i8), .meaning = "8-bit data"},
      {LASTBIT_MEMBER(wide), .meaning = "wider data"},
  };
};

template <>
struct Structure<PwlArithmetic> : Usual<PwlArithmetic> {
  static constexpr std::string_view meaning = "piecewise-linear functions";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != PwlMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how a segment is stated"},
      {LASTBIT_MEMBER(output_overflow), .meaning = "what becomes of a value that leaves the output's type", .read_in = present},
  };
};

template <>
struct Structure<FusedConvArithmetic> : Usual<FusedConvArithmetic> {
  static constexpr std::string_view meaning = "convolution, pooling and piecewise-linear activation in one layer";
  static constexpr auto present = asked([](const Owner& rule) { return rule.order != FusedOrder::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(order), .meaning = "which comes first"},
      {LASTBIT_MEMBER(sum), .meaning = "the sums that are pooled",
       .read_in = asked([](const Owner& rule) { return rule.order == FusedOrder::pool_then_activation; })},
  };
};

template <>
struct Structure<FloatSumArithmetic> : Usual<FloatSumArithmetic> {
  static constexpr std::string_view meaning = "a sum of two tensors in float32";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != FloatSumMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how the terms are added"},
      {LASTBIT_MEMBER(rounding), .meaning = "how the sum is rounded to an integer", .read_in = present},
  };
};

template <>
struct Structure<FloatAverageArithmetic> : Usual<FloatAverageArithmetic> {
  static constexpr std::string_view meaning = "an average in float32";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != FloatAverageMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how the values are added and divided"},
      {LASTBIT_MEMBER(rounding), .meaning = "how the average is rounded to an integer", .read_in = present},
      {LASTBIT_MEMBER(overhang), .meaning = "whether what a last window adds to counted padding counts", .read_in = present},
  };
};

template <>
struct Structure<AveragePoolArithmetic> : Usual<AveragePoolArithmetic> {
  static constexpr std::string_view meaning = "averages over windows";
  static constexpr auto present =
      asked([](const Owner& rule) { return exists(rule.sum) || rule.in_float.method != FloatAverageMethod::absent; });
  static constexpr auto members =
      joined(std::to_array<RuleMember>({
                 {LASTBIT_MEMBER(padding), .meaning = "whether padding counts", .read_in = present},
                 {LASTBIT_MEMBER(output_scale), .meaning = "whether the output has a scale of its own", .read_in = present},
                 {LASTBIT_MEMBER(scales), .meaning = "what the scale and the converter are made of",
                  .read_in = asked([](const Owner& rule) { return reads_converter(rule.sum.output.chain); })},
             }),
             spliced<decltype(Owner::sum)>(offsetof(Owner, sum)),
             std::to_array<RuleMember>({
                 {LASTBIT_MEMBER(in_float), .meaning = "averages in float, in place of the sum of codes"},
             }));
};

template <>
struct Structure<MeanArithmetic> : Usual<MeanArithmetic> {
  static constexpr std::string_view meaning = "means over axes";
  static constexpr auto present = asked([](const Owner& rule) { return exists(rule.sum); });
  static constexpr auto members = joined(std::to_array<RuleMember>({
                                             {LASTBIT_MEMBER(count), .meaning = "where the count divides", .read_in = present},
                                         }),
                                         spliced<decltype(Owner::sum)>(offsetof(Owner, sum)));
};

template <>
struct Structure<AddArithmetic> : Usual<AddArithmetic> {
  static constexpr std::string_view meaning = "sums of tensors by the type of data";
  static constexpr bool is_by_type = true;
  static constexpr auto present = asked([](const Owner& rule) {
    return exists(rule.i8) || exists(rule.i16) || exists(rule.i16_power_of_two) || exists(rule.above_one) ||
           rule.in_float.method != FloatSumMethod::absent;
  });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(i8), .meaning = "8-bit data"},
      {LASTBIT_MEMBER(i16), .meaning = "16-bit data"},
      {LASTBIT_MEMBER(i16_power_of_two), .meaning = "16-bit data of layers with `power_of_two_scales`"},
      {LASTBIT_MEMBER(above_one), .meaning = "data of scales in / out above 1 where they differ"},
      {LASTBIT_MEMBER(in_float), .meaning = "sums in float, in place of all others"},
  };
};

template <>
struct Structure<ScaleRange> : Usual<ScaleRange> {
  static constexpr std::string_view meaning = "of the ratio of two scales in float32, from 2^least";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(least), .meaning = "the lower end's exponent, which is in the range", .limits = {-126, 127}},
      {LASTBIT_MEMBER(most), .meaning = "the upper end's exponent", .limits = {-126, 127}},
      {LASTBIT_MEMBER(end), .meaning = "whether the upper end is in the range"},
  };
};

template <>
struct Structure<DelegatedLayers> : Usual<DelegatedLayers> {
  static constexpr std::string_view meaning = "the layers that a delegate takes; what it leaves is computed by `left`";
  static constexpr auto present = asked([](const Owner& rule) { return rule.data != DelegatedData::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(data), .meaning = "of mean, add, sub, requantize, clip, leaky_relu, logistic, tanh: which data it takes"},
      {LASTBIT_MEMBER(add), .meaning = "in / out of either operand, of add and sub", .read_in = present},
      {LASTBIT_MEMBER(mean), .meaning = "in / out", .read_in = present},
      {LASTBIT_MEMBER(requantize), .meaning = "in / out, of requantize and clip", .read_in = present},
      {LASTBIT_MEMBER(leaky_relu), .meaning = "in / out and in / out * |alpha|; of a negative alpha without the upper end",
       .read_in = present},
      {LASTBIT_MEMBER(mean_axes), .meaning = "over which axes it takes a mean", .read_in = present},
  };
};

template <>
struct Structure<ConcatArithmetic> : Usual<ConcatArithmetic> {
  static constexpr std::string_view meaning = "concatenation of inputs of different scales";
  static constexpr auto present =
      asked([](const Owner& rule) { return rule.method != ConcatMethod::absent || rule.method_uint8 != ConcatMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how an input takes the output's scale"},
      {LASTBIT_MEMBER(method_uint8), .meaning = "the same for uint8 data"},
  };
};

template <>
struct Structure<QuantizeArithmetic> : Usual<QuantizeArithmetic> {
  static constexpr std::string_view meaning = "float to integer";
  static constexpr auto present = asked([](const Owner& rule) { return rule.division != ScaleDivision::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(division), .meaning = "how x is divided by the scale"},
      {LASTBIT_MEMBER(rounding), .meaning = "how the quotient is rounded", .read_in = present},
      {LASTBIT_MEMBER(zero_point), .meaning = "where the zero point joins", .read_in = present},
      {LASTBIT_MEMBER(out_of_range), .meaning = "what a float beyond int32 becomes", .read_in = present},
  };
};

template <>
struct Structure<DequantizeArithmetic> : Usual<DequantizeArithmetic> {
  static constexpr std::string_view meaning = "integer to float";
  static constexpr auto present = asked([](const Owner& rule) { return rule.arithmetic != DequantizeProduct::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(arithmetic), .meaning = "in which float type the product is formed"},
  };
};

template <>
struct Structure<DynamicQuantizeArithmetic> : Usual<DynamicQuantizeArithmetic> {
  static constexpr std::string_view meaning = "float to uint8 with a scale and zero point made from the data";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != DynamicQuantizeMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how scale and zero point are made"},
      {LASTBIT_MEMBER(rounding), .meaning = "how the zero point is rounded", .read_in = present},
  };
};

template <>
struct Structure<DynamicArithmetic> : Usual<DynamicArithmetic> {
  static constexpr std::string_view meaning = "sums of products of real data and integer weights";
  static constexpr auto present = asked([](const Owner& rule) { return rule.codes != DynamicCodes::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(codes), .meaning = "which int8 codes the data become"},
      {LASTBIT_MEMBER(rounding), .meaning = "how codes and zero points are rounded", .read_in = present},
      {LASTBIT_MEMBER(zero_point), .meaning = "where the zero point joins an asymmetric code",
       .read_in = asked([](const Owner& rule) { return rule.codes > DynamicCodes::symmetric; })},
      {LASTBIT_MEMBER(product), .meaning = "in which order a sum and the scales of data and weights are multiplied", .read_in = present},
  };
};

template <>
struct Structure<DynamicByLayer> : Usual<DynamicByLayer> {
  static constexpr std::string_view meaning = "hybrid layers: float32 data, int8 weights, float32 bias and output";
  static constexpr bool is_by_type = true;
  static constexpr auto present = asked([](const Owner& rule) { return rule != DynamicByLayer{}; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(conv), .meaning = "conv2d whose weights have one scale"},
      {LASTBIT_MEMBER(conv_per_channel), .meaning = "conv2d whose weights have another scale in some channel"},
      {LASTBIT_MEMBER(conv_grouped), .meaning = "conv2d of more than one group"},
      {LASTBIT_MEMBER(depthwise_conv), .meaning = "depthwise_conv2d"},
      {LASTBIT_MEMBER(fully_connected), .meaning = "fully_connected"},
  };
};

template <>
struct Structure<BlockQuantizeArithmetic> : Usual<BlockQuantizeArithmetic> {
  static constexpr std::string_view meaning = "float to codes in blocks of 32, with a scale d made from the values of each";
  static constexpr auto present = asked([](const Owner& rule) { return rule.scale != BlockScale::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(scale), .meaning = "from which value of a block its scale is made"},
      {LASTBIT_MEMBER(stored), .meaning = "how the scale is rounded to float16", .read_in = present},
      {LASTBIT_MEMBER(division), .meaning = "how x is divided by the scale", .read_in = present},
      {LASTBIT_MEMBER(offset), .meaning = "what is added to the quotient in float32", .read_in = present},
      {LASTBIT_MEMBER(rounding), .meaning = "how that is rounded to a code", .read_in = present},
  };
};

template <>
struct Structure<BlockQuantizeByFormat> : Usual<BlockQuantizeByFormat> {
  static constexpr std::string_view meaning = "block_quantize, by the format of the codes";
  static constexpr bool is_by_type = true;
  static constexpr auto present = asked([](const Owner& rule) { return rule != BlockQuantizeByFormat{}; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(q8_0), .meaning = "int8 codes of zero point 0"},
      {LASTBIT_MEMBER(q4_0), .meaning = "codes 0 to 15 of zero point 8"},
  };
};

template <>
struct Structure<BlockMatmulArithmetic> : Usual<BlockMatmulArithmetic> {
  static constexpr std::string_view meaning = "sums in float32 of the integer sums of blocks";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != BlockMatmulMethod::absent; });
  static constexpr auto sums = asked([](const Owner& rule) { return rule.sums > 1; });
  static constexpr auto lanes = asked([](const Owner& rule) { return rule.lanes > 1; });
  static constexpr auto sums_of_lanes = asked([](const Owner& rule) { return rule.sums > 1 && rule.lanes > 1; });
  static constexpr RuleLimits up_to_8{1, static_cast<std::int64_t>(most_block_sums)}, up_to_32{1, block_length};
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how blocks are added up"},
      {LASTBIT_MEMBER(product), .meaning = "in which order an integer sum and both scales are multiplied", .read_in = present},
      {LASTBIT_MEMBER(addition), .meaning = "how the product joins a sum", .read_in = present},
      {LASTBIT_MEMBER(sums), .meaning = "sums to which blocks go in turn", .limits = up_to_8, .read_in = present},
      {LASTBIT_MEMBER(rest_product), .meaning = "the product of blocks behind the last turn", .read_in = sums},
      {LASTBIT_MEMBER(rest_addition), .meaning = "how it joins the sum of all, at the end", .read_in = sums},
      {LASTBIT_MEMBER(lanes), .meaning = "parts of a sum", .limits = up_to_32, .read_in = present},
      {LASTBIT_MEMBER(terms), .meaning = "products side by side that go to one lane, the next to the next", .limits = up_to_32,
       .read_in = lanes},
      {LASTBIT_MEMBER(lane_order), .meaning = "in which order the lanes of a sum are added", .read_in = lanes},
      {LASTBIT_MEMBER(lane_join), .meaning = "which lanes are added first", .read_in = sums_of_lanes},
  };
};

template <>
struct Structure<BlockMatmulByFormat> : Usual<BlockMatmulByFormat> {
  static constexpr std::string_view meaning = "block_matmul, by the format of the weights; the data are q8_0";
  static constexpr bool is_by_type = true;
  static constexpr auto present = asked([](const Owner& rule) { return rule != BlockMatmulByFormat{}; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(q8_0), .meaning = "int8 codes of zero point 0"},
      {LASTBIT_MEMBER(q4_0), .meaning = "codes 0 to 15 of zero point 8"},
  };
};

template <>
struct Structure<FixedPointInput> : Usual<FixedPointInput> {
  static constexpr std::string_view meaning = "from the input's scale to the units of a function in fixed point";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(scale), .meaning = "how the scale becomes numbers of the device"},
      {LASTBIT_MEMBER(chain), .meaning = "the stages; hard_swish has its own"},
  };
};

template <>
struct Structure<FunctionArithmetic> : Usual<FunctionArithmetic> {
  static constexpr std::string_view meaning = "a function of one tensor";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != FunctionMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how the function is computed"},
      {LASTBIT_MEMBER(rescale), .meaning = "to the output",
       .read_in = asked([](const Owner& rule) { return rule.method == FunctionMethod::rescaled; })},
      {LASTBIT_MEMBER(input), .meaning = "to the function's fixed point", .read_in = asked([](const Owner& rule) {
                                                                            return rule.method == FunctionMethod::fixed_point ||
                                                                                   rule.method == FunctionMethod::fixed_point_by_double ||
                                                                                   rule.method == FunctionMethod::float_table_8bit;
                                                                          })},
      {LASTBIT_MEMBER(rounding), .meaning = "how the function's float value is rounded",
       .read_in = asked([](const Owner& rule) {
         return rule.method >= FunctionMethod::float_table && rule.method <= FunctionMethod::float_table_onto_zero_point;
       })},
  };
};

template <>
struct Structure<ResizeArithmetic> : Usual<ResizeArithmetic> {
  static constexpr std::string_view meaning = "bilinear interpolation; nearest values are moved, not computed";
  static constexpr auto present =
      asked([](const Owner& rule) { return rule.method != ResizeMethod::absent || rule.nearest != NearestCoordinate::exact; });
  static constexpr auto on_grid =
      asked([](const Owner& rule) { return rule.method == ResizeMethod::fixed_point || rule.method_uint8 == ResizeMethod::fixed_point; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how values are interpolated"},
      {LASTBIT_MEMBER(method_uint8), .meaning = "the same for uint8 data, where it differs (absent: it does not)",
       .read_in = asked([](const Owner& rule) { return rule.method_uint8 != ResizeMethod::absent; })},
      {.name = "coordinates",
       .offset = offsetof(Owner, nearest),
       .type = &rule_type<decltype(Owner::nearest)>,
       .meaning = "in which arithmetic the places of nearest values, and those on a grid of coordinates, are computed",
       .read_in = asked([](const Owner& rule) { return rule.nearest != NearestCoordinate::exact; })},
      {LASTBIT_MEMBER(other_quantization), .meaning = "what happens where the quantisations of input and output differ",
       .read_in = asked([](const Owner& rule) { return rule.other_quantization != OtherQuantization::refused; })},
      {LASTBIT_MEMBER(centring), .meaning = "what is subtracted from the codes that are interpolated", .read_in = on_grid},
      {LASTBIT_MEMBER(grid), .meaning = "what is rounded to the grid of coordinates", .read_in = on_grid},
      {LASTBIT_MEMBER(fraction_bits), .meaning = "places of a coordinate below the binary point", .limits_in = asked([](const Owner&) {
                                                                                                    return RuleLimits{1, 20};
                                                                                                  }),
       .read_in = on_grid},
      {LASTBIT_MEMBER(grid_rounding), .meaning = "how coordinates are rounded", .read_in = on_grid},
      {LASTBIT_MEMBER(rounding), .meaning = "how the weighted sum is rounded", .read_in = on_grid},
  };
};

template <>
struct Structure<LeftArithmetic> : Usual<LeftArithmetic> {
  static constexpr std::string_view meaning = "the layers that a delegate leaves to the kernels beneath it";
  static constexpr bool is_by_type = true;
  static constexpr auto present = asked([](const Owner& rule) { return rule != LeftArithmetic{}; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(mean), .meaning = "mean"},
      {LASTBIT_MEMBER(add), .meaning = "add of 8-bit data"},
      {LASTBIT_MEMBER(sub), .meaning = "sub of 8-bit data"},
      {LASTBIT_MEMBER(mul), .meaning = "mul"},
      {LASTBIT_MEMBER(requantize), .meaning = "requantize and clip"},
      {LASTBIT_MEMBER(leaky_relu), .meaning = "leaky_relu"},
      {LASTBIT_MEMBER(logistic), .meaning = "logistic"},
      {LASTBIT_MEMBER(tanh), .meaning = "tanh"},
      {LASTBIT_MEMBER(resize), .meaning = "resize"},
  };
};

template <>
struct Structure<Float16Rules> : Usual<Float16Rules> {
  static constexpr std::string_view meaning = "rounding to float16";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(rounding), .meaning = "how what float16 cannot hold is rounded"},
      {LASTBIT_MEMBER(overflow), .meaning = "what a value above 65504 becomes"},
      {LASTBIT_MEMBER(top_exponent), .meaning = "what the largest exponent means"},
  };
};

template <>
struct Structure<Float16Quotient> : Usual<Float16Quotient> {
  static constexpr std::string_view meaning = "a quotient, rounded to float16";
  static constexpr auto members = joined(spliced<decltype(Owner::rounded)>(offsetof(Owner, rounded)),
                                         std::to_array<RuleMember>({
                                             {LASTBIT_MEMBER(zero_division), .meaning = "what a division by zero gives"},
                                         }));
};

template <>
struct Structure<SumRule> : Usual<SumRule> {
  static constexpr std::string_view meaning = "a sum of floats, whose order is part of the result";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(precision), .meaning = "what every sum is rounded to"},
      {LASTBIT_MEMBER(order), .meaning = "in which order terms are added"},
      {LASTBIT_MEMBER(block), .meaning = "terms of a block", .limits = widths,
       .read_in = asked([](const Owner& rule) { return in_blocks(rule.order); })},
  };
};

template <>
struct Structure<CubeArithmetic> : Usual<CubeArithmetic> {
  static constexpr std::string_view meaning = "convolutions and matrix products of float16 data";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(sum), .meaning = "how products are added up"},
      {LASTBIT_MEMBER(terms), .meaning = "in which order the cube sees the terms"},
      {LASTBIT_MEMBER(bias), .meaning = "where the bias joins the sum"},
  };
};

template <>
struct Structure<Float16Mean> : Usual<Float16Mean> {
  static constexpr std::string_view meaning = "averages of float16 data";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(sum), .meaning = "how values are added up"},
      {LASTBIT_MEMBER(scaling), .meaning = "when 1/count is multiplied in"},
  };
};

template <>
struct Structure<Float16Logistic> : Usual<Float16Logistic> {
  static constexpr std::string_view meaning = "1 / (1 + exp(-x)), step by step";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(steps), .meaning = "what every step is rounded to"},
      {LASTBIT_MEMBER(bound), .meaning = "whether x is bounded first"},
  };
};

template <>
struct Structure<Float16Function> : Usual<Float16Function> {
  static constexpr std::string_view meaning = "a function of float16 data, step by step";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(steps), .meaning = "what every step is rounded to"},
  };
};

template <>
struct Structure<Float16Softmax> : Usual<Float16Softmax> {
  static constexpr std::string_view meaning = "exp(x - max) / sum";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(exponential), .meaning = "what the exponential is rounded to"},
      {LASTBIT_MEMBER(sum), .meaning = "how exponentials are added up"},
  };
};

template <>
struct Structure<Float16Quantize> : Usual<Float16Quantize> {
  static constexpr std::string_view meaning = "float16 to integer";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(steps), .meaning = "what every step is rounded to"},
      {LASTBIT_MEMBER(factor), .meaning = "how 1/scale is multiplied in"},
      {LASTBIT_MEMBER(rounding), .meaning = "how the product is rounded"},
  };
};

template <>
struct Structure<Float16Dequantize> : Usual<Float16Dequantize> {
  static constexpr std::string_view meaning = "integer to float16";
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(scale_bits), .meaning = "leading bits that the scale keeps, truncated", .limits = {1, 24}},
  };
};

template <>
struct Structure<Float16Arithmetic> : Usual<Float16Arithmetic> {
  static constexpr std::string_view meaning = "operations on float16 tensors";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != Float16Method::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "whether the device has them"},
      {LASTBIT_MEMBER(conversion), .meaning = "from float32: casts, what the cube delivers, exponentials", .read_in = present},
      {LASTBIT_MEMBER(sum), .meaning = "of two values", .read_in = present},
      {LASTBIT_MEMBER(product), .meaning = "of two values", .read_in = present},
      {LASTBIT_MEMBER(quotient), .meaning = "of two values", .read_in = present},
      {LASTBIT_MEMBER(cube), .meaning = "conv2d, depthwise_conv2d, transposed_conv2d, fully_connected, matmul", .read_in = present},
      {LASTBIT_MEMBER(add_n), .meaning = "the sum of many tensors", .read_in = present},
      {LASTBIT_MEMBER(mean), .meaning = "mean and global_average_pool", .read_in = present},
      {LASTBIT_MEMBER(average_pool), .meaning = "average_pool2d", .read_in = present},
      {LASTBIT_MEMBER(logistic), .meaning = "logistic", .read_in = present},
      {LASTBIT_MEMBER(tanh), .meaning = "tanh", .read_in = present},
      {LASTBIT_MEMBER(hard_swish), .meaning = "hard_swish", .read_in = present},
      {LASTBIT_MEMBER(softmax), .meaning = "softmax", .read_in = present},
      {LASTBIT_MEMBER(quantize), .meaning = "to integers", .read_in = present},
      {LASTBIT_MEMBER(dequantize), .meaning = "from integers", .read_in = present},
  };
};

template <>
struct Structure<SvdfArithmetic> : Usual<SvdfArithmetic> {
  static constexpr std::string_view meaning = "feature sums become the state, time sums of the state the output";
  static constexpr auto present = asked([](const Owner& rule) { return !rule.output.chain.empty(); });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(accumulator), .meaning = "of every sum", .read_in = present},
      {LASTBIT_MEMBER(state_i8), .meaning = "from a feature sum to an 8-bit state", .read_in = present},
      {LASTBIT_MEMBER(state_i16), .meaning = "from a feature sum to a 16-bit state", .read_in = present},
      {LASTBIT_MEMBER(output), .meaning = "from time sums and bias to the output"},
      {LASTBIT_MEMBER(activation), .meaning = "whether a fused activation bounds the output", .read_in = present},
  };
};

template <>
struct Structure<GateArithmetic> : Usual<GateArithmetic> {
  static constexpr std::string_view meaning = "a matrix times a vector, plus bias, as a 16-bit value of scale 2^-12";
  static constexpr auto present = asked([](const Owner& rule) { return exists(rule.sum); });
  static constexpr auto members = joined(spliced<decltype(Owner::sum)>(offsetof(Owner, sum)),
                                         std::to_array<RuleMember>({
                                             {LASTBIT_MEMBER(bias), .meaning = "where the bias joins the sum", .read_in = present},
                                         }));
};

template <>
struct Structure<LstmArithmetic> : Usual<LstmArithmetic> {
  static constexpr std::string_view meaning = "lstm of 8- or 16-bit data with a 16-bit cell";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != LstmMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "how logistic and tanh are computed"},
      {LASTBIT_MEMBER(gate_i8), .meaning = "gates of 8-bit data", .read_in = present},
      {LASTBIT_MEMBER(gate_i16), .meaning = "gates of 16-bit data", .read_in = present},
      {LASTBIT_MEMBER(sum), .meaning = "what becomes of a gate's, and of the cell's, two parts that leave 16 bits", .read_in = present},
      {LASTBIT_MEMBER(cell), .meaning = "gate times cell, gate times gate, to the cell's scale", .read_in = present},
      {LASTBIT_MEMBER(clip_rounding), .meaning = "how the cell's clip is rounded to units of its scale", .read_in = present},
      {LASTBIT_MEMBER(output), .meaning = "gate times tanh(cell)", .read_in = present},
  };
};

template <>
struct Structure<ArgmaxArithmetic> : Usual<ArgmaxArithmetic> {
  static constexpr std::string_view meaning = "the index of the maximum";
  static constexpr auto present = asked([](const Owner& rule) { return rule.method != ArgmaxMethod::absent; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(method), .meaning = "which of several equal values counts"},
      {LASTBIT_MEMBER(running_maximum), .meaning = "where the search starts", .read_in = present},
      {LASTBIT_MEMBER(single_channel), .meaning = "what a single channel gives", .read_in = present},
  };
};

template <>
struct Structure<Backend> : Usual<Backend> {
  static constexpr std::string_view meaning = "a device";
  static constexpr auto integer = asked([](const Owner& rule) { return rule.domain == Domain::integer; });
  static constexpr auto real = asked([](const Owner& rule) { return rule.domain == Domain::real; });
  static constexpr auto symmetric =
      asked([](const Owner& rule) { return rule.domain == Domain::integer && rule.coding != Coding::affine; });
  static constexpr auto delegates =
      asked([](const Owner& rule) { return rule.domain == Domain::integer && rule.delegated.data != DelegatedData::absent; });
  static constexpr auto leaves_float32 =
      asked([](const Owner& rule) { return rule.domain == Domain::integer && rule.fusion != Fusion::every; });
  static constexpr RuleMember members[] = {
      {LASTBIT_MEMBER(domain), .meaning = "integers by the rules below, or real numbers on the float path"},
      {LASTBIT_MEMBER(golden_range), .meaning = "what bounds the real number that stands for a code", .read_in = real},
      {LASTBIT_MEMBER(coding), .meaning = "which codes the device has; others are refused", .read_in = symmetric},
      {LASTBIT_MEMBER(fusion), .meaning = "which operations between dequantize and quantize are computed on codes",
       .read_in = leaves_float32},
      {LASTBIT_MEMBER(conv), .meaning = "conv2d", .read_in = integer},
      {LASTBIT_MEMBER(depthwise_conv), .meaning = "depthwise_conv2d", .read_in = integer},
      {LASTBIT_MEMBER(transposed_conv), .meaning = "transposed_conv2d", .read_in = integer},
      {LASTBIT_MEMBER(fully_connected), .meaning = "fully_connected", .read_in = integer},
      {LASTBIT_MEMBER(matmul), .meaning = "matmul", .read_in = integer},
      {LASTBIT_MEMBER(recurrent), .meaning = "the sums of a recurrent layer; its activation is `pwl`", .read_in = integer},
      {LASTBIT_MEMBER(fused_conv), .meaning = "a convolution with pooling and activation in one layer", .read_in = integer},
      {LASTBIT_MEMBER(pwl), .meaning = "piecewise-linear functions", .read_in = integer},
      {LASTBIT_MEMBER(sum_pool), .meaning = "sums over windows", .read_in = integer},
      {LASTBIT_MEMBER(max_pool), .meaning = "max_pool2d", .read_in = integer},
      {LASTBIT_MEMBER(average_pool), .meaning = "average_pool2d", .read_in = integer},
      {LASTBIT_MEMBER(global_average_pool), .meaning = "global_average_pool", .read_in = integer},
      {LASTBIT_MEMBER(planar_average_pool),
       .meaning = "both of images whose channels lie each by itself (NCHW), where they differ (absent: they do not)", .read_in = integer},
      {LASTBIT_MEMBER(mean), .meaning = "mean", .read_in = integer},
      {LASTBIT_MEMBER(reduce_sum), .meaning = "reduce_sum", .read_in = integer},
      {LASTBIT_MEMBER(add), .meaning = "add", .read_in = integer},
      {LASTBIT_MEMBER(sub), .meaning = "sub", .read_in = integer},
      {LASTBIT_MEMBER(add_n), .meaning = "add_n", .read_in = integer},
      {LASTBIT_MEMBER(mul), .meaning = "mul: the product of two centred codes", .read_in = integer},
      {LASTBIT_MEMBER(concat), .meaning = "concatenation", .read_in = integer},
      {LASTBIT_MEMBER(quantize), .meaning = "float to integer", .read_in = integer},
      {LASTBIT_MEMBER(dequantize), .meaning = "integer to float", .read_in = integer},
      {LASTBIT_MEMBER(dynamic_quantize), .meaning = "float to uint8, scale from the data", .read_in = integer},
      {LASTBIT_MEMBER(dynamic), .meaning = "hybrid layers: float32 data, int8 weights", .read_in = integer},
      {LASTBIT_MEMBER(block_quantize), .meaning = "float to codes in blocks, a scale for each", .read_in = integer},
      {LASTBIT_MEMBER(block_matmul), .meaning = "data and weights in blocks: sums in float32", .read_in = integer},
      {LASTBIT_MEMBER(requantize), .meaning = "requantize, and relu, relu6, relu_n1_to_1, clip as operations of their own",
       .read_in = integer},
      {LASTBIT_MEMBER(requantize_to_32bit), .meaning = "to 32-bit data, where it differs (an empty chain: it does not)",
       .read_in = integer},
      {LASTBIT_MEMBER(requantize_16bit), .meaning = "of or to 16-bit data, where it differs (an empty chain: it does not)",
       .read_in = integer},
      {LASTBIT_MEMBER(relu), .meaning = "relu, relu6, relu_n1_to_1 where they differ (an empty chain: they do not)", .read_in = integer},
      {LASTBIT_MEMBER(leaky_relu), .meaning = "leaky_relu", .read_in = integer},
      {LASTBIT_MEMBER(prelu), .meaning = "prelu", .read_in = integer},
      {LASTBIT_MEMBER(hard_swish), .meaning = "hard_swish", .read_in = integer},
      {LASTBIT_MEMBER(logistic), .meaning = "logistic", .read_in = integer},
      {LASTBIT_MEMBER(tanh), .meaning = "tanh", .read_in = integer},
      {LASTBIT_MEMBER(softmax), .meaning = "softmax", .read_in = integer},
      {LASTBIT_MEMBER(exp), .meaning = "exp", .read_in = integer},
      {LASTBIT_MEMBER(abs), .meaning = "abs", .read_in = integer},
      {LASTBIT_MEMBER(resize), .meaning = "resize_bilinear", .read_in = integer},
      {LASTBIT_MEMBER(float16), .meaning = "operations on float16 tensors", .read_in = integer},
      {LASTBIT_MEMBER(float32), .meaning = "operations on float32 tensors of a model for the device", .read_in = integer},
      {LASTBIT_MEMBER(svdf), .meaning = "svdf", .read_in = integer},
      {LASTBIT_MEMBER(lstm), .meaning = "lstm", .read_in = integer},
      {LASTBIT_MEMBER(argmax), .meaning = "argmax, argmin", .read_in = integer},
      {LASTBIT_MEMBER(bitwise), .meaning = "bitwise_or, bitwise_xor", .read_in = integer},
      {LASTBIT_MEMBER(extreme), .meaning = "maximum, minimum, reduce_max, reduce_min", .read_in = integer},
      {LASTBIT_MEMBER(l2_normalization), .meaning = "l2_normalization", .read_in = integer},
      {LASTBIT_MEMBER(detection), .meaning = "detection_postprocess", .read_in = integer},
      {LASTBIT_MEMBER(delegated), .meaning = "which layers the rules above are for, where the others are left to other kernels",
       .read_in = integer},
      {LASTBIT_MEMBER(left), .meaning = "these others", .read_in = delegates},
  };
};

const RuleType& backend_type() { return rule_type<Backend>; }
const RuleType& stage_type() { return rule_type<Stage>; }

}  // namespace lastbit
