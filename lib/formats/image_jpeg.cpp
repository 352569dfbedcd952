// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it

#include <jpeglib.h>
// after jpeglib.h
#include <jerror.h>

#include "formats/image_decoders.hpp"

namespace lastbit {
namespace {

/// libjpeg's state, and why it stopped. The manager comes first: its address is the state's.
struct JpegState {
  jpeg_error_mgr manager{};
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct jpeg{};
  std::jmp_buf place{};
  std::array<char, JMSG_LENGTH_MAX> reason{};
};

[[noreturn]] void stop(j_common_ptr jpeg) {
  auto& state = *reinterpret_cast<JpegState*>(jpeg->err);
  jpeg->err->format_message(jpeg, state.reason.data());
  std::longjmp(state.place, 1);  // NOLINT(cert-err52-cpp): as libjpeg has it
}

/// A warning is an error: what libjpeg guesses behind damage, other readers guess otherwise. But not what damages no pixel.
void judge(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR) stop(jpeg);
}

/// An image of many empty scans would take minutes; others have ten.
void count_scans(j_common_ptr jpeg) {
  constexpr int most_scans = 64;
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= most_scans) return;
  auto& state = *reinterpret_cast<JpegState*>(jpeg->err);
  std::snprintf(state.reason.data(), state.reason.size(), "it has more than %d scans", most_scans);
  std::longjmp(state.place, 1);  // NOLINT(cert-err52-cpp)
}

/// Says why not. An error jumps.
const char* read_pixels(jpeg_decompress_struct& jpeg, const ImageHeader& header, std::uint8_t* pixels) {
  jpeg_read_header(&jpeg, TRUE);
  if (jpeg.image_width != header.size.width || jpeg.image_height != header.size.height) return "it has two sizes";
  if (jpeg.num_components != header.channels) return "it has other channels than its header says";
  jpeg.out_color_space = header.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  const std::size_t row_bytes = static_cast<std::size_t>(header.size.width) * static_cast<std::size_t>(header.channels);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels + jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return nullptr;
}

bool read_or_jump(JpegState& state, std::span<const std::byte> bytes, const ImageHeader& header, std::uint8_t* pixels) {
  if (setjmp(state.place) != 0) return false;  // NOLINT(cert-err52-cpp)
  jpeg_create_decompress(&state.jpeg);
  state.jpeg.progress = &state.progress;
  jpeg_mem_src(&state.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  const char* const reason = read_pixels(state.jpeg, header, pixels);
  if (reason == nullptr) return true;
  std::snprintf(state.reason.data(), state.reason.size(), "%s", reason);
  return false;
}

}  // namespace

std::string decode_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, std::span<std::uint8_t> pixels) {
  JpegState state;
  state.jpeg.err = jpeg_std_error(&state.manager);
  state.manager.error_exit = stop;
  state.manager.emit_message = judge;
  state.progress.progress_monitor = count_scans;
  const bool done = read_or_jump(state, bytes, header, pixels.data());
  jpeg_destroy_decompress(&state.jpeg);
  return done ? std::string() : std::string(state.reason.data());
}

}  // namespace lastbit
