// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/io/output.hpp"

namespace lastbit {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorCode::unreadable_file, path.string(), reason);
}
[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorCode::bad_input, path.string(), reason);
}

std::string last_reason() { return errno != 0 ? std::generic_category().message(errno) : "input or output failed"; }

std::atomic<Replacing> replacing{Replacing::anything};

/// The files that this process has read, whatever their names.
class ReadFiles {
 public:
  void add(const struct stat& file) {
    const std::scoped_lock lock(mutex_);
    files_.emplace(file.st_dev, file.st_ino);
  }
  [[nodiscard]] bool contain(const struct stat& file) {
    const std::scoped_lock lock(mutex_);
    return files_.contains({file.st_dev, file.st_ino});
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<dev_t, ino_t>> files_;
};
ReadFiles& read_files() {
  static ReadFiles files;
  return files;
}

/// An open file, closed at the end of its life.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const std::filesystem::path& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  }  // NOLINT(cppcoreguidelines-pro-type-vararg): as POSIX has it
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  [[nodiscard]] bool write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(number_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }

 private:
  int number_ = -1;
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Whether a file begins as the new one does.
bool is_alike(const std::filesystem::path& path, std::string_view header, std::span<const std::byte> body) {
  constexpr std::size_t compared = 8;
  std::string wanted(header.substr(0, compared));
  for (std::size_t i = 0; i < body.size() && wanted.size() < compared; ++i) wanted += static_cast<char>(body[i]);
  std::string found(wanted.size(), '\0');
  std::ifstream(path, std::ios::binary).read(found.data(), static_cast<std::streamsize>(found.size()));
  const bool both_tflite = wanted.substr(std::min<std::size_t>(4, wanted.size())) == "TFL3" && found.substr(4) == "TFL3";
  return found == wanted || both_tflite;  // a .tflite begins with where its root is
}

void require_replaceable(const std::filesystem::path& path, const struct stat& file, std::string_view header,
                         std::span<const std::byte> body) {
  const Replacing rule = replacing;
  if (rule == Replacing::anything) return;
  if (read_files().contain(file)) refuse(path, "is an input of this command: no output replaces it");
  if (rule == Replacing::own_kind && file.st_size > 0 && !is_alike(path, header, body))
    refuse(path, "is there, and does not begin as what lastbit writes: give another name, or --force to replace it");
}

/// Beside `path`, made now, of a name that nobody else has.
std::filesystem::path fresh_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> number{0};
  return path.parent_path() / (".lastbit-" + std::to_string(::getpid()) + "-" + std::to_string(number++) + ".new");
}

enum class Named : std::uint8_t { anew, for_the_first_time };

/// Gives a file its name; false, and why in errno, where that cannot be.
bool rename_to(const std::filesystem::path& fresh, const std::filesystem::path& path, Named named) {
  if (named == Named::anew) return ::rename(fresh.c_str(), path.c_str()) == 0;
  const bool linked = ::link(fresh.c_str(), path.c_str()) == 0;
  if (!linked && errno != EEXIST) return ::rename(fresh.c_str(), path.c_str()) == 0;  // a file system without links
  const int reason = errno;
  ::unlink(fresh.c_str());
  errno = reason;
  return linked;
}

/// Writes a new file beside `path`, has `settle` do the rest while it is open, and gives it the name.
template <class Settle>
void write_beside(const std::filesystem::path& path, Named named, std::string_view header, std::span<const std::byte> body,
                  Settle&& settle) {
  std::filesystem::path fresh = fresh_name(path);
  Descriptor file(fresh, O_WRONLY | O_CREAT | O_EXCL);
  while (file.number() < 0 && errno == EEXIST) {  // left behind by a process of this number
    fresh = fresh_name(path);
    Descriptor(fresh, O_WRONLY | O_CREAT | O_EXCL).swap(file);
  }
  if (file.number() < 0) fail(path, last_reason());
  errno = 0;
  if (file.write(bytes_of(header)) && file.write(body) && settle(file) && rename_to(fresh, path, named)) return;
  const bool taken = errno == EEXIST;
  const std::string reason = last_reason();
  ::unlink(fresh.c_str());
  if (taken) refuse(path, "another process is at work on it");
  fail(path, reason);
}

template <class Container>
Container read_whole(const std::filesystem::path& path) {
  std::ifstream stream = open_file(path);
  Container bytes(static_cast<std::size_t>(std::filesystem::file_size(path)), {});
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(stream.gcount()) != bytes.size()) fail(path, last_reason());
  return bytes;
}

class FileBytes final : public ByteSource {
 public:
  explicit FileBytes(const std::filesystem::path& path) : path_(path), stream_(open_file(path)), size_(std::filesystem::file_size(path)) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!stream_) fail(path_, "the file has become shorter, or cannot be read");
  }

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

}  // namespace

void create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (const auto status = std::filesystem::status(folder, error); std::filesystem::exists(status) && !std::filesystem::is_directory(status))
    refuse(folder, "is a file; what is written here is a folder of files");
  std::filesystem::create_directories(folder, error);
  if (error) fail(folder, "cannot be created: " + error.message());
}

std::ifstream open_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(path, error ? error.message() : "no such file");
  if (!std::filesystem::is_regular_file(status)) fail(path, "not a regular file");  // a device or pipe may never end
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, last_reason());
  struct stat file {};
  if (replacing != Replacing::anything && ::stat(path.c_str(), &file) == 0) read_files().add(file);
  return stream;
}

std::unique_ptr<ByteSource> file_bytes(const std::filesystem::path& path) { return std::make_unique<FileBytes>(path); }

std::vector<std::byte> read_file(const std::filesystem::path& path) { return read_whole<std::vector<std::byte>>(path); }
std::string read_text_file(const std::filesystem::path& path) { return read_whole<std::string>(path); }

std::filesystem::path path_below(const std::filesystem::path& folder, const std::string& file, const std::string& where) {
  std::error_code error;
  const auto base = std::filesystem::canonical(folder.empty() ? "." : folder, error);
  if (error) fail(where, folder.string() + ": " + error.message());
  std::filesystem::path path = std::filesystem::weakly_canonical(base / file, error);
  const auto differs = std::mismatch(base.begin(), base.end(), path.begin(), path.end()).first;
  if (error || differs != base.end() || std::filesystem::path(file).is_absolute())
    throw Error(ErrorCode::malformed_file, where, "'" + file + "' lies outside the model's folder");
  if (!std::filesystem::exists(path, error)) fail(where, "'" + file + "': no such file");
  if (!std::filesystem::is_regular_file(path, error)) fail(where, "'" + file + "' is not a regular file");
  return path;
}

void set_replacing(Replacing rule) noexcept { replacing = rule; }

void write_file(const std::filesystem::path& path, std::string_view header, std::span<const std::byte> body) {
  struct stat file {};
  const bool exists = ::lstat(path.c_str(), &file) == 0;
  if (exists && S_ISLNK(file.st_mode)) refuse(path, "is a link, which no output follows");
  if (exists && !S_ISREG(file.st_mode)) {
    errno = 0;
    const Descriptor target(path, O_WRONLY);
    if (target.number() < 0 || !target.write(bytes_of(header)) || !target.write(body)) fail(path, last_reason());
    return;
  }
  errno = 0;
  if (exists && ::access(path.c_str(), W_OK) != 0) fail(path, last_reason());
  if (exists) require_replaceable(path, file, header, body);
  write_beside(path, Named::anew, header, body, [](Descriptor& written) { return ::close(written.release()) == 0; });
}

void remove_older(const std::filesystem::path& path) noexcept {
  struct stat file {};
  const bool is_there = replacing == Replacing::no_input && ::lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode);
  if (is_there && !read_files().contain(file)) ::unlink(path.c_str());
}

void write_text_file(const std::filesystem::path& path, std::string_view text) { write_file(path, text, {}); }

OwnedFile::OwnedFile(std::filesystem::path path) : path_(std::move(path)) { open(); }

OwnedFile::~OwnedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

/// Locks the file that has the name. Where another process replaced it between opening and locking, once more.
void OwnedFile::open() {
  errno = 0;
  Descriptor file(path_, O_RDONLY | O_NONBLOCK);  // a pipe is refused, not waited for
  if (file.number() < 0) {
    if (errno == ENOENT) return;
    if (errno == ELOOP) refuse(path_, "is a link, which no output follows");
    fail(path_, last_reason());
  }
  struct stat opened {
  }, named{};
  if (::fstat(file.number(), &opened) != 0 || !S_ISREG(opened.st_mode)) fail(path_, "not a regular file");
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) refuse(path_, "another process is at work on it");
  if (::lstat(path_.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) return open();
  descriptor_ = file.release();
}

void OwnedFile::replace(std::string_view text) {
  Descriptor next;
  write_beside(path_, exists() ? Named::anew : Named::for_the_first_time, text, {}, [&](Descriptor& written) {
    next.swap(written);
    (void)::flock(next.number(), LOCK_EX | LOCK_NB);  // nobody else knows its name yet; on a disk without locks there are none
    return ::fsync(next.number()) == 0;
  });
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = next.release();
  errno = 0;
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const Descriptor on_disk(folder, O_RDONLY | O_DIRECTORY);
  if (on_disk.number() < 0 || ::fsync(on_disk.number()) != 0) fail(path_, last_reason());
}

}  // namespace lastbit
