# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The values that rules have, as enumerations. tools/write_rules.py writes this file; docs/rules.md says which rules have which.

A member goes wherever a value of a rule does: in a Device, a dict, and in backend(rules=…). Its documentation says what it means.
"""
import enum


class RuleValue(str, enum.Enum):
    """A word of a backend file."""

    def __new__(cls, word: str, meaning: str):
        member = str.__new__(cls, word)
        member._value_ = word
        member.__doc__ = meaning
        return member

    def __str__(self) -> str:
        return self.value


class Domain(RuleValue):
    integer = "integer", "quantised arithmetic, as stated"
    real = "real", "the golden float path; of the other rules golden_range alone is read"


class GoldenRange(RuleValue):
    representable = "representable", "bounded by what the codes of its tensor stand for"
    unbounded = "unbounded", "no bound but the network's own activations"


class Coding(RuleValue):
    affine = "affine", "any zero point, signed and unsigned codes"
    symmetric = "symmetric", "signed codes with zero point 0"
    zero_based = "zero_based", "signed and unsigned codes with zero point 0"


class Fusion(RuleValue):
    every = "every", "every one"
    by_option = "by_option", "those that a runtime fuses, if need be by an option"
    by_default = "by_default", "those that it fuses by default"
    none = "none", "none"


class MaxPool(RuleValue):
    absent = "absent", "no such operation"
    largest_code = "largest_code", "the largest code of a window"


class Float32Operations(RuleValue):
    absent = "absent", "no such operations"
    golden = "golden", "on the golden path"
    ordered = "ordered", "there, but for what is known step by step: sums of products, averages, exp, hard_swish, logistic, softmax, tanh"


class Bitwise(RuleValue):
    absent = "absent", "no such operations"
    of_codes = "of_codes", "the codes' bits, whatever they stand for"


class Extreme(RuleValue):
    absent = "absent", "no such operations"
    of_codes = "of_codes", "codes of one quantisation, compared"


class L2Normalization(RuleValue):
    absent = "absent", "no such operation"
    two_roundings = "two_roundings", "the product with the inverse root is rounded half_up, then half_away"
    one_rounding = "one_rounding", "the product with the inverse root is rounded once, half_up"


class Detection(RuleValue):
    absent = "absent", "no such operation"
    of_reals = "of_reals", "float32, or uint8 codes dequantised by a product in float32"


class FusedOrder(RuleValue):
    absent = "absent", "no such operation"
    pool_then_activation = "pool_then_activation", "sums are pooled as they are, narrowed, then activated"
    activation_then_pool = "activation_then_pool", "each step as the operation of that name"


class PwlMethod(RuleValue):
    absent = "absent", "no such operation"
    shifted_segments = "shifted_segments", "segments with base, slope and a shift of 8, 16, 24 or 32 places"


class Overflow(RuleValue):
    wrap = "wrap", "modulo 2^bits, as two's complement"
    saturate = "saturate", "the nearest end of the range"
    exact = "exact", "must not happen"


class WindowOrder(RuleValue):
    rows_outermost = "rows_outermost", "row by row"
    columns_outermost = "columns_outermost", "column by column"


class PaddingCount(RuleValue):
    excluded = "excluded", "only values inside count"
    included = "included", "every tap of the window counts"
    edge_repeated = "edge_repeated", "every tap of the window counts; outside it is the nearest value inside"


class OutputScale(RuleValue):
    own = "own", "a scale of its own"
    of_input = "of_input", "the input's quantisation"
    scale_of_input = "scale_of_input", "the input's scale, a zero point of its own"


class AverageScales(RuleValue):
    of_count = "of_count", "the ratio's count is that of the values"
    of_width_then_height = "of_width_then_height", "it is the window's width; the converter has the same of its height"


class Centring(RuleValue):
    own_zero_point = "own_zero_point", "its tensor's zero point"
    nothing = "nothing", "nothing"
    first_zero_point_product_rounded = "first_zero_point_product_rounded", "the first operand's zero point; what that leaves of the others is rounded as a whole"
    first_zero_point_factor_rounded = "first_zero_point_factor_rounded", "the first operand's zero point; what that leaves of the others is a rounded factor times the difference"


class CountIn(RuleValue):
    ratio = "ratio", "in the output's ratio"
    multiplier = "multiplier", "in the encoded multiplier, which it divides, truncated"


class ConcatMethod(RuleValue):
    absent = "absent", "no such operation"
    copy = "copy", "copied: quantisations must be equal"
    scale_and_bias = "scale_and_bias", "round(q * s + b) with float s and b"
    dequantize = "dequantize", "through float values"
    rescaled = "rescaled", "by the rule of requantize"


class ScaleDivision(RuleValue):
    absent = "absent", "no such operation"
    divide = "divide", "x / s in float"
    multiply_by_inverse = "multiply_by_inverse", "x * float(1 / s)"
    divide_in_double = "divide_in_double", "double(x) / double(s)"


class Rounding(RuleValue):
    floor = "floor", "down"
    ceil = "ceil", "up"
    toward_zero = "toward_zero", "toward zero"
    half_up = "half_up", "to the nearest, ties up"
    half_down = "half_down", "to the nearest, ties down"
    half_away = "half_away", "to the nearest, ties away from zero"
    half_toward_zero = "half_toward_zero", "to the nearest, ties toward zero"
    half_even = "half_even", "to the nearest, ties to the even one"
    to_odd = "to_odd", "to the odd neighbour unless exact"


class ZeroPointAt(RuleValue):
    after_rounding = "after_rounding", "added to the integer"
    before_rounding = "before_rounding", "added to the float"


class OutOfRange(RuleValue):
    saturate = "saturate", "the nearest int32"
    int32_min = "int32_min", "-2^31; the zero point is then added modulo 2^32"


class DequantizeProduct(RuleValue):
    absent = "absent", "no such operation"
    f64 = "f64", "double"
    f32 = "f32", "float"


class DynamicQuantizeMethod(RuleValue):
    absent = "absent", "no such operation"
    unsigned_range = "unsigned_range", "over all x and 0: s = float(float(max - min) / 255), zero point -min / s"


class FunctionMethod(RuleValue):
    absent = "absent", "no such operation"
    rescaled = "rescaled", "by integer rescaling"
    fixed_point = "fixed_point", "integer approximations"
    float_table = "float_table", "a float function, its value quantised"
    float_exponentials = "float_exponentials", "softmax of 8-bit codes by a table of float32 exponentials"
    float_ratio = "float_ratio", "logistic or tanh by a ratio of polynomials, its value quantised"
    float_table_8bit = "float_table_8bit", "logistic or tanh: of 8-bit data as float_table, of 16-bit data as fixed_point"
    float_table_by_inverse = "float_table_by_inverse", "as float_table, times float(1 / scale) in place of the division"
    float_table_onto_zero_point = "float_table_onto_zero_point", "as float_table_by_inverse, the zero point added in float before the rounding"
    table_entry = "table_entry", "logistic or tanh of int32 in units of 2^-12: an entry of a table, in units of 2^-15"
    fixed_point_by_double = "fixed_point_by_double", "softmax: as fixed_point, a table of 16-bit data made in double"


class ResizeMethod(RuleValue):
    absent = "absent", "no such operation"
    fixed_point = "fixed_point", "weights of `fraction_bits` multiplied out, one rounding"
    float_by_row = "float_by_row", "in float32: each code times its row's weight, then times its column's; their sum + 1/2, truncated"
    float_by_weight = "float_by_weight", "in float32: each code times the product of its weights; their sum + 1/2, truncated"


class NearestCoordinate(RuleValue):
    exact = "exact", "in double"
    float_scale = "float_scale", "in float32, from the rounded quotient of the sizes"
    float_quotient = "float_quotient", "in float32, divided by the rounded quotient of the sizes, to the half where it is within 10^-6 of one; where no size changes, values are copied"


class OtherQuantization(RuleValue):
    refused = "refused", "the layer is refused"
    ignored = "ignored", "the codes are resized as they are"


class ResizeGrid(RuleValue):
    coordinate = "coordinate", "every coordinate"
    start_and_step = "start_and_step", "the first coordinate and the step to the next"
    step = "step", "the step; the first coordinate is half of it"


class Float16Method(RuleValue):
    absent = "absent", "no such operations"
    stepwise = "stepwise", "every elementary step is rounded at once"


class FusedActivation(RuleValue):
    ignored = "ignored", "only the type does"
    applied = "applied", "it does"


class LstmMethod(RuleValue):
    absent = "absent", "no such operation"
    sigmoid_table = "sigmoid_table", "16-bit tables"
    fixed_point = "fixed_point", "fixed-point functions of 16 bits"


class ArgmaxMethod(RuleValue):
    absent = "absent", "no such operation"
    first_maximum = "first_maximum", "the first"
    last_maximum = "last_maximum", "the last"


class RunningMaximum(RuleValue):
    per_position = "per_position", "every position by itself"
    carried_over = "carried_over", "from the maximum and index of the position before"


class SingleChannel(RuleValue):
    zero = "zero", "its index"
    upper_half = "upper_half", "1 for values in the upper half of the type's range, else 0"


class DelegatedData(RuleValue):
    absent = "absent", "no delegate"
    one_8bit_type = "one_8bit_type", "inputs and output of one 8-bit type"


class DelegatedAxes(RuleValue):
    any = "any", "any"
    image = "image", "axes 1 and 2 in any order, or 2 alone, of four, as the file counts them"


class BiasAt(RuleValue):
    accumulator_start = "accumulator_start", "the sum starts with it"
    accumulator_end = "accumulator_end", "it is added last"


class RowMultiplier(RuleValue):
    absent = "absent", "the device has none"
    of_terms = "of_terms", "every term is multiplied by it, the bias is not"


class PerChannelLowering(RuleValue):
    native = "native", "kept"
    requantized_to_tensor = "requantized_to_tensor", "weights are quantised again to one 8-bit scale"
    float_scale = "float_scale", "accumulators are scaled in float"
    native_unrounded = "native_unrounded", "kept; no product of scales is rounded to float32 where that of a single scale is"
    refused = "refused", "the layer is refused"


class NarrowingPoint(RuleValue):
    every_add = "every_add", "after every term"
    every_tile = "every_tile", "after every `tile` terms"
    at_end = "at_end", "after the last term"


class FloatAverageMethod(RuleValue):
    absent = "absent", "no such operation"
    in_order = "in_order", "real values in the order of the window, each step rounded to float32"


class FloatSumMethod(RuleValue):
    absent = "absent", "no such operation"
    fused = "fused", "two fused multiply-adds on the codes as they are"
    dequantized = "dequantized", "of the dequantised operands, each by a fused multiply-add; then times float(1 / out)"


class ScaleArithmetic(RuleValue):
    f64 = "f64", "double"
    f32 = "f32", "float"
    f32_by_inverse_output = "f32_by_inverse_output", "float, over * float(1 / under): of in*weight/out float(in*weight) * float(1 / out)"
    f32_of_inverses = "f32_of_inverses", "float, float(1 / under) / (float(1 / over1) * float(1 / over2))"
    f32_of_quotient = "f32_of_quotient", "float, float(over1 / under) * over2: of in*weight/out float(in / out) * weight"


class Normalization(RuleValue):
    half_to_one = "half_to_one", "M is a fraction in [0.5, 1)"
    one_to_two = "one_to_two", "M is in [1, 2)"
    layer = "layer", "one e for all channels of a layer, or for all operands of a sum"
    unit = "unit", "M = scale / unit, unit = the layer's largest scale / (2^significant_bits - 1)"
    unit_of_pair = "unit_of_pair", "two operands: unit = max(smaller / 127, larger / 2^max_exponent), M of the smaller at most 127"
    fixed_point = "fixed_point", "M = scale * 2^significant_bits, at least 1"
    least_error = "least_error", "M * 2^e, M below 2^significant_bits - 1: the largest e of those with the least error"
    largest_below = "largest_below", "M * 2^e, the least e with scale / 2^e below 2^significant_bits - 1"


class MultiplierForm(RuleValue):
    any = "any", "every M of its width"
    power_of_two = "power_of_two", "a shift alone"
    power_of_two_plus_one = "power_of_two_plus_one", "2^k + 1"
    odd = "odd", "every M, its trailing zeros shifted out"


class MultiplierCarry(RuleValue):
    renormalize = "renormalize", "it is halved and e raised"
    saturate = "saturate", "it stays the largest M"
    keep = "keep", "it is kept, one bit longer"
    lost = "lost", "M is half of it at the same e; of a scale from 2^k with an even k: -2^significant_bits"


class MultiplierAddend(RuleValue):
    nothing = "nothing", "nothing"
    one = "one", "one, to every M"


class DynamicCodes(RuleValue):
    absent = "absent", "no such layers"
    symmetric = "symmetric", "within 127 of zero point 0"
    asymmetric = "asymmetric", "-128 to 127, a zero point from the range of the data"
    by_layer = "by_layer", "symmetric, or asymmetric where the layer asks for it"


class DynamicProduct(RuleValue):
    scales_first = "scales_first", "the two scales"
    input_scale_first = "input_scale_first", "sum and scale of the data"
    weight_scale_first = "weight_scale_first", "sum and scale of the weights"


class BlockScale(RuleValue):
    absent = "absent", "no such format"
    largest_magnitude = "largest_magnitude", "max|x|, by the largest code: 127, or 7"
    signed_largest = "signed_largest", "x of the largest magnitude, the first of equals, by the least code: -128, or -8"


class BlockDivision(RuleValue):
    by_inverse = "by_inverse", "x * float(1 / d)"
    by_inverse_of_stored = "by_inverse_of_stored", "x * float(1 / d), d as it is stored"
    by_steps = "by_steps", "x * float(n / m): the code and the value that the scale is made from"
    divide = "divide", "x / d"


class BlockOffset(RuleValue):
    nothing = "nothing", "nothing; the zero point joins the integer"
    zero_point = "zero_point", "the zero point"
    zero_point_and_half = "zero_point_and_half", "the zero point and 1/2"
    fused_zero_point_and_half = "fused_zero_point_and_half", "the zero point and 1/2, product and sum rounded once"


class BlockMatmulMethod(RuleValue):
    absent = "absent", "no such format"
    in_float32 = "in_float32", "integer sums of blocks, and sums in float32 of these"


class BlockAddition(RuleValue):
    product_rounded = "product_rounded", "the last product and the sum are each rounded"
    fused = "fused", "both are rounded once"


class LaneOrder(RuleValue):
    sequential = "sequential", "one after the other"
    pairwise = "pairwise", "neighbours, then neighbours of these"
    halves = "halves", "the second half to the first, then likewise"


class LaneJoin(RuleValue):
    within_sums = "within_sums", "each sum's, then the sums one after the other"
    across_sums = "across_sums", "the sums lane by lane, then the lanes"


class Float16Overflow(RuleValue):
    infinity = "infinity", "infinity, as IEEE 754 has it"
    saturate = "saturate", "65504; NaN: +0"
    all_ones = "all_ones", "0x7FFF, for infinities and NaN as well"
    all_ones_below_2_17 = "all_ones_below_2_17", "0x7FFF below 2^17, 65504 from there on"


class Float16TopExponent(RuleValue):
    infinity_nan = "infinity_nan", "infinities and NaN"
    ordinary = "ordinary", "numbers like the others, 65536 to 131008"


class Float16ZeroDivision(RuleValue):
    ieee = "ieee", "0/x signed zero, x/0 infinite, 0/0 NaN"
    unsigned_zero = "unsigned_zero", "0/x is +0, x/0 and 0/0 the pattern of a signed infinity"


class TermOrder(RuleValue):
    kernel_then_channel = "kernel_then_channel", "kernel rows, kernel columns, channels"
    channel_block_then_kernel = "channel_block_then_kernel", "blocks of 16 channels outermost, each filled up with zeros"


class StepPrecision(RuleValue):
    float16 = "float16", "float16"
    float32 = "float32", "float32"


class SumOrder(RuleValue):
    sequential = "sequential", "one after the other"
    pairwise = "pairwise", "neighbours, then sums of neighbours"
    blocks_sequential = "blocks_sequential", "blocks one after the other, then their sums likewise"
    blocks_pairwise = "blocks_pairwise", "blocks pairwise, then their sums one after the other"
    blocks_exact = "blocks_exact", "blocks exactly, rounded once, then one after the other"


class MeanScaling(RuleValue):
    before_sum = "before_sum", "every value first"
    after_sum = "after_sum", "the sum"


class LogisticBound(RuleValue):
    none = "none", "no"
    log_of_largest = "log_of_largest", "x is first raised to -11.089"


class ScaleFactor(RuleValue):
    once = "once", "x * s"
    square_root_twice = "square_root_twice", "x * sqrt(s) * sqrt(s)"


class UpperEnd(RuleValue):
    excluded = "excluded", "ratio < 2^most"
    included = "included", "ratio <= 2^most"


class CrossTermMethod(RuleValue):
    absent = "absent", "no such registers"
    each_shifted = "each_shifted", "the sums of a window's data and of its weights are each multiplied and shifted"


class PartialMethod(RuleValue):
    absent = "absent", "every term is added by itself"
    consecutive_terms = "consecutive_terms", "terms side by side in memory form partial sums"
    consecutive_codes = "consecutive_codes", "products of codes side by side at one position of the kernel do; what zero points take off is exact"
    kernel_codes = "kernel_codes", "the same in the whole kernel, row by row, where padding holds the zero point"


class PartialTail(RuleValue):
    exact = "exact", "added term by term"
    one_sum = "one_sum", "one partial sum"
    dropped = "dropped", "left out"


class StageKind(RuleValue):
    shift_left = "shift_left", "v * 2^max(e, 0), narrowed"
    multiply = "multiply", "v * M; M first cut to `bits` bits (0: as it is)"
    doubling_high_multiply = "doubling_high_multiply", "v * M / 2^(bits - 1), saturated to `bits`"
    two_term_shift = "two_term_shift", "v + v * 2^k for M = 2^k + 1, narrowed"
    shift_right = "shift_right", "v / 2^n"
    float_scale = "float_scale", "float(v) * float(scale), or double(v) * double(scale)"
    narrow = "narrow", "v, narrowed"
    relu = "relu", "max(v, 0) if the layer has a rectifier"
    add_zero_point = "add_zero_point", "v + output zero point"
    clamp = "clamp", "into the layer's bounds, its activation included"
    table = "table", "the layer's look-up table"
    pwl = "pwl", "the layer's piecewise-linear function"
    add_half = "add_half", "v + 2^(n - 1), n > 0 of the shift to come, narrowed"
    clamp_accumulator = "clamp_accumulator", "into [0, clip] if the layer has an `accumulator_clip`"
    clamp_to_type = "clamp_to_type", "into the layer's `clamp` or its type, whatever its activation: ends a chain in place of `clamp` where the rectifier acts on the accumulator"
    shift_right_with_zero_point = "shift_right_with_zero_point", "v / 2^n + output zero point, rounded once: the tie rule sees the code's sign and parity"
    float_scale_with_zero_point = "float_scale_with_zero_point", "float(v) * float(scale) + output zero point: product and sum each rounded to float or double, then to an integer"
    shift_left_by = "shift_left_by", "v * 2^constant, narrowed"
    divide = "divide", "v / count of the values summed"
    absolute = "absolute", "|v| if the layer's activation is the magnitude"
    add_offset = "add_offset", "v + the offset of the layer's `registers`"
    add_converter_offset = "add_converter_offset", "v + the offset of the layer's `converter`"
    multiply_by_converter = "multiply_by_converter", "v * the multiplier of the layer's `converter`, which has at most `bits` bits"
    scale_below_zero = "scale_below_zero", "where the layer states `below_zero`: v * M / 2^n by it of v < 0, saturated; else the low bits of v"
    shift_right_by_sign = "shift_right_by_sign", "where the layer states `below_zero`: v / 2^n, n its shift of v < 0, else that of `registers`; without it v"
    add_half_by_sign = "add_half_by_sign", "v + 2^(n - 1), 1 less of v < 0, n > 0 of the shift to come, narrowed"
    segments = "segments", "(v - start) * multiplier / 2^shift + add, of the last of the layer's `segments` with start < v"


class RoundingStep(RuleValue):
    up = "up", "up"
    away_from_zero = "away_from_zero", "away from zero: down, below 0"


class ProductArithmetic(RuleValue):
    f64 = "f64", "double"
    f32 = "f32", "float"


class ShiftAmount(RuleValue):
    remaining = "remaining", "what the multiply left over"
    negative_exponent = "negative_exponent", "max(-e, 0)"
    constant = "constant", "the member of that name"
    fraction = "fraction", "the fraction bits of M; a later shift does the rest"
    excess = "excess", "before the multiply: what the shift to come has beyond `constant` - bits of the output, 0 to `limit`; 0 for data of 16 bits or less"
    rest = "rest", "after it: what `excess` has left, 0 to `limit`"
    converter = "converter", "that of the layer's `converter`"
