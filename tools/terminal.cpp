// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "lastbit/printable.hpp"

namespace lastbit::tool {

namespace {

struct ColoredWord {
  std::string_view word, color;
};
constexpr std::string_view red = "31", green = "32", yellow = "33";
constexpr ColoredWord colored_words[]{
    {"equal", green},       {"proven", green},       {"differs", red},    {"different", red},
    {"assumption", yellow}, {"assumptions", yellow}, {"assumed", yellow}, {"?", yellow},
};

/// 0 where it is no terminal, or one that nobody sees: a launcher's, for the processes that it starts.
std::size_t columns_of_terminal(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || static_cast<unsigned char>(c) > 127;
}

}  // namespace

std::string& color_choice() {
  static std::string choice = "auto";
  return choice;
}

bool has_colors(int descriptor) {
  if (color_choice() != "auto") return color_choice() == "always";
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const std::string_view terminal = variable("TERM");
  return columns_of_terminal(descriptor) > 0 && variable("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb";
}

std::string with_colors(const std::string& line) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string::npos || std::string_view("{}[]\"").find(line[start]) != std::string_view::npos) return line;
  std::string result;
  std::string_view before;  // the last word
  for (std::size_t at = 0, end = 0; at < line.size(); at = end) {
    end = at + 1;
    while (is_letter(line[at]) && end < line.size() && is_letter(line[end])) ++end;
    const std::string_view word = std::string_view(line).substr(at, end - at);
    const auto* const known = std::ranges::find(colored_words, word, &ColoredWord::word);
    const bool stands_alone = word != "?" || (at > 0 && (line[at - 1] == ' ' || line[at - 1] == '('));
    if (known == std::end(colored_words) || !stands_alone) {
      result += word;
    } else {
      const bool is_denied = before == "not" || before == "no";
      const std::string_view color = is_denied && known->color == green ? red : is_denied && known->color == red ? green : known->color;
      result.append("\x1b[").append(color).append("m").append(word).append("\x1b[0m");
    }
    if (is_letter(word.front())) before = word;
  }
  return result;
}

HarmlessOutput::~HarmlessOutput() {
  stream_.flush();
  stream_.rdbuf(target_);
}

bool HarmlessOutput::put(const std::string& text) {
  std::string shown = harmless(text);
  if (has_colors(descriptor_)) {
    std::string colored;
    for (std::size_t at = 0, end = 0; at < shown.size(); at = end) {
      end = std::min(shown.find('\n', at), shown.size() - 1) + 1;
      colored += with_colors(shown.substr(at, end - at));
    }
    shown = std::move(colored);
  }
  return target_->sputn(shown.data(), static_cast<std::streamsize>(shown.size())) == static_cast<std::streamsize>(shown.size());
}

bool HarmlessOutput::pass_on() {
  const std::size_t line_end = begun_.rfind('\n');
  const std::size_t end = !has_colors(descriptor_)        ? begun_.size() - unfinished_utf8(begun_)
                          : line_end == std::string::npos ? 0
                                                          : line_end + 1;
  const std::string whole = begun_.substr(0, end);
  begun_.erase(0, end);
  return put(whole);
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

int HarmlessOutput::sync() { return put(std::exchange(begun_, {})) && target_->pubsync() == 0 ? 0 : -1; }

std::size_t terminal_width() {
  constexpr std::size_t elsewhere = 100, least = 60;
  const std::size_t columns = columns_of_terminal(STDOUT_FILENO);
  return columns == 0 ? elsewhere : std::max(columns, least);
}

void keep_standard_output() {
  if (::fcntl(STDOUT_FILENO, F_GETFD) != -1) return;
  const int closed = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // what is written to it fails
  if (closed == -1 || closed == STDOUT_FILENO) return;
  (void)::dup2(closed, STDOUT_FILENO);
  ::close(closed);
}

}  // namespace lastbit::tool
