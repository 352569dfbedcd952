// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lastbit/printable.hpp"

namespace lastbit::tool {

HarmlessOutput::~HarmlessOutput() {
  stream_.flush();
  stream_.rdbuf(target_);
}

bool HarmlessOutput::pass_on() {
  const std::size_t kept = unfinished_utf8(begun_);
  const std::string whole = harmless(std::string_view(begun_).substr(0, begun_.size() - kept));
  begun_.erase(0, begun_.size() - kept);
  return target_->sputn(whole.data(), static_cast<std::streamsize>(whole.size())) == static_cast<std::streamsize>(whole.size());
}

HarmlessOutput::int_type HarmlessOutput::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  begun_ += traits_type::to_char_type(character);
  return pass_on() ? character : traits_type::eof();
}

std::streamsize HarmlessOutput::xsputn(const char* text, std::streamsize size) {
  begun_.append(text, static_cast<std::size_t>(size));
  return pass_on() ? size : 0;
}

int HarmlessOutput::sync() {
  const std::string rest = harmless(std::exchange(begun_, {}));
  const bool written = target_->sputn(rest.data(), static_cast<std::streamsize>(rest.size())) == static_cast<std::streamsize>(rest.size());
  return written && target_->pubsync() == 0 ? 0 : -1;
}

std::size_t terminal_width() {
  constexpr std::size_t elsewhere = 100, least = 60;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return elsewhere;
  return std::max<std::size_t>(size.ws_col, least);
}

void keep_standard_output() {
  if (::fcntl(STDOUT_FILENO, F_GETFD) != -1) return;
  const int closed = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // what is written to it fails
  if (closed == -1 || closed == STDOUT_FILENO) return;
  (void)::dup2(closed, STDOUT_FILENO);
  ::close(closed);
}

}  // namespace lastbit::tool
