// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every structure of rules, stated once: its members in the order of their paths, what they mean, their limits, and when they are read.
#include "sheet/rule_type.hpp"

#include "lastbit/op/block_matmul.hpp"
#include "lastbit/ratio_text.hpp"

namespace lastbit {
namespace {

constexpr RuleLimits widths{2, 64};

[[nodiscard]] StageMembers read_by(const Stage& stage) { return facts_of(stage).reads(stage); }

}  // namespace

static const RuleType& rule_type(Of<TermsByGroup>) {
  static const RuleType type = [] {
    static constexpr std::string_view names[largest_group] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    StructureOf<TermsByGroup> all("a number of terms for every number of vectors processed together");
    for (std::size_t i = 0; i < largest_group; ++i) {
      all.part({.name = names[i],
                .offset = offsetof(TermsByGroup, terms) + i * sizeof(std::uint32_t),
                .type = &rule_type(Of<std::uint32_t>{}),
                .meaning = "terms, where so many vectors are processed together",
                .limits = {0, std::int64_t{1} << 30}});
    }
    return all.take();
  }();
  return type;
}

static const RuleType& rule_type(Of<PartialSums>) {
  static const RuleType type = StructureOf<PartialSums>("narrower sums on the way to the accumulator, as vector instructions form them")
                                   .present([](const PartialSums& rule) { return rule.method != PartialMethod::absent; })
                                   .deciding("method", &PartialSums::method, "which terms form partial sums")
                                   .member("terms", &PartialSums::terms, "terms of one partial sum")
                                   .member("vector", &PartialSums::vector, "terms of a vector; 0: a run has no tail", {0, 64})
                                   .member("tail", &PartialSums::tail, "what becomes of terms behind the last whole vector")
                                   .member("bits", &PartialSums::bits, "their width", widths)
                                   .member("overflow", &PartialSums::overflow, "what becomes of one that leaves the width")
                                   .member("emptied", &PartialSums::emptied,
                                           "terms after which a sum of partial sums, of the same width and overflow, goes into the "
                                           "accumulator; 0: every partial sum does by itself",
                                           {0, 65535})
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<AccumulatorRule>) {
  static const RuleType type = StructureOf<AccumulatorRule>("a sum in a device's width")
                                   .deciding("bits", &AccumulatorRule::bits, "width of the running sum", widths)
                                   .deciding("overflow", &AccumulatorRule::overflow, "what becomes of a sum that leaves the width")
                                   .deciding("when", &AccumulatorRule::when, "when the running sum is narrowed to the width")
                                   .member_if([](const AccumulatorRule& rule) { return rule.when == NarrowingPoint::every_tile; }, "tile",
                                              &AccumulatorRule::tile, "terms between two narrowings")
                                   .deciding("partial", &AccumulatorRule::partial, "sums of neighbouring terms that are formed first")
                                   .take();
  return type;
}

/// Of the normalizations whose exponent is looked for.
static bool looks_for_exponent(const ScaleEncoding& rule) {
  return rule.normalization == Normalization::least_error || rule.normalization == Normalization::largest_below;
}

static const RuleType& rule_type(Of<ScaleEncoding>) {
  constexpr RuleLimits exponents{-2000, 2000};
  static const RuleType type =
      StructureOf<ScaleEncoding>("from the real scale to a multiplier M and an exponent e")
          .deciding("arithmetic", &ScaleEncoding::arithmetic, "in which float type the effective scale is computed")
          .deciding("significant_bits", &ScaleEncoding::significant_bits, "width of M", {1, 32})
          .member_if([](const ScaleEncoding& rule) { return rule.normalization != Normalization::unit_of_pair; }, "rounding",
                     &ScaleEncoding::rounding, "how M is rounded")
          .deciding("normalization", &ScaleEncoding::normalization, "where M's binary point lies")
          .member_if([](const ScaleEncoding& rule) { return has_exponent(rule) && !looks_for_exponent(rule); }, "form",
                     &ScaleEncoding::form,
                     "which multipliers the device has; a scale that is no power of two, or no 2^k + 1, is then refused")
          .member_if([](const ScaleEncoding& rule) { return has_exponent(rule); }, "min_exponent", &ScaleEncoding::min_exponent,
                     "least e; smaller scales have the multiplier 0", exponents)
          .member_if([](const ScaleEncoding& rule) { return has_exponent(rule) || rule.normalization == Normalization::unit_of_pair; },
                     "max_exponent", &ScaleEncoding::max_exponent, "largest e; larger scales take the largest M with it", exponents)
          .member_if(
              [](const ScaleEncoding& rule) {
                return rule.carry != MultiplierCarry::renormalize || rule.added != MultiplierAddend::nothing;
              },
              "carry", &ScaleEncoding::carry, "what becomes of a multiplier that comes to the next power of two")
          .member_if([](const ScaleEncoding& rule) { return rule.added != MultiplierAddend::nothing; }, "added", &ScaleEncoding::added,
                     "what is added to the rounded M")
          .take();
  return type;
}

static const RuleType& rule_type(Of<Stage>) {
  static const RuleType type =
      StructureOf<Stage>("one step on the way from an accumulator to an output")
          .has_only_read_members()
          .deciding("kind", &Stage::kind, "what it does to the value v")
          .member_if([](const Stage& stage) { return read_by(stage).bits; }, "bits", &Stage::bits,
                     "width of the result, or of the multiplier; of a multiply 0: as it is")
          .limits([](const Stage& stage) {
            return RuleLimits{facts_of(stage).least_bits, facts_of(stage).most_bits};
          })
          .member_if([](const Stage& stage) { return read_by(stage).overflow; }, "overflow", &Stage::overflow,
                     "what becomes of a value that leaves the width")
          .member_if([](const Stage& stage) { return read_by(stage).rounding; }, "rounding", &Stage::rounding,
                     "how what is dropped is rounded")
          .member_if([](const Stage& stage) { return read_by(stage).step; }, "step", &Stage::step,
                     "whither what is rounded up steps from the integer below it")
          .member_if([](const Stage& stage) { return read_by(stage).arithmetic; }, "arithmetic", &Stage::arithmetic,
                     "in which float type the product is formed")
          .member_if([](const Stage& stage) { return read_by(stage).amount; }, "amount", &Stage::amount, "which n the shift has")
          .member_if([](const Stage& stage) { return read_by(stage).constant; }, "constant", &Stage::constant,
                     "n itself; of excess: bits that stay, those of the output included", {0, 62})
          .member_if([](const Stage& stage) { return read_by(stage).limit; }, "limit", &Stage::limit, "largest n; of segments: how many",
                     {0, 62})
          .take();
  return type;
}

static const RuleType& rule_type(Of<Chain>) {
  static const RuleType type = [] {
    RuleType chain = basic_type<Chain>(RuleType::Kind::chain);
    chain.meaning = "stages in the order of the hardware";
    chain.members = {{.name = "size",
                      .offset = offsetof(Chain, size),
                      .type = &rule_type(Of<std::uint8_t>{}),
                      .meaning = "number of stages",
                      .limits = {0, max_stages}}};
    return chain;
  }();
  return type;
}

static const RuleType& rule_type(Of<Ratio>) {
  static const RuleType type = [] {
    RuleType text = basic_type<Ratio>(RuleType::Kind::text);
    text.to_text = [](const void* ratio) { return text_of(*static_cast<const Ratio*>(ratio)); };
    text.from_text = [](std::string_view from, void* to) {
      const auto ratio = ratio_from(from);
      if (ratio) *static_cast<Ratio*>(to) = *ratio;
      return ratio.has_value();
    };
    text.beside = [](const void* ratio) {
      std::vector<std::string> texts;
      for (const Ratio& other : ratios_beside(*static_cast<const Ratio*>(ratio))) texts.push_back(text_of(other));
      return texts;
    };
    text.allowed = "ratios such as in*weight/out, float(in*weight)/out, larger_in/out*2^-19, 1/count";
    return text;
  }();
  return type;
}

static const RuleType& rule_type(Of<RescaleRule>) {
  static const RuleType type =
      StructureOf<RescaleRule>("an effective scale and the chain it drives; an empty chain: absent")
          .present([](const RescaleRule& rule) { return !rule.chain.empty(); })
          .member_if([](const RescaleRule& rule) { return applies_scale(rule.chain); }, "by", &RescaleRule::by,
                     "the effective scale as a ratio of the layer's quantities")
          .member_if([](const RescaleRule& rule) { return applies_scale(rule.chain); }, "scale", &RescaleRule::scale,
                     "how the scale becomes numbers of the device; a chain that multiplies in float reads `arithmetic` only")
          .first_member_if([](const RescaleRule& rule) { return !reads_multiplier(rule.chain); })
          .deciding("chain", &RescaleRule::chain, "the stages")
          .take();
  return type;
}

static const RuleType& rule_type(Of<SumArithmetic>) {
  static const RuleType type =
      StructureOf<SumArithmetic>("terms, each through the operand chain, their sum, and the output chain")
          .present([](const SumArithmetic& rule) { return exists(rule); })
          .member("centring", &SumArithmetic::centring, "what is subtracted from a term's code, or of a product from both")
          .member("operand", &SumArithmetic::operand, "from a centred code, or a product, to a term; an empty chain: it is the term")
          .member("accumulator", &SumArithmetic::accumulator, "the sum")
          .deciding("output", &SumArithmetic::output, "from the sum to the output")
          .formerly("rescale")
          .take();
  return type;
}

static const RuleType& rule_type(Of<CrossTermArithmetic>) {
  static const RuleType type =
      StructureOf<CrossTermArithmetic>("what joins sums of codes where a layer states factors in place of zero points")
          .present([](const CrossTermArithmetic& rule) { return rule.method != CrossTermMethod::absent; })
          .deciding("method", &CrossTermArithmetic::method, "how the factors act")
          .member("rounding", &CrossTermArithmetic::rounding, "how what each shift drops is rounded")
          .take();
  return type;
}

static const RuleType& rule_type(Of<ConvArithmetic>) {
  constexpr auto has_stored_bias = [](const ConvArithmetic& rule) { return exists(rule.sum) && rule.bias_bits > 0; };
  static const RuleType type =
      StructureOf<ConvArithmetic>("sums of products")
          .present([](const ConvArithmetic& rule) { return exists(rule.sum); })
          .splice(&ConvArithmetic::sum)
          .member("bias", &ConvArithmetic::bias, "where the bias joins the sum")
          .member("row_multiplier", &ConvArithmetic::row_multiplier, "a layer's integer multiplier per output channel")
          .member_if([](const ConvArithmetic& rule) { return applies_scale(rule.sum); }, "per_channel", &ConvArithmetic::per_channel,
                     "what becomes of per-channel weight scales")
          .member_if(has_stored_bias, "bias_bits", &ConvArithmetic::bias_bits,
                     "width of the stored bias, which is shifted left where it is added; 0: the bias as it is", {0, 64})
          .member_if(has_stored_bias, "bias_rounding", &ConvArithmetic::bias_rounding, "how what that shift drops is rounded")
          .deciding("cross_terms", &ConvArithmetic::cross_terms,
                    "what joins sums of codes where a layer states factors in place of zero points")
          .take();
  return type;
}

static const RuleType& rule_type(Of<ConvByType>) {
  static const RuleType type =
      StructureOf<ConvByType>("sums of products by the type of data")
          .is_by_type()
          .present([](const ConvByType& rule) {
            return exists(rule.i8.sum) || exists(rule.u8.sum) || exists(rule.i16_bias32.sum) || exists(rule.i16_bias64.sum) ||
                   exists(rule.i8_weights16.sum) || exists(rule.i16_weights8.sum) || exists(rule.i8_per_channel.sum) ||
                   exists(rule.i8_without_bias.sum) || exists(rule.i16_without_bias.sum);
          })
          .deciding("i8", &ConvByType::i8, "8-bit data")
          .deciding("u8", &ConvByType::u8, "uint8 data where they differ from int8")
          .deciding("i16_bias32", &ConvByType::i16_bias32, "16-bit data with a 32-bit bias")
          .deciding("i16_bias64", &ConvByType::i16_bias64, "16-bit data with a 64-bit bias")
          .deciding("i8_weights16", &ConvByType::i8_weights16, "8-bit data with 16-bit weights where these differ")
          .deciding("i16_weights8", &ConvByType::i16_weights8, "16-bit data with 8-bit weights where these differ")
          .deciding("i8_per_channel", &ConvByType::i8_per_channel, "8-bit data, weights with a scale per channel, where they differ")
          .deciding("i8_without_bias", &ConvByType::i8_without_bias, "8-bit data without a bias where they differ")
          .deciding("i16_without_bias", &ConvByType::i16_without_bias, "16-bit data without a bias where they differ")
          .take();
  return type;
}

static const RuleType& rule_type(Of<MatmulArithmetic>) {
  static const RuleType type = StructureOf<MatmulArithmetic>("sums of products of two tensors")
                                   .present([](const MatmulArithmetic& rule) { return exists(rule.sum); })
                                   .splice(&MatmulArithmetic::sum)
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<MatmulByType>) {
  static const RuleType type =
      StructureOf<MatmulByType>("products of two matrices by the type of data")
          .is_by_type()
          .present([](const MatmulByType& rule) { return exists(rule.i8.sum) || exists(rule.u8.sum) || exists(rule.i16.sum); })
          .deciding("i8", &MatmulByType::i8, "8-bit data")
          .deciding("u8", &MatmulByType::u8, "uint8 data where they differ from int8")
          .deciding("i16", &MatmulByType::i16, "16-bit data")
          .formerly("i16_bias64")
          .take();
  return type;
}

static const RuleType& rule_type(Of<SumPoolArithmetic>) {
  static const RuleType type = StructureOf<SumPoolArithmetic>("sums over windows")
                                   .present([](const SumPoolArithmetic& rule) { return exists(rule.i8) || exists(rule.wide); })
                                   .member("order", &SumPoolArithmetic::order, "in which order a window's values are added")
                                   .deciding("i8", &SumPoolArithmetic::i8, "8-bit data")
                                   .deciding("wide", &SumPoolArithmetic::wide, "wider data")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<PwlArithmetic>) {
  static const RuleType type =
      StructureOf<PwlArithmetic>("piecewise-linear functions")
          .present([](const PwlArithmetic& rule) { return rule.method != PwlMethod::absent; })
          .deciding("method", &PwlArithmetic::method, "how a segment is stated")
          .member("output_overflow", &PwlArithmetic::output_overflow, "what becomes of a value that leaves the output's type")
          .take();
  return type;
}

static const RuleType& rule_type(Of<FusedConvArithmetic>) {
  static const RuleType type =
      StructureOf<FusedConvArithmetic>("convolution, pooling and piecewise-linear activation in one layer")
          .present([](const FusedConvArithmetic& rule) { return rule.order != FusedOrder::absent; })
          .deciding("order", &FusedConvArithmetic::order, "which comes first")
          .member_if([](const FusedConvArithmetic& rule) { return rule.order == FusedOrder::pool_then_activation; }, "sum",
                     &FusedConvArithmetic::sum, "the sums that are pooled")
          .take();
  return type;
}

static const RuleType& rule_type(Of<FloatSumArithmetic>) {
  static const RuleType type = StructureOf<FloatSumArithmetic>("a sum of two tensors in float32")
                                   .present([](const FloatSumArithmetic& rule) { return rule.method != FloatSumMethod::absent; })
                                   .deciding("method", &FloatSumArithmetic::method, "how the terms are added")
                                   .member("rounding", &FloatSumArithmetic::rounding, "how the sum is rounded to an integer")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<FloatAverageArithmetic>) {
  static const RuleType type =
      StructureOf<FloatAverageArithmetic>("an average in float32")
          .present([](const FloatAverageArithmetic& rule) { return rule.method != FloatAverageMethod::absent; })
          .deciding("method", &FloatAverageArithmetic::method, "how the values are added and divided")
          .member("rounding", &FloatAverageArithmetic::rounding, "how the average is rounded to an integer")
          .member("overhang", &FloatAverageArithmetic::overhang, "whether what a last window adds to counted padding counts")
          .take();
  return type;
}

static const RuleType& rule_type(Of<AveragePoolArithmetic>) {
  static const RuleType type =
      StructureOf<AveragePoolArithmetic>("averages over windows")
          .present([](const AveragePoolArithmetic& rule) { return exists(rule.sum) || rule.in_float.method != FloatAverageMethod::absent; })
          .member("padding", &AveragePoolArithmetic::padding, "whether padding counts")
          .member("output_scale", &AveragePoolArithmetic::output_scale, "whether the output has a scale of its own")
          .member_if([](const AveragePoolArithmetic& rule) { return reads_converter(rule.sum.output.chain); }, "scales",
                     &AveragePoolArithmetic::scales, "what the scale and the converter are made of")
          .splice(&AveragePoolArithmetic::sum)
          .deciding("in_float", &AveragePoolArithmetic::in_float, "averages in float, in place of the sum of codes")
          .take();
  return type;
}

static const RuleType& rule_type(Of<MeanArithmetic>) {
  static const RuleType type = StructureOf<MeanArithmetic>("means over axes")
                                   .present([](const MeanArithmetic& rule) { return exists(rule.sum); })
                                   .member("count", &MeanArithmetic::count, "where the count divides")
                                   .splice(&MeanArithmetic::sum)
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<AddArithmetic>) {
  static const RuleType type =
      StructureOf<AddArithmetic>("sums of tensors by the type of data")
          .is_by_type()
          .present([](const AddArithmetic& rule) {
            return exists(rule.i8) || exists(rule.i16) || exists(rule.i16_power_of_two) || exists(rule.above_one) ||
                   rule.in_float.method != FloatSumMethod::absent;
          })
          .deciding("i8", &AddArithmetic::i8, "8-bit data")
          .deciding("i16", &AddArithmetic::i16, "16-bit data")
          .deciding("i16_power_of_two", &AddArithmetic::i16_power_of_two, "16-bit data of layers with `power_of_two_scales`")
          .deciding("above_one", &AddArithmetic::above_one, "data of scales in / out above 1 where they differ")
          .deciding("in_float", &AddArithmetic::in_float, "sums in float, in place of all others")
          .take();
  return type;
}

static const RuleType& rule_type(Of<ScaleRange>) {
  static const RuleType type = StructureOf<ScaleRange>("of the ratio of two scales in float32, from 2^least")
                                   .deciding("least", &ScaleRange::least, "the lower end's exponent, which is in the range", {-126, 127})
                                   .deciding("most", &ScaleRange::most, "the upper end's exponent", {-126, 127})
                                   .deciding("end", &ScaleRange::end, "whether the upper end is in the range")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<DelegatedLayers>) {
  static const RuleType type =
      StructureOf<DelegatedLayers>("the layers that a delegate takes; what it leaves is computed by `left`")
          .present([](const DelegatedLayers& rule) { return rule.data != DelegatedData::absent; })
          .deciding("data", &DelegatedLayers::data, "of mean, add, sub, requantize, clip, leaky_relu, logistic, tanh: which data it takes")
          .member("add", &DelegatedLayers::add, "in / out of either operand, of add and sub")
          .member("mean", &DelegatedLayers::mean, "in / out")
          .member("requantize", &DelegatedLayers::requantize, "in / out, of requantize and clip")
          .member("leaky_relu", &DelegatedLayers::leaky_relu, "in / out and in / out * |alpha|; of a negative alpha without the upper end")
          .member("mean_axes", &DelegatedLayers::mean_axes, "over which axes it takes a mean")
          .take();
  return type;
}

static const RuleType& rule_type(Of<ConcatArithmetic>) {
  static const RuleType type = StructureOf<ConcatArithmetic>("concatenation of inputs of different scales")
                                   .present([](const ConcatArithmetic& rule) {
                                     return rule.method != ConcatMethod::absent || rule.method_uint8 != ConcatMethod::absent;
                                   })
                                   .deciding("method", &ConcatArithmetic::method, "how an input takes the output's scale")
                                   .deciding("method_uint8", &ConcatArithmetic::method_uint8, "the same for uint8 data")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<QuantizeArithmetic>) {
  static const RuleType type = StructureOf<QuantizeArithmetic>("float to integer")
                                   .present([](const QuantizeArithmetic& rule) { return rule.division != ScaleDivision::absent; })
                                   .deciding("division", &QuantizeArithmetic::division, "how x is divided by the scale")
                                   .member("rounding", &QuantizeArithmetic::rounding, "how the quotient is rounded")
                                   .member("zero_point", &QuantizeArithmetic::zero_point, "where the zero point joins")
                                   .member("out_of_range", &QuantizeArithmetic::out_of_range, "what a float beyond int32 becomes")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<DequantizeArithmetic>) {
  static const RuleType type = StructureOf<DequantizeArithmetic>("integer to float")
                                   .present([](const DequantizeArithmetic& rule) { return rule.arithmetic != DequantizeProduct::absent; })
                                   .deciding("arithmetic", &DequantizeArithmetic::arithmetic, "in which float type the product is formed")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<DynamicQuantizeArithmetic>) {
  static const RuleType type =
      StructureOf<DynamicQuantizeArithmetic>("float to uint8 with a scale and zero point made from the data")
          .present([](const DynamicQuantizeArithmetic& rule) { return rule.method != DynamicQuantizeMethod::absent; })
          .deciding("method", &DynamicQuantizeArithmetic::method, "how scale and zero point are made")
          .member("rounding", &DynamicQuantizeArithmetic::rounding, "how the zero point is rounded")
          .take();
  return type;
}

static const RuleType& rule_type(Of<DynamicArithmetic>) {
  static const RuleType type =
      StructureOf<DynamicArithmetic>("sums of products of real data and integer weights")
          .present([](const DynamicArithmetic& rule) { return rule.codes != DynamicCodes::absent; })
          .deciding("codes", &DynamicArithmetic::codes, "which int8 codes the data become")
          .member("rounding", &DynamicArithmetic::rounding, "how codes and zero points are rounded")
          .member_if([](const DynamicArithmetic& rule) { return rule.codes > DynamicCodes::symmetric; }, "zero_point",
                     &DynamicArithmetic::zero_point, "where the zero point joins an asymmetric code")
          .member("product", &DynamicArithmetic::product, "in which order a sum and the scales of data and weights are multiplied")
          .take();
  return type;
}

static const RuleType& rule_type(Of<DynamicByLayer>) {
  static const RuleType type =
      StructureOf<DynamicByLayer>("hybrid layers: float32 data, int8 weights, float32 bias and output")
          .is_by_type()
          .present([](const DynamicByLayer& rule) { return rule != DynamicByLayer{}; })
          .deciding("conv", &DynamicByLayer::conv, "conv2d whose weights have one scale")
          .deciding("conv_per_channel", &DynamicByLayer::conv_per_channel, "conv2d whose weights have another scale in some channel")
          .deciding("conv_grouped", &DynamicByLayer::conv_grouped, "conv2d of more than one group")
          .deciding("depthwise_conv", &DynamicByLayer::depthwise_conv, "depthwise_conv2d")
          .deciding("fully_connected", &DynamicByLayer::fully_connected, "fully_connected")
          .take();
  return type;
}

static const RuleType& rule_type(Of<BlockQuantizeArithmetic>) {
  static const RuleType type =
      StructureOf<BlockQuantizeArithmetic>("float to codes in blocks of 32, with a scale d made from the values of each")
          .present([](const BlockQuantizeArithmetic& rule) { return rule.scale != BlockScale::absent; })
          .deciding("scale", &BlockQuantizeArithmetic::scale, "from which value of a block its scale is made")
          .member("stored", &BlockQuantizeArithmetic::stored, "how the scale is rounded to float16")
          .member("division", &BlockQuantizeArithmetic::division, "how x is divided by the scale")
          .member("offset", &BlockQuantizeArithmetic::offset, "what is added to the quotient in float32")
          .member("rounding", &BlockQuantizeArithmetic::rounding, "how that is rounded to a code")
          .take();
  return type;
}

static const RuleType& rule_type(Of<BlockQuantizeByFormat>) {
  static const RuleType type = StructureOf<BlockQuantizeByFormat>("block_quantize, by the format of the codes")
                                   .is_by_type()
                                   .present([](const BlockQuantizeByFormat& rule) { return rule != BlockQuantizeByFormat{}; })
                                   .deciding("q8_0", &BlockQuantizeByFormat::q8_0, "int8 codes of zero point 0")
                                   .deciding("q4_0", &BlockQuantizeByFormat::q4_0, "codes 0 to 15 of zero point 8")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<BlockMatmulArithmetic>) {
  constexpr RuleLimits up_to_8{1, static_cast<std::int64_t>(most_block_sums)}, up_to_32{1, block_length};
  constexpr auto sums = [](const BlockMatmulArithmetic& rule) { return rule.sums > 1; };
  constexpr auto lanes = [](const BlockMatmulArithmetic& rule) { return rule.lanes > 1; };
  constexpr auto sums_of_lanes = [](const BlockMatmulArithmetic& rule) { return rule.sums > 1 && rule.lanes > 1; };
  static const RuleType type =
      StructureOf<BlockMatmulArithmetic>("sums in float32 of the integer sums of blocks")
          .present([](const BlockMatmulArithmetic& rule) { return rule.method != BlockMatmulMethod::absent; })
          .deciding("method", &BlockMatmulArithmetic::method, "how blocks are added up")
          .member("product", &BlockMatmulArithmetic::product, "in which order an integer sum and both scales are multiplied")
          .member("addition", &BlockMatmulArithmetic::addition, "how the product joins a sum")
          .member("sums", &BlockMatmulArithmetic::sums, "sums to which blocks go in turn", up_to_8)
          .member_if(sums, "rest_product", &BlockMatmulArithmetic::rest_product, "the product of blocks behind the last turn")
          .member_if(sums, "rest_addition", &BlockMatmulArithmetic::rest_addition, "how it joins the sum of all, at the end")
          .member("lanes", &BlockMatmulArithmetic::lanes, "parts of a sum", up_to_32)
          .member_if(lanes, "terms", &BlockMatmulArithmetic::terms, "products side by side that go to one lane, the next to the next",
                     up_to_32)
          .member_if(lanes, "lane_order", &BlockMatmulArithmetic::lane_order, "in which order the lanes of a sum are added")
          .member_if(sums_of_lanes, "lane_join", &BlockMatmulArithmetic::lane_join, "which lanes are added first")
          .take();
  return type;
}

static const RuleType& rule_type(Of<BlockMatmulByFormat>) {
  static const RuleType type = StructureOf<BlockMatmulByFormat>("block_matmul, by the format of the weights; the data are q8_0")
                                   .is_by_type()
                                   .present([](const BlockMatmulByFormat& rule) { return rule != BlockMatmulByFormat{}; })
                                   .deciding("q8_0", &BlockMatmulByFormat::q8_0, "int8 codes of zero point 0")
                                   .deciding("q4_0", &BlockMatmulByFormat::q4_0, "codes 0 to 15 of zero point 8")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<FixedPointInput>) {
  static const RuleType type = StructureOf<FixedPointInput>("from the input's scale to the units of a function in fixed point")
                                   .deciding("scale", &FixedPointInput::scale, "how the scale becomes numbers of the device")
                                   .deciding("chain", &FixedPointInput::chain, "the stages; hard_swish has its own")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<FunctionArithmetic>) {
  static const RuleType type =
      StructureOf<FunctionArithmetic>("a function of one tensor")
          .present([](const FunctionArithmetic& rule) { return rule.method != FunctionMethod::absent; })
          .deciding("method", &FunctionArithmetic::method, "how the function is computed")
          .member_if([](const FunctionArithmetic& rule) { return rule.method == FunctionMethod::rescaled; }, "rescale",
                     &FunctionArithmetic::rescale, "to the output")
          .member_if(
              [](const FunctionArithmetic& rule) {
                return rule.method == FunctionMethod::fixed_point || rule.method == FunctionMethod::float_table_8bit;
              },
              "input", &FunctionArithmetic::input, "to the function's fixed point")
          .member_if(
              [](const FunctionArithmetic& rule) {
                return rule.method >= FunctionMethod::float_table && rule.method <= FunctionMethod::float_table_onto_zero_point;
              },
              "rounding", &FunctionArithmetic::rounding, "how the function's float value is rounded")
          .take();
  return type;
}

static const RuleType& rule_type(Of<LeftArithmetic>) {
  static const RuleType type = StructureOf<LeftArithmetic>("the layers that a delegate leaves to the kernels beneath it")
                                   .is_by_type()
                                   .present([](const LeftArithmetic& rule) { return rule != LeftArithmetic{}; })
                                   .deciding("mean", &LeftArithmetic::mean, "mean")
                                   .deciding("add", &LeftArithmetic::add, "add of 8-bit data")
                                   .deciding("sub", &LeftArithmetic::sub, "sub of 8-bit data")
                                   .deciding("requantize", &LeftArithmetic::requantize, "requantize and clip")
                                   .deciding("leaky_relu", &LeftArithmetic::leaky_relu, "leaky_relu")
                                   .deciding("logistic", &LeftArithmetic::logistic, "logistic")
                                   .deciding("tanh", &LeftArithmetic::tanh, "tanh")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<ResizeArithmetic>) {
  constexpr auto on_grid = [](const ResizeArithmetic& rule) {
    return rule.method == ResizeMethod::fixed_point || rule.method_uint8 == ResizeMethod::fixed_point;
  };
  static const RuleType type =
      StructureOf<ResizeArithmetic>("bilinear interpolation; nearest values are moved, not computed")
          .present([](const ResizeArithmetic& rule) { return rule.method != ResizeMethod::absent; })
          .deciding("method", &ResizeArithmetic::method, "how values are interpolated")
          .member_if([](const ResizeArithmetic& rule) { return rule.method_uint8 != ResizeMethod::absent; }, "method_uint8",
                     &ResizeArithmetic::method_uint8, "the same for uint8 data, where it differs (absent: it does not)")
          .member_if([](const ResizeArithmetic& rule) { return rule.nearest != NearestCoordinate::exact; }, "coordinates",
                     &ResizeArithmetic::nearest,
                     "in which arithmetic the places of nearest values, and those on a grid of coordinates, are computed")
          .member_if([](const ResizeArithmetic& rule) { return rule.other_quantization != OtherQuantization::refused; },
                     "other_quantization", &ResizeArithmetic::other_quantization,
                     "what happens where the quantisations of input and output differ")
          .member_if(on_grid, "centring", &ResizeArithmetic::centring, "what is subtracted from the codes that are interpolated")
          .member_if(on_grid, "grid", &ResizeArithmetic::grid, "what is rounded to the grid of coordinates")
          .member_if(on_grid, "fraction_bits", &ResizeArithmetic::fraction_bits, "places of a coordinate below the binary point")
          .limits([](const ResizeArithmetic&) {
            return RuleLimits{1, 20};
          })
          .member_if(on_grid, "grid_rounding", &ResizeArithmetic::grid_rounding, "how coordinates are rounded")
          .member_if(on_grid, "rounding", &ResizeArithmetic::rounding, "how the weighted sum is rounded")
          .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Rules>) {
  static const RuleType type = StructureOf<Float16Rules>("rounding to float16")
                                   .deciding("rounding", &Float16Rules::rounding, "how what float16 cannot hold is rounded")
                                   .deciding("overflow", &Float16Rules::overflow, "what a value above 65504 becomes")
                                   .deciding("top_exponent", &Float16Rules::top_exponent, "what the largest exponent means")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Quotient>) {
  static const RuleType type = StructureOf<Float16Quotient>("a quotient, rounded to float16")
                                   .splice(&Float16Quotient::rounded)
                                   .deciding("zero_division", &Float16Quotient::zero_division, "what a division by zero gives")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<SumRule>) {
  static const RuleType type =
      StructureOf<SumRule>("a sum of floats, whose order is part of the result")
          .deciding("precision", &SumRule::precision, "what every sum is rounded to")
          .deciding("order", &SumRule::order, "in which order terms are added")
          .member_if([](const SumRule& rule) { return in_blocks(rule.order); }, "block", &SumRule::block, "terms of a block", widths)
          .take();
  return type;
}

static const RuleType& rule_type(Of<CubeArithmetic>) {
  static const RuleType type = StructureOf<CubeArithmetic>("convolutions and matrix products of float16 data")
                                   .deciding("sum", &CubeArithmetic::sum, "how products are added up")
                                   .deciding("terms", &CubeArithmetic::terms, "in which order the cube sees the terms")
                                   .deciding("bias", &CubeArithmetic::bias, "where the bias joins the sum")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Mean>) {
  static const RuleType type = StructureOf<Float16Mean>("averages of float16 data")
                                   .deciding("sum", &Float16Mean::sum, "how values are added up")
                                   .deciding("scaling", &Float16Mean::scaling, "when 1/count is multiplied in")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Logistic>) {
  static const RuleType type = StructureOf<Float16Logistic>("1 / (1 + exp(-x)), step by step")
                                   .deciding("steps", &Float16Logistic::steps, "what every step is rounded to")
                                   .deciding("bound", &Float16Logistic::bound, "whether x is bounded first")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Function>) {
  static const RuleType type = StructureOf<Float16Function>("a function of float16 data, step by step")
                                   .deciding("steps", &Float16Function::steps, "what every step is rounded to")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Softmax>) {
  static const RuleType type = StructureOf<Float16Softmax>("exp(x - max) / sum")
                                   .deciding("exponential", &Float16Softmax::exponential, "what the exponential is rounded to")
                                   .deciding("sum", &Float16Softmax::sum, "how exponentials are added up")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Quantize>) {
  static const RuleType type = StructureOf<Float16Quantize>("float16 to integer")
                                   .deciding("steps", &Float16Quantize::steps, "what every step is rounded to")
                                   .deciding("factor", &Float16Quantize::factor, "how 1/scale is multiplied in")
                                   .deciding("rounding", &Float16Quantize::rounding, "how the product is rounded")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Dequantize>) {
  static const RuleType type =
      StructureOf<Float16Dequantize>("integer to float16")
          .deciding("scale_bits", &Float16Dequantize::scale_bits, "leading bits that the scale keeps, truncated", {1, 24})
          .take();
  return type;
}

static const RuleType& rule_type(Of<Float16Arithmetic>) {
  using Rule = Float16Arithmetic;
  static const RuleType type = StructureOf<Rule>("operations on float16 tensors")
                                   .present([](const Rule& rule) { return rule.method != Float16Method::absent; })
                                   .deciding("method", &Rule::method, "whether the device has them")
                                   .member("conversion", &Rule::conversion, "from float32: casts, what the cube delivers, exponentials")
                                   .member("sum", &Rule::sum, "of two values")
                                   .member("product", &Rule::product, "of two values")
                                   .member("quotient", &Rule::quotient, "of two values")
                                   .member("cube", &Rule::cube, "conv2d, depthwise_conv2d, transposed_conv2d, fully_connected, matmul")
                                   .member("add_n", &Rule::add_n, "the sum of many tensors")
                                   .member("mean", &Rule::mean, "mean and global_average_pool")
                                   .member("average_pool", &Rule::average_pool, "average_pool2d")
                                   .member("logistic", &Rule::logistic, "logistic")
                                   .member("tanh", &Rule::tanh, "tanh")
                                   .member("hard_swish", &Rule::hard_swish, "hard_swish")
                                   .member("softmax", &Rule::softmax, "softmax")
                                   .member("quantize", &Rule::quantize, "to integers")
                                   .member("dequantize", &Rule::dequantize, "from integers")
                                   .take();
  return type;
}

/// Operations of which nothing is said but whether the device has them.
template <NamedEnum E>
static RuleType operations_type() {
  RuleType operations = enumeration_type<E>();
  operations.present = [](const void* rule) { return *static_cast<const E*>(rule) != E::absent; };
  return operations;
}
static const RuleType& rule_type(Of<MaxPool>) {
  static const RuleType type = operations_type<MaxPool>();
  return type;
}
static const RuleType& rule_type(Of<Float32Operations>) {
  static const RuleType type = operations_type<Float32Operations>();
  return type;
}

static const RuleType& rule_type(Of<SvdfArithmetic>) {
  static const RuleType type = StructureOf<SvdfArithmetic>("feature sums become the state, time sums of the state the output")
                                   .present([](const SvdfArithmetic& rule) { return !rule.output.chain.empty(); })
                                   .member("accumulator", &SvdfArithmetic::accumulator, "of every sum")
                                   .member("state_i8", &SvdfArithmetic::state_i8, "from a feature sum to an 8-bit state")
                                   .member("state_i16", &SvdfArithmetic::state_i16, "from a feature sum to a 16-bit state")
                                   .deciding("output", &SvdfArithmetic::output, "from time sums and bias to the output")
                                   .member("activation", &SvdfArithmetic::activation, "whether a fused activation bounds the output")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<GateArithmetic>) {
  static const RuleType type = StructureOf<GateArithmetic>("a matrix times a vector, plus bias, as a 16-bit value of scale 2^-12")
                                   .present([](const GateArithmetic& rule) { return exists(rule.sum); })
                                   .splice(&GateArithmetic::sum)
                                   .member("bias", &GateArithmetic::bias, "where the bias joins the sum")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<LstmArithmetic>) {
  static const RuleType type =
      StructureOf<LstmArithmetic>("lstm of 8- or 16-bit data with a 16-bit cell")
          .present([](const LstmArithmetic& rule) { return rule.method != LstmMethod::absent; })
          .deciding("method", &LstmArithmetic::method, "how logistic and tanh are computed")
          .member("gate_i8", &LstmArithmetic::gate_i8, "gates of 8-bit data")
          .member("gate_i16", &LstmArithmetic::gate_i16, "gates of 16-bit data")
          .member("sum", &LstmArithmetic::sum, "what becomes of a gate's, and of the cell's, two parts that leave 16 bits")
          .member("cell", &LstmArithmetic::cell, "gate times cell, gate times gate, to the cell's scale")
          .member("clip_rounding", &LstmArithmetic::clip_rounding, "how the cell's clip is rounded to units of its scale")
          .member("output", &LstmArithmetic::output, "gate times tanh(cell)")
          .take();
  return type;
}

static const RuleType& rule_type(Of<Extreme>) {
  static const RuleType type = operations_type<Extreme>();
  return type;
}

static const RuleType& rule_type(Of<L2Normalization>) {
  static const RuleType type = operations_type<L2Normalization>();
  return type;
}

static const RuleType& rule_type(Of<Detection>) {
  static const RuleType type = operations_type<Detection>();
  return type;
}

static const RuleType& rule_type(Of<Bitwise>) {
  static const RuleType type = operations_type<Bitwise>();
  return type;
}

static const RuleType& rule_type(Of<ArgmaxArithmetic>) {
  static const RuleType type = StructureOf<ArgmaxArithmetic>("the index of the maximum")
                                   .present([](const ArgmaxArithmetic& rule) { return rule.method != ArgmaxMethod::absent; })
                                   .deciding("method", &ArgmaxArithmetic::method, "which of several equal values counts")
                                   .member("running_maximum", &ArgmaxArithmetic::running_maximum, "where the search starts")
                                   .member("single_channel", &ArgmaxArithmetic::single_channel, "what a single channel gives")
                                   .take();
  return type;
}

static const RuleType& rule_type(Of<Backend>) {
  constexpr auto integer = [](const Backend& rule) { return rule.domain == Domain::integer; };
  constexpr auto real = [](const Backend& rule) { return rule.domain == Domain::real; };
  constexpr auto symmetric = [](const Backend& rule) { return rule.domain == Domain::integer && rule.coding != Coding::affine; };
  constexpr auto delegates = [](const Backend& rule) {
    return rule.domain == Domain::integer && rule.delegated.data != DelegatedData::absent;
  };
  constexpr auto leaves_float32 = [](const Backend& rule) { return rule.domain == Domain::integer && rule.fusion != Fusion::every; };
  static const RuleType type =
      StructureOf<Backend>("a device")
          .deciding("domain", &Backend::domain, "integers by the rules below, or real numbers on the float path")
          .member_if(real, "golden_range", &Backend::golden_range, "what bounds the real number that stands for a code")
          .member_if(symmetric, "coding", &Backend::coding, "which codes the device has; others are refused")
          .member_if(leaves_float32, "fusion", &Backend::fusion, "which operations between dequantize and quantize are computed on codes")
          .member_if(integer, "conv", &Backend::conv, "conv2d")
          .member_if(integer, "depthwise_conv", &Backend::depthwise_conv, "depthwise_conv2d")
          .member_if(integer, "transposed_conv", &Backend::transposed_conv, "transposed_conv2d")
          .member_if(integer, "fully_connected", &Backend::fully_connected, "fully_connected")
          .member_if(integer, "matmul", &Backend::matmul, "matmul")
          .member_if(integer, "recurrent", &Backend::recurrent, "the sums of a recurrent layer; its activation is `pwl`")
          .member_if(integer, "fused_conv", &Backend::fused_conv, "a convolution with pooling and activation in one layer")
          .member_if(integer, "pwl", &Backend::pwl, "piecewise-linear functions")
          .member_if(integer, "sum_pool", &Backend::sum_pool, "sums over windows")
          .member_if(integer, "max_pool", &Backend::max_pool, "max_pool2d")
          .member_if(integer, "average_pool", &Backend::average_pool, "average_pool2d")
          .member_if(integer, "global_average_pool", &Backend::global_average_pool, "global_average_pool")
          .member_if(integer, "mean", &Backend::mean, "mean")
          .member_if(integer, "reduce_sum", &Backend::reduce_sum, "reduce_sum")
          .member_if(integer, "add", &Backend::add, "add")
          .member_if(integer, "sub", &Backend::sub, "sub")
          .member_if(integer, "add_n", &Backend::add_n, "add_n")
          .member_if(integer, "mul", &Backend::mul, "mul: the product of two centred codes")
          .member_if(integer, "concat", &Backend::concat, "concatenation")
          .member_if(integer, "quantize", &Backend::quantize, "float to integer")
          .member_if(integer, "dequantize", &Backend::dequantize, "integer to float")
          .member_if(integer, "dynamic_quantize", &Backend::dynamic_quantize, "float to uint8, scale from the data")
          .member_if(integer, "dynamic", &Backend::dynamic, "hybrid layers: float32 data, int8 weights")
          .member_if(integer, "block_quantize", &Backend::block_quantize, "float to codes in blocks, a scale for each")
          .member_if(integer, "block_matmul", &Backend::block_matmul, "data and weights in blocks: sums in float32")
          .member_if(integer, "requantize", &Backend::requantize,
                     "requantize, and relu, relu6, relu_n1_to_1, clip as operations of their own")
          .member_if(integer, "requantize_to_32bit", &Backend::requantize_to_32bit,
                     "to 32-bit data, where it differs (an empty chain: it does not)")
          .member_if(integer, "requantize_16bit", &Backend::requantize_16bit,
                     "of or to 16-bit data, where it differs (an empty chain: it does not)")
          .member_if(integer, "relu", &Backend::relu, "relu, relu6, relu_n1_to_1 where they differ (an empty chain: they do not)")
          .member_if(integer, "leaky_relu", &Backend::leaky_relu, "leaky_relu")
          .member_if(integer, "prelu", &Backend::prelu, "prelu")
          .member_if(integer, "hard_swish", &Backend::hard_swish, "hard_swish")
          .member_if(integer, "logistic", &Backend::logistic, "logistic")
          .member_if(integer, "tanh", &Backend::tanh, "tanh")
          .member_if(integer, "softmax", &Backend::softmax, "softmax")
          .member_if(integer, "exp", &Backend::exp, "exp")
          .member_if(integer, "abs", &Backend::abs, "abs")
          .member_if(integer, "resize", &Backend::resize, "resize_bilinear")
          .member_if(integer, "float16", &Backend::float16, "operations on float16 tensors")
          .member_if(integer, "float32", &Backend::float32, "operations on float32 tensors of a model for the device")
          .member_if(integer, "svdf", &Backend::svdf, "svdf")
          .member_if(integer, "lstm", &Backend::lstm, "lstm")
          .member_if(integer, "argmax", &Backend::argmax, "argmax, argmin")
          .member_if(integer, "bitwise", &Backend::bitwise, "bitwise_or, bitwise_xor")
          .member_if(integer, "extreme", &Backend::extreme, "maximum, minimum, reduce_max, reduce_min")
          .member_if(integer, "l2_normalization", &Backend::l2_normalization, "l2_normalization")
          .member_if(integer, "detection", &Backend::detection, "detection_postprocess")
          .member_if(integer, "delegated", &Backend::delegated,
                     "which layers the rules above are for, where the others are left to other kernels")
          .member_if(delegates, "left", &Backend::left, "these others")
          .take();
  return type;
}

const RuleType& backend_type() { return rule_type(Of<Backend>{}); }
const RuleType& stage_type() { return rule_type(Of<Stage>{}); }

}  // namespace lastbit
