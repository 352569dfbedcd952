// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace lastbit {
namespace {

constexpr std::size_t longest = 100;  // letters that are looked at

/// How many letters must be changed, added or left out.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, changed}));
    }
  }
  return row[b.size()];
}

std::size_t near_enough(std::string_view known) { return std::max<std::size_t>(known.size() < 4 ? 1 : 2, known.size() / 3); }

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lowered;
}

/// Smaller is nearer; nothing: not meant.
std::size_t rank(const std::string& name, std::string_view known) {
  constexpr std::size_t contained = 2 * longest;
  const std::string other = lower(known);
  const std::size_t letters = distance(name, std::string_view(other).substr(0, longest));
  if (letters <= near_enough(known)) return letters;
  const bool contains = name.size() >= 3 && other.find(name) != std::string::npos;
  const bool is_contained = other.size() >= 3 && name.find(other) != std::string::npos;
  return contains || is_contained ? contained + letters : std::string_view::npos;
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names) {
  const auto far_off = [&](std::string_view known) { return distance(name.substr(0, longest), known); };
  const auto best = std::ranges::min_element(names, {}, far_off);
  if (best == names.end() || name.empty() || name.find('*') != std::string_view::npos) return {};
  const bool begins_alike = best->size() >= 3 && name.starts_with(*best);
  return begins_alike || far_off(*best) <= near_enough(*best) ? *best : std::string_view{};
}

std::vector<std::string_view> nearest_names(std::string_view name, std::span<const std::string_view> names, std::size_t most) {
  const std::string wanted = lower(name.substr(0, longest));
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string_view known : names) {
    const std::size_t at = wanted.empty() ? std::string_view::npos : rank(wanted, known);
    if (at != std::string_view::npos) ranked.emplace_back(at, known);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string_view>::first);
  std::vector<std::string_view> found;
  for (const auto& [at, known] : ranked)
    if (found.size() < most && std::ranges::find(found, known) == found.end()) found.push_back(known);
  return found;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  const std::vector<std::string_view> found = nearest_names(name, names);
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i)
    text += (i == 0 ? "; did you mean '" : i + 1 == found.size() ? "' or '" : "', '") + std::string(found[i]);
  return text.empty() ? text : text + "'?";
}

std::string did_you_mean(std::string_view name, std::span<const std::string> names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return did_you_mean(name, views);
}

}  // namespace lastbit
