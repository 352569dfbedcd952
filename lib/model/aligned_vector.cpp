// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/aligned_vector.hpp"

#include <cstring>
#include <memory>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LASTBIT_EXACT_BLOCKS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LASTBIT_EXACT_BLOCKS
#endif

namespace lastbit {

#if defined(LASTBIT_EXACT_BLOCKS)
// No room behind the storage, so that the sanitizer sees an access beyond its end.
void* allocate_at_line(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{cache_line}); }
void free_at_line(void* storage) noexcept { ::operator delete (storage, std::align_val_t{cache_line}); }
#else
// From the ordinary allocator, which keeps small blocks at hand as that of aligned blocks does not: the block's own address is kept in front of
// the storage.
void* allocate_at_line(std::size_t bytes) {
  constexpr std::size_t beside = sizeof(void*) + cache_line;
  void* const block = ::operator new(bytes > static_cast<std::size_t>(-1) - beside ? static_cast<std::size_t>(-1) : bytes + beside);
  void* storage = static_cast<std::byte*>(block) + sizeof(void*);
  std::size_t room = bytes + cache_line;
  std::align(cache_line, bytes, storage, room);
  std::memcpy(static_cast<std::byte*>(storage) - sizeof(void*), &block, sizeof(void*));
  return storage;
}

void free_at_line(void* storage) noexcept {
  void* block = nullptr;
  std::memcpy(&block, static_cast<std::byte*>(storage) - sizeof(void*), sizeof(void*));
  ::operator delete(block);
}
#endif

}  // namespace lastbit
