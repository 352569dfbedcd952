// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "memory_option.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"

namespace lastbit::tool {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::bad_input, "--max-memory " + text, "must be a number of bytes above 0, such as 512M or 2G");
}

/// The number behind `name`, or the first of the file where the name is empty.
std::optional<std::size_t> number_in(const std::filesystem::path& file, const std::string& name = {}) {
  std::ifstream lines(file);
  std::string word;
  while (!name.empty() && lines >> word && word != name) {
  }
  std::size_t number = 0;
  return lines >> number ? std::optional(number) : std::nullopt;
}

/// Folders of the process's control group (cgroup v2, or v1's memory controller) and of those around it.
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> folders;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool second = line.starts_with("0::/");
    if (!second && line.find(":memory:/") == std::string::npos) continue;
    const std::filesystem::path top = root / (second ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    std::filesystem::path group = line.substr(line.find(":/") + 2);
    for (; !group.empty(); group = group.parent_path()) folders.push_back(top / group);
    folders.push_back(top);
  }
  return folders;
}

/// What a group's limit leaves; files that are only cached can be given up.
std::optional<std::size_t> free_in(const std::filesystem::path& group) {
  auto limit = number_in(group / "memory.max"), used = number_in(group / "memory.current");
  if (!limit) limit = number_in(group / "memory.limit_in_bytes"), used = number_in(group / "memory.usage_in_bytes");
  if (!limit || !used) return std::nullopt;
  const std::size_t held = *used - std::min(*used, number_in(group / "memory.stat", "inactive_file").value_or(0));
  return *limit - std::min(*limit, held);
}

}  // namespace

std::optional<std::size_t> free_memory(const std::filesystem::path& root) {
  std::ifstream machine(root / "proc/meminfo");
  std::optional<std::size_t> free;
  std::string name, unit;
  std::size_t kibibytes = 0;
  while (machine >> name >> kibibytes) {
    if (name == "MemAvailable:") free = kibibytes * 1024;
    std::getline(machine, unit);
  }
  for (const auto& group : control_groups(root)) {
    if (const auto in_group = free_in(group)) free = std::min(free.value_or(*in_group), *in_group);
  }
  return free;
}

void limit_to_free_memory() {
  if (const auto free = free_memory("/")) set_memory_budget(std::max<std::size_t>(1, *free / 10 * 9));
}

void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that may be asked for
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
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
