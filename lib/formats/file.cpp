// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "lastbit/error.hpp"

namespace lastbit {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorCode::unreadable_file, path.string(), reason);
}

std::string last_reason() { return errno != 0 ? std::generic_category().message(errno) : "input or output failed"; }

/// Waits until a file or folder is on the disk.
void sync(const std::filesystem::path& path) {
  errno = 0;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg): as POSIX has it
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const std::string reason = last_reason();
  if (file >= 0) ::close(file);
  if (!synced) fail(path, reason);
}

template <class Container>
Container read_whole(const std::filesystem::path& path) {
  std::ifstream stream = open_file(path);
  Container bytes(static_cast<std::size_t>(std::filesystem::file_size(path)), {});
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(stream.gcount()) != bytes.size()) fail(path, last_reason());
  return bytes;
}

}  // namespace

std::ifstream open_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(path, error ? error.message() : "no such file");
  if (!std::filesystem::is_regular_file(status)) fail(path, "not a regular file");  // a device or pipe may never end
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, last_reason());
  return stream;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) { return read_whole<std::vector<std::byte>>(path); }
std::string read_text_file(const std::filesystem::path& path) { return read_whole<std::string>(path); }

void write_file(const std::filesystem::path& path, std::string_view header, std::span<const std::byte> body) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(header.data(), static_cast<std::streamsize>(header.size()));
  stream.write(reinterpret_cast<const char*>(body.data()), static_cast<std::streamsize>(body.size()));
  stream.close();
  if (!stream) fail(path, last_reason());
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path fresh = path.string() + ".new";
  write_file(fresh, text, {});
  sync(fresh);
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  if (error) fail(path, error.message());
  sync(path.has_parent_path() ? path.parent_path() : std::filesystem::path("."));
}

}  // namespace lastbit
