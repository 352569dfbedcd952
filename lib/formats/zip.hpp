// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Zip files, by PKWARE's APPNOTE.TXT: the directory at the end, with its 64-bit form, and members that are stored or deflated. Nothing that
// a file says of sizes is trusted, and memory does not depend on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"

namespace lastbit {

struct ZipMember {
  std::string name;
  std::uint64_t header = 0;  ///< where its own header begins
  std::uint64_t packed = 0;  ///< bytes in the file
  std::uint64_t size = 0;    ///< bytes that they make
  std::uint32_t crc = 0;     ///< of the latter
  std::uint16_t method = 0;
  bool encrypted = false;
};

/// All members, in the directory's order. Throws Error(malformed_file): damaged, cut off, with a name twice, or in several parts.
[[nodiscard]] std::vector<ZipMember> zip_members(const std::filesystem::path& path);

/// A member's bytes, unpacked as far as they are asked for: going on is cheap, going back begins anew. Throws Error(malformed_file) for what is
/// neither stored nor deflated, promises more than its bytes can make, or is damaged; a member that is read to its end has its checksum.
[[nodiscard]] std::unique_ptr<ByteSource> zip_member_bytes(const std::filesystem::path& path, const ZipMember& member);

}  // namespace lastbit
