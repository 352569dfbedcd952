// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A writer of zip files, as small as it can be: what tests of .npz begin with.
#pragma once

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "support/refusal.hpp"

namespace lastbit::test {

/// Of a member all that a directory says; `packed` may be anything else.
struct ZipEntry {
  std::string name, packed;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  std::uint16_t method = 0, flags = 0;
  bool wide = false;  ///< sizes of 64 bits, in extra fields, as NumPy writes them of large arrays
};

inline std::string deflated(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("zlib");
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  std::string copy = bytes;  // which zlib takes as its own to write to
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int state = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("zlib");
  return packed;
}

inline ZipEntry stored(const std::string& name, const std::string& bytes) {
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  return {.name = name, .packed = bytes, .size = bytes.size(), .crc = static_cast<std::uint32_t>(crc)};
}
inline ZipEntry packed(const std::string& name, const std::string& bytes) {
  ZipEntry entry = stored(name, bytes);
  entry.packed = deflated(bytes);
  entry.method = 8;
  return entry;
}

inline std::string little_endian(std::uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

inline std::string zip_text(const std::vector<ZipEntry>& entries) {
  std::string file, directory;
  for (const ZipEntry& entry : entries) {
    const std::size_t begin = file.size(), local_extra = 4;  // one of our own, so that it is seen to be skipped
    const std::string same = little_endian(entry.flags, 2) + little_endian(entry.method, 2) + little_endian(0, 4);
    const std::string sizes = little_endian(entry.crc, 4) + little_endian(entry.packed.size(), 4) + little_endian(entry.size, 4) +
                              little_endian(entry.name.size(), 2);
    file += "PK\x03\x04" + little_endian(20, 2) + same + sizes + little_endian(local_extra, 2) + entry.name + little_endian(0xCAFE, 2) +
            little_endian(0, 2) + entry.packed;
    std::string wide_sizes = sizes, extra;
    if (entry.wide) {
      wide_sizes =
          little_endian(entry.crc, 4) + little_endian(0xFFFFFFFF, 4) + little_endian(0xFFFFFFFF, 4) + little_endian(entry.name.size(), 2);
      extra = little_endian(1, 2) + little_endian(16, 2) + little_endian(entry.size, 8) + little_endian(entry.packed.size(), 8);
    }
    directory += "PK\x01\x02" + little_endian(20, 2) + little_endian(20, 2) + same + wide_sizes + little_endian(extra.size(), 2) +
                 little_endian(0, 10) + little_endian(begin, 4) + entry.name + extra;
  }
  const std::string count = little_endian(entries.size(), 2);
  return file + directory + "PK\x05\x06" + little_endian(0, 4) + count + count + little_endian(directory.size(), 4) +
         little_endian(file.size(), 4) + little_endian(0, 2);
}

/// The bytes of a .npy.
inline std::string npy_text(const Tensor& tensor) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("lastbit_npy_text_" + std::to_string(::getpid()) + ".npy");
  write_npy(file, tensor);
  std::string text = file_text(file);
  std::filesystem::remove(file);
  return text;
}

inline void write_bytes(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc).write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace lastbit::test
