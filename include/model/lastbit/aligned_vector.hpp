// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Storage that begins at a cache line, so that no vector load of a kernel is split.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace lastbit {

inline constexpr std::size_t cache_line = 64;  ///< bytes; a whole vector of any host path

/// Throws std::bad_alloc.
[[nodiscard]] void* allocate_at_line(std::size_t bytes);
void free_at_line(void* storage) noexcept;

/// An allocator for std::vector whose memory begins at a cache line.
template <class T>
struct AlignedAllocator {
  using value_type = T;  // NOLINT(readability-identifier-naming): what allocators are asked for

  AlignedAllocator() = default;
  template <class U>
  constexpr AlignedAllocator(const AlignedAllocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(allocate_at_line(count * sizeof(T))); }
  void deallocate(T* at, std::size_t) noexcept { free_at_line(at); }
  friend constexpr bool operator==(const AlignedAllocator&, const AlignedAllocator&) = default;
};

/// The same, but a vector's new elements that are given no value keep what the memory holds.
template <class T>
struct UnwrittenAllocator : AlignedAllocator<T> {
  /// The allocator of another element, which the base's rebind would make without this one's construct.
  template <class U>
  struct rebind {                         // NOLINT(readability-identifier-naming): what allocators are asked for
    using other = UnwrittenAllocator<U>;  // NOLINT(readability-identifier-naming)
  };

  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace lastbit
