// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Delta debugging (Zeller and Hildebrandt's ddmin): of a list for which something holds, a part for which it still does and from which no
// single entry can be left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lastbit {

/// `holds` takes a list; it is taken to hold for `all`. Only lists with at least one entry are tried.
template <class Holds>
[[nodiscard]] std::vector<std::int64_t> ddmin(std::vector<std::int64_t> all, Holds&& holds) {
  std::size_t parts = 2;
  while (all.size() >= 2) {
    parts = std::min(parts, all.size());
    bool smaller = false;
    const auto edge = [&](std::size_t part) { return all.begin() + static_cast<std::ptrdiff_t>(part * all.size() / parts); };
    for (const bool complement : {false, true}) {
      if (complement && parts == 2) break;  // the complements are the parts
      for (std::size_t part = 0; part < parts && !smaller; ++part) {
        std::vector<std::int64_t> kept;
        if (!complement) kept.assign(edge(part), edge(part + 1));
        else {
          kept.assign(all.begin(), edge(part));
          kept.insert(kept.end(), edge(part + 1), all.end());
        }
        if (!holds(kept)) continue;
        all = std::move(kept);
        parts = complement ? std::max<std::size_t>(parts - 1, 2) : 2;
        smaller = true;
      }
      if (smaller) break;
    }
    if (smaller) continue;
    if (parts == all.size()) break;
    parts *= 2;
  }
  return all;
}

}  // namespace lastbit
