// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What reports say of one layer's certificate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lastbit/certify.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit {

/// What to_json() writes.
/// The verdict of a layer that is equal by rules of which some are assumed.
inline constexpr std::string_view equal_if = "equal_if";

inline constexpr std::string_view certificate_format = "lastbit.certificate.v2";

/// 5,320,336
[[nodiscard]] std::string with_commas(std::int64_t count);

/// "differs in 12 of 904 accumulators (1.33%), at most 1 LSB"
[[nodiscard]] std::string verdict_text(const LayerCertificate& layer);
/// A line about the input that shows it; empty where nothing differs.
[[nodiscard]] std::string shown_text(const LayerCertificate& layer);

[[nodiscard]] JsonValue json_of(const LayerCertificate& layer);

/// What a view of the layers goes by: of what is open, nothing is known.
[[nodiscard]] ViewedLayer viewed(const LayerCertificate& layer);

}  // namespace lastbit
