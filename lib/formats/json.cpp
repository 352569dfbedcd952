// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lastbit/nearest.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

constexpr int deepest_nesting = 32;

/// Follows the parser's events for what a parsed value no longer shows.
class Watch {
 public:
  explicit Watch(std::string_view where) : where_(where) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > deepest_nesting) fail("values nested more than " + std::to_string(deepest_nesting) + " deep");
    if (event == Event::object_start) keys_.emplace_back();
    else if (event == Event::object_end) keys_.pop_back();
    else if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second)
      fail("key '" + printable(parsed.get<std::string>()) + "' stands twice in one object");
    return true;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw Error(ErrorCode::malformed_file, std::string(where_), reason); }
  std::string_view where_;
  std::vector<std::set<std::string>> keys_;
};

/// "line 3, column 7" of a byte offset.
std::string position_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string listed(std::initializer_list<std::string_view> keys) {
  if (keys.size() == 0) return "there are none here";
  std::string text = "known:";
  for (const std::string_view key : keys) text += (text.ends_with(':') ? " " : ", ") + std::string(key);
  return text;
}

template <class T, class Get>
std::vector<T> list_of(const JsonView& view, Get get) {
  std::vector<T> result;
  result.reserve(view.size());
  for (std::size_t i = 0; i < view.size(); ++i) result.push_back(get(view.at(i)));
  return result;
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  try {
    return Json::parse(text, Watch(where));
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::malformed_file, std::string(where), "not JSON at " + position_in(text, error.byte));
  } catch (const Json::exception&) {
    throw Error(ErrorCode::malformed_file, std::string(where), "a number is too large");
  }
}

void JsonView::only(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) fail("an object is needed");
  std::vector<Diagnostic> unknown;
  const std::vector<std::string_view> known(keys);
  for (const auto& [key, value] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    unknown.push_back(
        {ErrorCode::malformed_file, where_, "unknown key '" + printable(key) + "'; " + listed(keys) + did_you_mean(key, known)});
  }
  if (!unknown.empty()) throw Error(std::move(unknown));
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (!value_->is_object()) fail("an object is needed");
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) return std::nullopt;
  return JsonView(*found, where_ + "." + std::string(key));
}

JsonView JsonView::operator[](std::string_view key) const {
  auto found = find(key);
  if (!found) fail("'" + std::string(key) + "' is missing");
  return *std::move(found);
}

std::size_t JsonView::size() const {
  if (!value_->is_array()) fail("a list is needed");
  return value_->size();
}

JsonView JsonView::at(std::size_t index) const { return {(*value_)[index], where_ + "[" + std::to_string(index) + "]"}; }

std::string JsonView::text() const {
  if (!value_->is_string()) fail("a text is needed");
  const auto& text = value_->get_ref<const std::string&>();
  if (!is_printable(text)) fail("a text with control characters");
  return text;
}

std::int64_t JsonView::integer() const {
  if (!value_->is_number_integer()) fail("an integer is needed");
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > largest) fail("an integer beyond 64 bits");
  return value_->get<std::int64_t>();
}

double JsonView::number() const {
  if (!value_->is_number()) fail("a number is needed");
  const auto number = value_->get<double>();
  if (!std::isfinite(number)) fail("a number is too large");
  return number;
}

bool JsonView::boolean() const {
  if (!value_->is_boolean()) fail("true or false is needed");
  return value_->get<bool>();
}

std::vector<std::int64_t> JsonView::integers() const {
  return list_of<std::int64_t>(*this, [](const JsonView& item) { return item.integer(); });
}
std::vector<double> JsonView::numbers() const {
  return list_of<double>(*this, [](const JsonView& item) { return item.number(); });
}
std::vector<std::string> JsonView::texts() const {
  return list_of<std::string>(*this, [](const JsonView& item) { return item.text(); });
}

}  // namespace lastbit
