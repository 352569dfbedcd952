// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layout: "\x93NUMPY", version (2 bytes), header length (2 bytes, from version 2.0 on 4 bytes), header, values.
// The header is the text of a Python dictionary: {'descr': '<i2', 'fortran_order': False, 'shape': (3, 4), }
#include "lastbit/io/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/file.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in the file");

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = 1 << 16;

constexpr std::array<std::pair<ElementType, std::string_view>, 11> descriptions{{
    {ElementType::int8, "|i1"},
    {ElementType::uint8, "|u1"},
    {ElementType::int16, "<i2"},
    {ElementType::uint16, "<u2"},
    {ElementType::int32, "<i4"},
    {ElementType::uint32, "<u4"},
    {ElementType::int64, "<i8"},
    {ElementType::float16, "<f2"},
    {ElementType::float32, "<f4"},
    {ElementType::float64, "<f8"},
    {ElementType::boolean, "|b1"},
}};

struct Header {
  std::optional<ElementType> type;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Reads the header's text, in any order of keys.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view where) : rest_(text), where_(where) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) fail("the header goes on after its end");
    if (!header_.type || !header_.fortran_order || !header_.shape) fail("the header lacks descr, fortran_order or shape");
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw Error(ErrorCode::malformed_file, std::string(where_), reason); }

  void entry() {
    const std::string_view key = quoted();
    expect(':');
    if (key == "descr" && !header_.type) header_.type = element_type();
    else if (key == "fortran_order" && !header_.fortran_order) header_.fortran_order = boolean();
    else if (key == "shape" && !header_.shape) header_.shape = tuple();
    else fail("the header has an unexpected key '" + printable(key) + "'");
  }

  ElementType element_type() {
    const std::string_view text = quoted();
    for (const auto& [type, description] : descriptions) {
      const bool same_kind = text.size() == 3 && text.substr(1) == description.substr(1);
      if (same_kind && (text[0] == '<' || text[0] == '|' || size_of(type) == 1)) return type;
    }
    fail("dtype '" + printable(text) + "' is not one of bool, int8 to int64, uint8, uint16, float32, float64 in little-endian order");
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    fail("fortran_order is neither True nor False");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) fail("shape has an entry that is no 64-bit integer");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::string_view quoted() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) fail("the header lacks a quoted text");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool accept(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(std::string("the header lacks a '") + wanted + "'");
  }
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  std::string_view rest_;
  std::string_view where_;
  Header header_;
};

/// Values in Fortran order, first axis fastest, as the row-major tensor of the same shape.
Tensor from_fortran_order(const Tensor& stored) {
  Tensor result(stored.type(), stored.shape());
  const std::size_t size = size_of(stored.type()), rank = stored.shape().rank();
  std::vector<std::int64_t> position(rank, 0);
  for (std::size_t from = 0; from < stored.bytes().size(); from += size) {
    std::int64_t to = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) to = to * stored.shape()[axis] + position[axis];
    std::memcpy(result.bytes().data() + static_cast<std::size_t>(to) * size, stored.bytes().data() + from, size);
    for (std::size_t axis = 0; axis < rank && ++position[axis] == stored.shape()[axis]; ++axis) position[axis] = 0;
  }
  return result;
}

std::uint32_t header_length(std::span<const std::byte> bytes, std::size_t width) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < width; ++i) length |= std::to_integer<std::uint32_t>(bytes[8 + i]) << (8 * i);
  return length;
}

bool holds_only_zero_and_one(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte value) { return value <= std::byte{1}; });
}

}  // namespace

namespace {

/// What stands before the values.
struct Preamble {
  ElementType type = ElementType::int8;
  Shape shape;
  bool fortran_order = false;
  std::size_t start = 0;  ///< of the values
};

/// Of a file of `size` bytes that begins with `bytes`.
Preamble parse_preamble(std::span<const std::byte> bytes, std::uint64_t size, std::string_view where) {
  const auto fail = [&](const std::string& reason) { throw Error(ErrorCode::malformed_file, std::string(where), reason); };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(magic) || text.size() < magic.size() + 2) fail("not a .npy file");
  const auto major = std::to_integer<int>(bytes[6]);
  if (major < 1 || major > 3 || bytes[7] != std::byte{0}) fail("unknown .npy version " + std::to_string(major));
  const std::size_t width = major == 1 ? 2 : 4, start = 8 + width;
  if (bytes.size() < start) fail("the file ends within its header");
  const std::size_t length = header_length(bytes, width);
  if (length > longest_header || length > bytes.size() - start) fail("a header of " + std::to_string(length) + " bytes does not fit");
  Header header = HeaderParser(text.substr(start, length), where).parse();
  if (header.shape->size() > largest_rank) fail("more than " + std::to_string(largest_rank) + " dimensions");
  const auto count = checked_element_count(*header.shape, *header.type);
  if (!count) fail("shape " + Shape(*header.shape).text() + " has a size below 1 or is too large");
  const std::uint64_t needed = static_cast<std::uint64_t>(*count) * size_of(*header.type), found = size - start - length;
  if (found != needed) fail(std::to_string(found) + " bytes of values; the header promises " + std::to_string(needed));
  return {*header.type, Shape(std::move(*header.shape)), *header.fortran_order, start + length};
}

/// Values as they lie in a file.
Tensor finished(Tensor stored, bool fortran_order, std::string_view where) {
  if (stored.type() == ElementType::boolean && !holds_only_zero_and_one(stored.bytes()))
    throw Error(ErrorCode::malformed_file, std::string(where), "a bool is neither 0 nor 1");
  return fortran_order ? from_fortran_order(stored) : stored;
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  Preamble preamble = parse_preamble(bytes, bytes.size(), where);
  Tensor tensor(preamble.type, std::move(preamble.shape));
  std::memcpy(tensor.bytes().data(), bytes.data() + preamble.start, tensor.bytes().size());
  return finished(std::move(tensor), preamble.fortran_order, where);
}

NpyFile::NpyFile(const std::filesystem::path& path) : NpyFile(file_bytes(path), path.string()) {}

NpyFile::NpyFile(std::unique_ptr<ByteSource> bytes, std::string where) : bytes_(std::move(bytes)), where_(std::move(where)) {
  constexpr std::size_t longest_preamble = 12 + longest_header;
  std::vector<std::byte> start(static_cast<std::size_t>(std::min<std::uint64_t>(bytes_->size(), longest_preamble)));
  bytes_->read_at(0, start);
  Preamble preamble = parse_preamble(start, bytes_->size(), where_);
  type_ = preamble.type;
  shape_ = std::move(preamble.shape);
  fortran_order_ = preamble.fortran_order;
  start_ = preamble.start;
}

Tensor NpyFile::rows(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> sizes(shape_.sizes().begin(), shape_.sizes().end());
  const std::int64_t all = sizes.empty() ? 1 : std::exchange(sizes[0], count);
  Tensor tensor(type_, Shape(std::move(sizes)));
  // In Fortran order the rows of one position lie together, position after position; else the rows themselves do.
  const std::size_t pieces = fortran_order_ ? tensor.bytes().size() / (static_cast<std::size_t>(count) * size_of(type_)) : 1;
  const std::size_t piece = tensor.bytes().size() / pieces, row = piece / static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < pieces; ++i)
    bytes_->read_at(start_ + (i * static_cast<std::size_t>(all) + static_cast<std::size_t>(first)) * row,
                    tensor.bytes().subspan(i * piece, piece));
  return finished(std::move(tensor), fortran_order_, where_);
}

Tensor NpyFile::values() {
  Tensor tensor = rows(0, shape_.rank() == 0 ? 1 : shape_[0]);
  tensor.reshape(shape_);
  return tensor;
}

Tensor read_npy(const std::filesystem::path& path) { return parse_npy(read_file(path), path.string()); }

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  std::string sizes;
  for (const std::int64_t size : tensor.shape().sizes()) sizes += std::to_string(size) + ", ";
  const auto description =
      std::find_if(descriptions.begin(), descriptions.end(), [&](const auto& entry) { return entry.first == tensor.type(); });
  std::string header = "{'descr': '" + std::string(description->second) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  constexpr std::size_t before = 10, alignment = 64;  // values start at a multiple of 64 bytes, after a newline
  header.append(alignment - 1 - (before + header.size()) % alignment, ' ');
  header += '\n';
  std::string start(magic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  write_file(path, start + header, tensor.bytes());
}

}  // namespace lastbit
