// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What every function that asks about a device takes:
//
//   run(model, "vipnano_v8", inputs);      a built-in backend
//   run(model, "imx8mp", inputs);          a chip that one backend computes (chips.hpp)
//   run(model, "my_npu.json", inputs);     a backend file (docs/own-device.md)
//   run(model, sheet, inputs);             a SpecSheet: find_backend(…), or one whose rules were set
//   run(model, my_npu, inputs);            a Backend, such as a constant of lastbit/backends/
#pragma once

#include <concepts>
#include <filesystem>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

/// A spec sheet, made of whatever a caller has of a device.
struct Device : SpecSheet {
  /// Throws Error(unknown_backend), whose one line names what is close and what lists all of them, and what find_backend() throws of a file.
  template <std::convertible_to<std::string_view> Name>
  Device(const Name& name_or_file) : Device(named(name_or_file)) {}  // NOLINT(google-explicit-constructor): a name is enough of a device
  /// A backend file (.json).
  Device(const std::filesystem::path& file) : Device(named(file.string())) {}  // NOLINT(google-explicit-constructor)
  Device(SpecSheet sheet) : SpecSheet(std::move(sheet)) {}                     // NOLINT(google-explicit-constructor)
  /// Reports call it "own backend". It has no evidence and no quantiser.
  Device(const Backend& own);  // NOLINT(google-explicit-constructor)

 private:
  [[nodiscard]] static SpecSheet named(std::string_view name_or_file);
};

/// Several, in the caller's order: {"tflite_double", "imx8mp"}, or a range of whatever one device is made of.
class Devices {
 public:
  Devices(std::initializer_list<Device> devices) : sheets_(devices.begin(), devices.end()) {}
  template <std::ranges::input_range Range>
  requires std::convertible_to<std::ranges::range_reference_t<const Range&>, Device> Devices(
      const Range& devices) {  // NOLINT(google-explicit-constructor)
    for (const auto& each : devices) sheets_.push_back(Device(each));
  }
  [[nodiscard]] std::span<const SpecSheet> sheets() const { return sheets_; }

 private:
  std::vector<SpecSheet> sheets_;
};

}  // namespace lastbit
