// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a trace by index and by name, for whoever looks up many.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "lastbit/trace.hpp"

namespace lastbit {

/// Of a trace that outlives it and does not change. Of several tensors of a name or an index the first one counts, as in NamedTrace::find.
class TraceIndex {
 public:
  explicit TraceIndex(const NamedTrace& trace) {
    for (const NamedTensor& tensor : trace.tensors) {
      by_index_.emplace(tensor.index, &tensor);
      by_name_.emplace(tensor.name, &tensor);
    }
  }

  [[nodiscard]] const NamedTensor* find(std::int32_t index) const { return found(by_index_, index); }
  [[nodiscard]] const NamedTensor* find(std::string_view name) const { return found(by_name_, name); }
  /// Of the same index and name, else of the same name.
  [[nodiscard]] const NamedTensor* counterpart(std::int32_t index, std::string_view name) const {
    const NamedTensor* const same = find(index);
    return same != nullptr && same->name == name ? same : find(name);
  }

 private:
  template <class Map, class Key>
  static const NamedTensor* found(const Map& map, const Key& key) {
    const auto at = map.find(key);
    return at == map.end() ? nullptr : at->second;
  }

  std::unordered_map<std::int32_t, const NamedTensor*> by_index_;
  std::unordered_map<std::string_view, const NamedTensor*> by_name_;
};

}  // namespace lastbit
