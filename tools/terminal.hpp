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

/// While it lives, what is written to a stream arrives as harmless() makes it, whole UTF-8 sequences at a time. In JSON, that is the same text.
class HarmlessOutput final : private std::streambuf {
 public:
  explicit HarmlessOutput(std::ostream& stream) : stream_(stream), target_(stream.rdbuf(this)) {}
  ~HarmlessOutput() override;
  HarmlessOutput(const HarmlessOutput&) = delete;
  HarmlessOutput& operator=(const HarmlessOutput&) = delete;

 private:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool pass_on();

  std::ostream& stream_;
  std::streambuf* target_;
  std::string begun_;  ///< not passed on yet: the beginning of a sequence
};

/// How many characters a line of standard output has: on a terminal what that has, but not fewer than 60, elsewhere 100.
[[nodiscard]] std::size_t terminal_width();

/// Whoever closed standard output is told so by what cannot be written, and no file that is opened later takes its place.
void keep_standard_output();

}  // namespace lastbit::tool
