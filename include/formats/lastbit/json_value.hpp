// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A JSON value to be written: members stay in the order in which they were added.
//
//   JsonValue report{{"model", name}, {"equal", true}, {"layers", JsonValue::array()}};
//   report["layers"].push_back({{"name", "conv"}, {"shape", std::vector{1, 8, 8, 8}}});
//   std::cout << report.text(2);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lastbit {

/// A JSON value to be written.
class JsonValue {
 public:
  JsonValue(std::nullptr_t = nullptr) {}
  JsonValue(bool value) : value_(value) {}
  JsonValue(std::signed_integral auto value) : value_(std::int64_t{value}) {}
  JsonValue(std::unsigned_integral auto value) : value_(std::uint64_t{value}) {}
  JsonValue(double value) : value_(value) {}  ///< no infinity and no NaN: they become null
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(std::string_view value) : value_(std::string(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  /// A list.
  template <std::ranges::input_range Range>
  requires(!std::convertible_to<Range, std::string_view>) JsonValue(const Range& values) : value_(Array{}) {
    for (const auto& value : values) push_back(value);
  }
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();
  /// Pairs of a name and a value: an object; anything else: a list.
  JsonValue(std::initializer_list<JsonValue> values);

  [[nodiscard]] static JsonValue array(std::initializer_list<JsonValue> values = {});
  [[nodiscard]] static JsonValue object();
  /// Throws std::exception.
  [[nodiscard]] static JsonValue parse(std::string_view text);

  /// The member of this name, which is added where there is none.
  JsonValue& operator[](std::string_view name);
  void push_back(JsonValue value);
  /// Adds the members of another object, or replaces them.
  void update(const JsonValue& other);
  [[nodiscard]] bool is_empty() const;

  /// indent: spaces a level; -1: on one line. What is not UTF-8 is replaced.
  [[nodiscard]] std::string text(int indent = -1) const;

 private:
  using Array = std::vector<JsonValue>;
  struct Object {  ///< a value for every name
    std::vector<std::string> names;
    Array values;
  };
  friend struct JsonConversion;
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

}  // namespace lastbit
