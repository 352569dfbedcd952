// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Strict reading of JSON: every mistake names its place, unknown and repeated keys are mistakes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/error.hpp"

namespace lastbit {

using Json = nlohmann::json;

/// Throws Error(malformed_file): a syntax error, a repeated key, nesting deeper than 32.
[[nodiscard]] Json parse_json(std::string_view text, std::string_view where);

/// A value and where it stands. Each getter throws Error(malformed_file) if the value is of another kind.
class JsonView {
 public:
  JsonView(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& reason, ErrorCode code = ErrorCode::malformed_file) const { throw Error(code, where_, reason); }

  /// Objects. only() refuses every key that is not listed.
  void only(std::initializer_list<std::string_view> keys) const;
  [[nodiscard]] JsonView operator[](std::string_view key) const;  ///< must be there
  [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;

  /// Arrays.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] JsonView at(std::size_t index) const;

  [[nodiscard]] std::string text() const;      ///< printable
  [[nodiscard]] std::int64_t integer() const;  ///< written as an integer, fits 64 bits
  [[nodiscard]] double number() const;         ///< finite
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::vector<std::int64_t> integers() const;
  [[nodiscard]] std::vector<double> numbers() const;
  [[nodiscard]] std::vector<std::string> texts() const;

 private:
  const Json* value_;
  std::string where_;
};

}  // namespace lastbit
