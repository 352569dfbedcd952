// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/image.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include "formats/file.hpp"
#include "formats/image_decoders.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

enum class Kind { png, jpeg, netpbm };

constexpr std::int64_t most_bytes = 1 << 28;  // of pixels: 9459 by 9459 in colour

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::optional<Kind> kind_of(std::string_view text) {
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return Kind::png;
  if (text.starts_with("\xFF\xD8\xFF")) return Kind::jpeg;
  const bool is_netpbm = text.size() > 2 && text[0] == 'P' && (text[1] == '2' || text[1] == '3' || text[1] == '5' || text[1] == '6');
  return is_netpbm ? std::optional(Kind::netpbm) : std::nullopt;
}

[[noreturn]] void refuse_image(std::string_view where, const std::string& reason) {
  throw Error(ErrorCode::malformed_file, std::string(where), reason);
}

std::int64_t big_endian(std::string_view text, std::size_t at, std::size_t width) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value = value * 256 + static_cast<unsigned char>(text[at + i]);
  return value;
}

/// The chunk IHDR, which comes first: width, height, bits, kind of colour.
std::optional<ImageHeader> png_header(std::string_view text, std::string_view where) {
  if (text.size() < 26) return std::nullopt;
  if (text.substr(12, 4) != "IHDR") refuse_image(where, "a PNG without a header");
  if (text[24] == 16) refuse_image(where, "16 bits a channel; images of 8 are read");
  const char color = text[25];
  return ImageHeader{{big_endian(text, 16, 4), big_endian(text, 20, 4)}, color == 0 || color == 4 ? 1 : 3};
}

/// The first segment "start of frame": bits, height, width, components.
std::optional<ImageHeader> jpeg_header(std::string_view text, std::string_view where) {
  for (std::size_t at = 2; at + 4 <= text.size();) {
    if (text[at] != '\xFF') {  // some bytes between segments
      ++at;
      continue;
    }
    const auto marker = static_cast<unsigned char>(text[at + 1]);
    const bool is_alone = marker == 0 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (marker == 0xFF || is_alone) {
      at += marker == 0xFF ? 1 : 2;
      continue;
    }
    if (marker == 0xD9 || marker == 0xDA) refuse_image(where, "a JPEG without a size");
    const bool is_frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (!is_frame) {
      at += 2 + static_cast<std::size_t>(big_endian(text, at + 2, 2));
      continue;
    }
    if (at + 10 > text.size()) return std::nullopt;
    if (text[at + 4] != 8) refuse_image(where, std::to_string(big_endian(text, at + 4, 1)) + " bits a channel; images of 8 are read");
    const std::int64_t channels = big_endian(text, at + 9, 1);
    if (channels != 1 && channels != 3)
      refuse_image(where, "a JPEG of " + std::to_string(channels) + " colours; gray and colour (3) are read");
    return ImageHeader{{big_endian(text, at + 7, 2), big_endian(text, at + 5, 2)}, channels};
  }
  return std::nullopt;
}

/// The numbers of a PGM or PPM: between white space, and comments from '#' to the end of the line.
class NetpbmText {
 public:
  NetpbmText(std::string_view text, std::string_view where) : text_(text), where_(where) {}
  std::optional<std::int64_t> number() {
    while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '#')) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      else ++at_;
    }
    if (at_ == text_.size()) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0) refuse_image(where_, "holds '" + printable(text_.substr(at_, 8)) + "' where a number is needed");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool has_more_space() const { return at_ < text_.size() && is_space(text_[at_]); }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 2;
};

struct NetpbmHeader {
  ImageHeader image;
  std::size_t start = 0;  ///< where the values begin
};

std::optional<NetpbmHeader> netpbm_header(std::string_view text, std::string_view where) {
  NetpbmText numbers(text, where);
  const auto width = numbers.number(), height = numbers.number(), largest = numbers.number();
  if (!width || !height || !largest || !numbers.has_more_space()) return std::nullopt;
  if (*largest != 255) refuse_image(where, "values up to " + std::to_string(*largest) + "; images of 0 … 255 are read");
  return NetpbmHeader{{{*width, *height}, text[1] == '2' || text[1] == '5' ? 1 : 3}, numbers.at() + 1};
}

/// None: the bytes end before it does.
std::optional<ImageHeader> header_in(std::span<const std::byte> bytes, std::string_view where) {
  const std::string_view text = text_of(bytes);
  const auto kind = kind_of(text);
  if (!kind) refuse_image(where, "no image: neither PNG, JPEG, PGM nor PPM");
  std::optional<ImageHeader> header;
  if (*kind == Kind::png) header = png_header(text, where);
  else if (*kind == Kind::jpeg) header = jpeg_header(text, where);
  else if (const auto found = netpbm_header(text, where)) header = found->image;
  if (!header) return header;
  const ImageSize size = header->size;
  if (size.width < 1 || size.height < 1) refuse_image(where, "an image of " + size.text());
  if (size.width > most_bytes || size.height > most_bytes || size.width * size.height > most_bytes / header->channels)
    refuse_image(where, "an image of " + size.text() + "; more than " + std::to_string(most_bytes) + " bytes of pixels are not read");
  return header;
}

std::string decode_netpbm(std::string_view text, const ImageHeader& header, std::string_view where, std::vector<std::uint8_t>& pixels) {
  const std::size_t start = netpbm_header(text, where)->start;
  if (text[1] == '5' || text[1] == '6') {
    const std::size_t found = text.size() - start;
    if (found != pixels.size()) return std::to_string(found) + " bytes of pixels; the header promises " + std::to_string(pixels.size());
    std::memcpy(pixels.data(), text.data() + start, pixels.size());
    return {};
  }
  NetpbmText numbers(text, where);
  for (int i = 0; i < 3; ++i) static_cast<void>(numbers.number());
  for (std::uint8_t& pixel : pixels) {
    const auto value = numbers.number();
    if (!value) return "the file ends early";
    if (*value > 255) return "holds " + std::to_string(*value) + "; 255 is the largest value";
    pixel = static_cast<std::uint8_t>(*value);
  }
  if (numbers.number()) return "holds more values than " + header.size.text() + " pixels";
  return {};
}

}  // namespace

ImageHeader parse_image_header(std::span<const std::byte> bytes, std::string_view where) {
  const auto header = header_in(bytes, where);
  if (!header) refuse_image(where, "the image ends within its header");
  return *header;
}

Image parse_image(std::span<const std::byte> bytes, std::string_view where) {
  const ImageHeader header = parse_image_header(bytes, where);
  const Kind kind = *kind_of(text_of(bytes));
  const auto count = static_cast<std::size_t>(header.size.width * header.size.height * header.channels);
  constexpr std::size_t most_per_byte = 1032;  // what deflate makes of a byte; a plain value has a byte of its own
  const std::size_t least = kind == Kind::png ? count / most_per_byte / 8 : kind == Kind::netpbm ? count : 0;  // PNG: gray of 1 bit
  if (bytes.size() < least)
    refuse_image(where, "cut off: " + std::to_string(bytes.size()) + " bytes cannot hold " + header.size.text() + " pixels");
  Image image{header, std::vector<std::uint8_t>(count)};
  std::string reason;
  if (kind == Kind::png) reason = decode_png(bytes, header, image.pixels);
  else if (kind == Kind::jpeg) reason = decode_jpeg(bytes, header, image.pixels);
  else reason = decode_netpbm(text_of(bytes), header, where, image.pixels);
  if (!reason.empty()) refuse_image(where, "the image is damaged: " + printable(reason));
  return image;
}

Image read_image(const std::filesystem::path& path) { return parse_image(read_file(path), path.string()); }

ImageHeader read_image_header(const std::filesystem::path& path) {
  constexpr std::uint64_t mostly_enough = 1 << 18;  // a JPEG may have other data in front
  const std::unique_ptr<ByteSource> file = file_bytes(path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(file->size(), mostly_enough)));
  file->read_at(0, bytes);
  if (bytes.size() < file->size() && !header_in(bytes, path.string())) bytes = read_file(path);
  return parse_image_header(bytes, path.string());
}

}  // namespace lastbit
