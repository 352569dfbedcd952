// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which of a device's arithmetics a layer of products reads: it goes by the types of data, weights and bias.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "lastbit/backend.hpp"

namespace lastbit {

/// The members of ConvByType, by name.
struct ConvMember {
  std::string_view name;
  ConvArithmetic ConvByType::*member;
};

/// What a layer's choice goes by.
struct ProductTypes {
  bool data_16bit = false, data_unsigned = false;
  bool weights_16bit = false, weights_unsigned = false;
  bool has_bias = false, bias_64bit = false;
  bool per_channel = false;    ///< the weights have a scale per channel
  bool delivers_sums = false;  ///< a convolution whose output is int32
  bool one_to_one = false;     ///< a convolution in kernels for one channel each way
  [[nodiscard]] constexpr bool data_u8() const { return !data_16bit && data_unsigned; }
};

/// Whether an arithmetic is for a layer at all. Partial sums of the kernel's codes are those of instructions that multiply uint8 by int8; not in kernels
/// for one channel each way, nor in convolutions that deliver their sums, in which the weights are the first factor.
[[nodiscard]] constexpr bool takes(const SumArithmetic& rule, const ProductTypes& types) noexcept {
  if (!sums_kernels(rule.accumulator)) return true;
  return !types.weights_16bit && !types.weights_unsigned && !types.delivers_sums && !types.one_to_one;
}

inline constexpr std::array conv_members{ConvMember{"i8", &ConvByType::i8},
                                         ConvMember{"u8", &ConvByType::u8},
                                         ConvMember{"i16_bias32", &ConvByType::i16_bias32},
                                         ConvMember{"i16_bias64", &ConvByType::i16_bias64},
                                         ConvMember{"i8_weights16", &ConvByType::i8_weights16},
                                         ConvMember{"i16_weights8", &ConvByType::i16_weights8},
                                         ConvMember{"i8_per_channel", &ConvByType::i8_per_channel},
                                         ConvMember{"i8_without_bias", &ConvByType::i8_without_bias},
                                         ConvMember{"i16_without_bias", &ConvByType::i16_without_bias}};

/// The one that a layer reads, by its place in conv_members, whether the device has it or not. 16-bit data follow the bias; without one they take the
/// 64-bit accumulator, where the device has it, as the TFLite kernels do.
[[nodiscard]] constexpr std::size_t conv_member_of(const ConvByType& by_type, const ProductTypes& types) noexcept {
  enum Place : std::size_t {
    i8,
    u8,
    i16_bias32,
    i16_bias64,
    i8_weights16,
    i16_weights8,
    i8_per_channel,
    i8_without_bias,
    i16_without_bias
  };
  const auto has = [&by_type](Place place) { return exists((by_type.*conv_members[place].member).sum); };
  if (!types.data_16bit && types.weights_16bit && has(i8_weights16)) return i8_weights16;
  if (types.data_16bit && !types.weights_16bit && has(i16_weights8)) return i16_weights8;
  if (!types.data_16bit && !types.has_bias && has(i8_without_bias)) return i8_without_bias;
  if (!types.data_16bit && types.per_channel && has(i8_per_channel)) return i8_per_channel;
  if (types.data_u8() && has(u8) && takes(by_type.u8.sum, types)) return u8;
  if (!types.data_16bit) return i8;
  if (!types.has_bias && has(i16_without_bias)) return i16_without_bias;
  return (types.has_bias ? types.bias_64bit : has(i16_bias64)) ? i16_bias64 : i16_bias32;
}

/// The members of MatmulByType, by name.
struct MatmulMember {
  std::string_view name;
  MatmulArithmetic MatmulByType::*member;
};
inline constexpr std::array matmul_members{MatmulMember{"i8", &MatmulByType::i8}, MatmulMember{"u8", &MatmulByType::u8},
                                           MatmulMember{"i16", &MatmulByType::i16}};
/// As conv_member_of.
[[nodiscard]] constexpr std::size_t matmul_member_of(const MatmulByType& by_type, const ProductTypes& types) noexcept {
  if (types.data_16bit) return 2;
  return types.data_u8() && exists(by_type.u8.sum) && takes(by_type.u8.sum, types) ? 1 : 0;
}

}  // namespace lastbit
