// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/json_value.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lastbit {

using Json = nlohmann::ordered_json;

struct JsonConversion {
  static Json to_library(const JsonValue& value) {
    return std::visit([](const auto& held) { return to_library(held); }, value.value_);
  }
  static Json to_library(const auto& plain) { return plain; }
  static Json to_library(const JsonValue::Array& values) {
    Json list = Json::array();
    for (const JsonValue& value : values) list.push_back(to_library(value));
    return list;
  }
  static Json to_library(const JsonValue::Object& members) {
    Json object = Json::object();
    for (std::size_t i = 0; i < members.names.size(); ++i) object[members.names[i]] = to_library(members.values[i]);
    return object;
  }

  static JsonValue from_library(const Json& json) {
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_unsigned()) return json.get<std::uint64_t>();
    if (json.is_number_integer()) return json.get<std::int64_t>();
    if (json.is_number()) return json.get<double>();
    if (json.is_string()) return json.get<std::string>();
    JsonValue value;
    if (json.is_array()) {
      value = JsonValue::array();
      for (const Json& element : json) value.push_back(from_library(element));
    } else if (json.is_object()) {
      value = JsonValue::object();
      for (const auto& [name, member] : json.items()) value[name] = from_library(member);
    }
    return value;
  }

  static bool is_member(const JsonValue& value) {
    const auto* pair = std::get_if<JsonValue::Array>(&value.value_);
    return pair != nullptr && pair->size() == 2 && std::holds_alternative<std::string>((*pair)[0].value_);
  }
};

JsonValue::JsonValue(const JsonValue& other) = default;
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) = default;
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
JsonValue::~JsonValue() = default;

JsonValue::JsonValue(std::initializer_list<JsonValue> values) : value_(Array(values)) {
  if (!std::ranges::all_of(values, JsonConversion::is_member)) return;
  Object members;
  for (const JsonValue& value : values) {
    const Array& pair = std::get<Array>(value.value_);
    members.names.push_back(std::get<std::string>(pair[0].value_));
    members.values.push_back(pair[1]);
  }
  value_ = std::move(members);
}

JsonValue JsonValue::array(std::initializer_list<JsonValue> values) {
  JsonValue list;
  list.value_ = Array(values);
  return list;
}

JsonValue JsonValue::object() {
  JsonValue empty;
  empty.value_ = Object{};
  return empty;
}

JsonValue JsonValue::parse(std::string_view text) { return JsonConversion::from_library(Json::parse(text)); }

JsonValue& JsonValue::operator[](std::string_view name) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object{};
  Object& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members.names, name);
  if (found != members.names.end()) return members.values[static_cast<std::size_t>(found - members.names.begin())];
  members.names.emplace_back(name);
  return members.values.emplace_back();
}

void JsonValue::push_back(JsonValue value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
}

void JsonValue::update(const JsonValue& other) {
  const Object& members = std::get<Object>(other.value_);
  for (std::size_t i = 0; i < members.names.size(); ++i) (*this)[members.names[i]] = members.values[i];
}

bool JsonValue::is_empty() const {
  if (const auto* members = std::get_if<Object>(&value_)) return members->names.empty();
  const auto* values = std::get_if<Array>(&value_);
  return values == nullptr || values->empty();
}

std::string JsonValue::text(int indent) const {
  return JsonConversion::to_library(*this).dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lastbit
