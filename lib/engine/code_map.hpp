// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A function of one code, applied to tensors: a table where codes have 8 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "engine/parallel.hpp"
#include "engine/with_integers.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

class CodeMap {
 public:
  using Function = std::function<std::int64_t(std::int64_t)>;

  CodeMap(ElementType from, Function f) : f_(std::move(f)) {
    if (size_of(from) > 1) return;
    const IntegerRange range = range_of(from);
    table_.resize(256);
    for (std::int64_t code = range.min; code <= range.max; ++code) table_[static_cast<std::uint8_t>(code)] = f_(code);
  }

  /// `to` has as many elements as `from`, of an integer type that holds what the function gives.
  void operator()(const Tensor& from, Tensor& to) const {
    with_integers(from, [&]<class In>() { with_integers(to, [&]<class Out>() { map(from.values<In>(), to.values<Out>()); }); });
  }

 private:
  template <class In, class Out>
  void map(std::span<const In> from, std::span<Out> to) const {
    constexpr std::int64_t grain = units_per_part(sizeof(In) == 1 ? 0.3 : 20);
    std::vector<Out> table(table_.size());
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<Out>(table_[i]);
    for_each_part(static_cast<std::int64_t>(from.size()), grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        if constexpr (sizeof(In) == 1) to[i] = table[static_cast<std::uint8_t>(from[i])];
        else to[i] = static_cast<Out>(f_(static_cast<std::int64_t>(from[i])));
      }
    });
  }

  Function f_;
  std::vector<std::int64_t> table_;  ///< by the code's low 8 bits; empty for wider codes
};

}  // namespace lastbit
