// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Standard output and error hold names, paths and texts of files that strangers made.
#pragma once

#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>

namespace lastbit::tool {

/// auto: where a stream is a terminal that has colours, and NO_COLOR is not set; always; never.
[[nodiscard]] std::string& color_choice();
/// By that, of STDOUT_FILENO or STDERR_FILENO.
[[nodiscard]] bool has_colors(int descriptor);
/// Words of verdicts in colour: what is equal or proven, what differs, what is assumed. Lines of JSON stay as they are.
[[nodiscard]] std::string with_colors(const std::string& line);

/// While it lives, what is written to a stream arrives as harmless() makes it, whole UTF-8 sequences at a time. In JSON, that is the same text.
/// Where it has colours, whole lines arrive, with_colors().
class HarmlessOutput final : private std::streambuf {
 public:
  explicit HarmlessOutput(std::ostream& stream, int descriptor = -1)
      : stream_(stream), target_(stream.rdbuf(this)), descriptor_(descriptor) {}
  ~HarmlessOutput() override;
  HarmlessOutput(const HarmlessOutput&) = delete;
  HarmlessOutput& operator=(const HarmlessOutput&) = delete;

 private:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool pass_on();
  bool put(const std::string& text);

  std::ostream& stream_;
  std::streambuf* target_;
  int descriptor_;
  std::string begun_;  ///< not passed on yet: the beginning of a sequence, or of a line
};

/// How many characters a line of standard output has: on a terminal what that has, but not fewer than 60, elsewhere 100.
[[nodiscard]] std::size_t terminal_width();

/// Whoever closed standard output is told so by what cannot be written, and no file that is opened later takes its place.
void keep_standard_output();

}  // namespace lastbit::tool
