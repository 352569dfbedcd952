// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "memory_option.hpp"

#include <charconv>
#include <fstream>
#include <string_view>

#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"

namespace lastbit::tool {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::bad_input, "--max-memory " + text, "must be a number of bytes above 0, such as 512M or 2G");
}

}  // namespace

void limit_to_free_memory() {
  std::ifstream machine("/proc/meminfo");
  std::string name, unit;
  std::size_t kibibytes = 0;
  while (machine >> name >> kibibytes) {
    if (name == "MemAvailable:") set_memory_budget(kibibytes * 1024 / 10 * 9);
    std::getline(machine, unit);
  }
}

std::size_t bytes_from(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0)) refuse(text);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const std::string_view suffix : {"iB", "B"}) {
    if (!unit.ends_with(suffix)) continue;
    unit.remove_suffix(suffix.size());
    break;
  }
  constexpr std::string_view units = "KMGT";
  if (unit.size() > 1 || (unit.size() == 1 && units.find(unit[0]) == std::string_view::npos)) refuse(text);
  if (!unit.empty())
    for (std::size_t i = 0; i <= units.find(unit[0]); ++i) number *= 1024;
  if (number < 1 || number > 0x1p62) refuse(text);
  return static_cast<std::size_t>(number);
}

void add_memory_option(Command& command) {
  command
      .option(
          "--max-memory", [](const std::string& text) { set_memory_budget(bytes_from(text)); },
          "refuse a run that needs more memory than this, before it begins; by default what the machine has free, less a tenth")
      .value_name("BYTES[K|M|G]");
}

}  // namespace lastbit::tool
