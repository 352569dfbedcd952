// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether a device's arithmetic has a part in what comes out of a network: of floats alone, a device of codes has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lastbit/backend.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// codes: a sum of codes, on the device or on another backend of integers; or none that anything would be lost with. device_floats: floats, for which
/// the sheet has sums of its own (float16, or float32 in the device's order). no_device: floats, and the sheet has none. left_to_float: codes of which
/// the device has no sum, and its fallback of the real domain is what would compute every one.
enum class SumsOf : std::uint8_t { codes, device_floats, no_device, left_to_float };

/// Sums are those of products (convolutions, fully connected, matmul, recurrent layers); of a network that has none, whatever computes anything counts.
struct NetworkSums {
  SumsOf what = SumsOf::codes;
  std::int64_t count = 0;    ///< of floats, or left to float
  std::int64_t float16 = 0;  ///< among them on float16 tensors, by the sheet
  std::int64_t golden = 0;   ///< among them on float32 tensors, on the golden path
  bool of_products = true;   ///< else whatever computes anything
};

/// Sums of floats alone. Codes with other weights than codes, or real data with weights of codes (is_hybrid), are no floats; codes made floats before
/// they are summed (weights alone quantised) are.
[[nodiscard]] bool is_float_network(const Model& model);

/// One sum of codes is enough for SumsOf::codes. The real domain is what others are held against: nothing is asked of it. Of Backend::elsewhere the
/// fallbacks count, not what a user has put there by name.
[[nodiscard]] NetworkSums sums_on(const Model& model, const Device& device);

/// Whether the device computes none of the sums: SumsOf::no_device and left_to_float.
[[nodiscard]] bool computes_no_sum(const Model& model, const Device& device);

/// Of SumsOf::device_floats, what computes them: "float network: ascend310 computes its 3 sums in float16".
[[nodiscard]] std::string float_sums_text(const NetworkSums& sums, const std::string& backend);

/// Of operations that float32_operations() found: "2 of 9 operations have float32 tensors and are computed on the float path, not by the device's
/// arithmetic".
[[nodiscard]] std::string float_path_text(std::size_t count, const Model& model);

}  // namespace lastbit
