// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Work shared among threads, each part of which makes something of its own.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/parallel.hpp"

namespace lastbit {

/// for_each_part() of a list: what make(part) returns, in the order of the parts.
template <class T, class Make>
[[nodiscard]] auto made_by_parts(std::span<T> list, std::int64_t grain, Make&& make) {
  using Made = std::invoke_result_t<Make&, std::span<T>>;
  std::map<std::int64_t, Made> by_first;
  std::mutex adding;
  for_each_part(std::ssize(list), grain, [&](std::int64_t first, std::int64_t last) {
    Made made = make(list.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
    const std::scoped_lock lock(adding);
    by_first.emplace(first, std::move(made));
  });
  std::vector<Made> all;
  for (auto& [first, made] : by_first) all.push_back(std::move(made));
  return all;
}

}  // namespace lastbit
