// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "formats/file.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

constexpr std::uint64_t in_64_bits = 0xFFFFFFFF;  // a field of 32 bits that stands elsewhere in 64
constexpr std::uint64_t most_directory = 64 << 20;

/// Integers as they lie in a file, least byte first.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  [[nodiscard]] std::uint64_t number(std::size_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value |= std::to_integer<std::uint64_t>(part(at, width)[i]) << (8 * i);
    return value;
  }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  [[nodiscard]] std::uint16_t u16(std::size_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
  [[nodiscard]] std::span<const std::byte> part(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) fail("the directory of the zip file is cut off");
    return bytes_.subspan(at, size);
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[noreturn]] void fail(const std::string& reason) const { throw Error(ErrorCode::malformed_file, std::string(where_), reason); }

 private:
  std::span<const std::byte> bytes_;
  std::string_view where_;
};

std::vector<std::byte> read_part(ByteSource& file, std::uint64_t offset, std::uint64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.read_at(offset, bytes);
  return bytes;
}

/// Where the directory lies.
struct Directory {
  std::uint64_t offset = 0, size = 0, members = 0;
};

constexpr std::size_t end_size = 22, locator_size = 20, wide_end_size = 56;

/// From the record at the end of the file, behind which there is nothing but its own comment.
Directory find_directory(ByteSource& file, std::string_view where) {
  constexpr std::uint64_t longest_end = end_size + 0xFFFF + locator_size;
  const std::uint64_t size = file.size(), taken = std::min(size, longest_end);
  const std::vector<std::byte> bytes = read_part(file, size - taken, taken);
  const Fields fields(bytes, where);
  std::optional<std::size_t> end;
  for (std::size_t at = bytes.size() < end_size ? 0 : bytes.size() - end_size + 1; at-- > 0 && !end;)
    if (fields.u32(at) == 0x06054b50 && at + end_size + fields.u16(at + 20) == bytes.size()) end = at;
  if (!end) fields.fail("not a zip file, or one that was cut off");
  const std::size_t at = *end;
  Directory found{fields.u32(at + 16), fields.u32(at + 12), fields.u16(at + 10)};
  const bool has_locator = at >= locator_size && fields.u32(at - locator_size) == 0x07064b50;
  if (has_locator) {
    const std::uint64_t place = fields.number(at - locator_size + 8, 8);
    if (place > size || size - place < wide_end_size) fields.fail("the directory lies outside of the zip file");
    const std::vector<std::byte> wide_bytes = read_part(file, place, wide_end_size);
    const Fields wide(wide_bytes, where);
    if (wide.u32(0) != 0x06064b50) fields.fail("the zip file has no directory where it says");
    found = {wide.number(48, 8), wide.number(40, 8), wide.number(32, 8)};
  } else if (fields.u16(at + 4) != 0 || fields.u16(at + 6) != 0) {
    fields.fail("the zip file is one of several parts");
  }
  if (found.offset > size || found.size > size - found.offset || found.size > most_directory)
    fields.fail("the directory lies outside of the zip file");
  return found;
}

/// Sizes and place of a large member, from the directory's extra fields.
void read_wide(const Fields& extra, ZipMember& member) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::uint16_t kind = extra.u16(at), length = extra.u16(at + 2);
    const Fields fields(extra.part(at + 4, length), "");
    if (kind == 1) {
      std::size_t next = 0;
      for (std::uint64_t* const field : {&member.size, &member.packed, &member.header}) {
        if (*field != in_64_bits) continue;
        if (next + 8 > fields.size()) extra.fail("the directory of the zip file lacks the size of a member");
        *field = fields.number(next, 8);
        next += 8;
      }
    }
    at += std::size_t{4} + length;
  }
}

/// Deflate's own bytes: of a member of the method 8.
struct Inflating {
  z_stream stream{};
  Inflating() { inflateInit2(&stream, -MAX_WBITS); }
  ~Inflating() { inflateEnd(&stream); }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;
};

class ZipBytes final : public ByteSource {
 public:
  ZipBytes(const std::filesystem::path& path, const ZipMember& member)
      : file_(file_bytes(path)), member_(member), where_(path.string() + ": " + printable(member.name)) {
    if (member.encrypted) fail("is encrypted");
    if (member.method != 0 && member.method != Z_DEFLATED)
      fail("is packed by method " + std::to_string(member.method) + ", not by deflate");
    constexpr std::uint64_t own_header = 30, most_per_byte = 1032;  // 258 bytes by two bits: the most that deflate can say
    if (member.header > file_->size() || file_->size() - member.header < own_header) fail("lies outside of the zip file");
    const std::vector<std::byte> bytes = read_part(*file_, member.header, own_header);
    const Fields header(bytes, where_);
    if (header.u32(0) != 0x04034b50) fail("is not where the directory says");
    start_ = member.header + own_header + header.u16(26) + header.u16(28);
    if (start_ > file_->size() || member.packed > file_->size() - start_) fail("lies outside of the zip file");
    const bool can_be = member.method == 0 ? member.size == member.packed : member.size / most_per_byte <= member.packed;
    if (!can_be) fail(std::to_string(member.packed) + " bytes cannot make the " + std::to_string(member.size) + " that they promise");
  }

  [[nodiscard]] std::uint64_t size() const override { return member_.size; }

  void read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
    if (member_.size < offset || member_.size - offset < bytes.size()) fail("ends early");
    if (!begun_ || offset < position_) begin();
    std::array<std::byte, 1 << 15> passed;
    while (position_ < offset)
      take(std::span(passed).first(static_cast<std::size_t>(std::min<std::uint64_t>(passed.size(), offset - position_))));
    constexpr std::size_t piece = 1 << 28;  // zlib counts in 32 bits
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece, bytes.size()))) take(bytes.first(std::min(piece, bytes.size())));
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw Error(ErrorCode::malformed_file, where_, reason); }

  void begin() {
    begun_ = true;
    position_ = taken_ = 0;
    crc_ = 0;
    if (member_.method == Z_DEFLATED) inflating_ = std::make_unique<Inflating>();
  }

  /// The next bytes.
  void take(std::span<std::byte> bytes) {
    if (inflating_) inflate_into(bytes);
    else file_->read_at(start_ + position_, bytes);
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    position_ += bytes.size();
    if (position_ < member_.size) return;
    if (inflating_) require_end();
    if (crc_ != member_.crc) fail("is damaged: its checksum is another one");
  }

  /// The state after some more bytes.
  int inflate_some() {
    z_stream& stream = inflating_->stream;
    if (stream.avail_in == 0) {
      const std::uint64_t some = std::min<std::uint64_t>(input_.size(), member_.packed - taken_);
      file_->read_at(start_ + taken_, std::span(input_).first(static_cast<std::size_t>(some)));
      taken_ += some;
      stream.next_in = reinterpret_cast<Bytef*>(input_.data());
      stream.avail_in = static_cast<uInt>(some);
    }
    return ::inflate(&stream, Z_NO_FLUSH);
  }

  void inflate_into(std::span<std::byte> bytes) {
    z_stream& stream = inflating_->stream;
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(bytes.size());
    while (stream.avail_out > 0) {
      const int state = inflate_some();
      if (state == Z_STREAM_END && stream.avail_out > 0) fail("makes fewer bytes than it promises");
      if (state != Z_OK && state != Z_STREAM_END) fail("is damaged: it cannot be unpacked");
    }
  }

  void require_end() {
    std::byte beyond{};
    z_stream& stream = inflating_->stream;
    stream.next_out = reinterpret_cast<Bytef*>(&beyond);
    stream.avail_out = 1;
    int state = Z_OK;
    while (state == Z_OK && stream.avail_out > 0) state = inflate_some();
    if (state != Z_STREAM_END || stream.avail_out == 0) fail("makes other bytes than it promises");
  }

  std::unique_ptr<ByteSource> file_;
  ZipMember member_;
  std::string where_;
  std::uint64_t start_ = 0;     ///< of the packed bytes
  std::uint64_t position_ = 0;  ///< of the unpacked ones
  std::uint64_t taken_ = 0;     ///< packed ones that zlib was given
  bool begun_ = false;
  uLong crc_ = 0;
  std::unique_ptr<Inflating> inflating_;
  std::vector<std::byte> input_ = std::vector<std::byte>(1 << 16);
};

}  // namespace

std::vector<ZipMember> zip_members(const std::filesystem::path& path) {
  const std::string where = path.string();
  const std::unique_ptr<ByteSource> file = file_bytes(path);
  const Directory directory = find_directory(*file, where);
  const std::vector<std::byte> bytes = read_part(*file, directory.offset, directory.size);
  const Fields fields(bytes, where);
  std::vector<ZipMember> members;
  std::set<std::string_view> names;
  std::uint64_t packed = 0;
  constexpr std::size_t fixed = 46;
  for (std::size_t at = 0; members.size() < directory.members;) {
    if (fields.u32(at) != 0x02014b50) fields.fail("the directory of the zip file is damaged");
    const std::size_t name = fields.u16(at + 28), extra = fields.u16(at + 30), comment = fields.u16(at + 32);
    const auto text = fields.part(at + fixed, name);
    ZipMember member{.name = std::string(reinterpret_cast<const char*>(text.data()), text.size()),
                     .header = fields.u32(at + 42),
                     .packed = fields.u32(at + 20),
                     .size = fields.u32(at + 24),
                     .crc = fields.u32(at + 16),
                     .method = fields.u16(at + 10),
                     .encrypted = (fields.u16(at + 8) & 1) != 0};
    read_wide(Fields(fields.part(at + fixed + name, extra), where), member);
    if (!names.insert({reinterpret_cast<const char*>(text.data()), text.size()}).second)
      fields.fail("two members are called " + printable(member.name));
    if (member.packed > file->size() - packed) fields.fail("the members of the zip file lie upon each other, or outside of it");
    packed += member.packed;
    members.push_back(std::move(member));
    at += fixed + name + extra + comment;
  }
  return members;
}

std::unique_ptr<ByteSource> zip_member_bytes(const std::filesystem::path& path, const ZipMember& member) {
  return std::make_unique<ZipBytes>(path, member);
}

}  // namespace lastbit
