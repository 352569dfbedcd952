// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/registry.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>

#include "devices/vendors.hpp"
#include "lastbit/chips.hpp"
#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/runtimes.hpp"

namespace lastbit {

#define LASTBIT_VENDOR(name) std::span<const SheetRow> name##_sheets();
#include "vendors.inc"
#undef LASTBIT_VENDOR

namespace {

std::vector<SpecSheet> collect() {
  std::vector<SpecSheet> all;
  for (const Vendor& vendor : vendors())
    for (const SheetRow& row : vendor.sheets()) all.push_back(spec_sheet(row));
  all.shrink_to_fit();
  return all;
}

/// A backend file of this size would state every rule a thousand times.
constexpr std::streamoff largest_file = std::streamoff{16} << 20;

SpecSheet read_backend_file(const std::string& file) {
  if (std::error_code error; std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    throw Error(ErrorCode::unreadable_file, file, "not a regular file");  // a pipe is refused, not waited for
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff{stream.tellg()} : -1;
  if (size < 0) throw Error(ErrorCode::unreadable_file, file, "cannot be read");
  if (size > largest_file) throw Error(ErrorCode::malformed_file, file, "a backend file has at most 16 MiB");
  stream.seekg(0);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  SpecSheet sheet = backend_from_json(text, file);
  std::vector<Diagnostic> off = chains_off_their_ratios(sheet.backend);
  for (Diagnostic& each : off) each.where = file + ": " + each.where;
  if (!off.empty()) throw Error(std::move(off));
  return sheet;
}

/// Those that have been asked for: all of them together are no small part of what a small network needs.
const SpecSheet* builtin(std::string_view name) {
  static std::mutex finding;
  static std::map<std::string, SpecSheet, std::less<>> known;
  const std::scoped_lock lock(finding);
  if (const auto found = known.find(name); found != known.end()) return &found->second;
  for (const Vendor& vendor : vendors())
    for (const SheetRow& row : vendor.sheets())
      if (row.name == name) return &known.emplace(name, spec_sheet(row)).first->second;
  return nullptr;
}

/// Of a name that is no backend's and no one chip's.
[[noreturn]] void refuse(std::string_view name, const Chip* chip) {
  if (chip != nullptr)
    throw Error(ErrorCode::unknown_backend, "",
                chip_line(*chip) + (chip->backends.empty() ? "; docs/own-device.md: how to write one" : ": name one of them"));
  std::vector<std::string_view> known;
  for (const Vendor& vendor : vendors())
    for (const SheetRow& row : vendor.sheets()) known.push_back(row.name);
  for (const Chip& each : chips()) known.push_back(each.name);
  std::string text = "unknown backend '" + std::string(name) + "'" + did_you_mean(name, known);
  if (is_runtime(name)) text += "; it is a runtime: lastbit backends --for " + std::string(name) + " says which backend computes it where";
  throw Error(ErrorCode::unknown_backend, "", text + "; lastbit backends lists them, and a file's name ends in .json");
}

}  // namespace

std::span<const Vendor> vendors() {
#define LASTBIT_VENDOR(name) {#name, name##_sheets},
  static constexpr Vendor all[]{
#include "vendors.inc"
  };
#undef LASTBIT_VENDOR
  return all;
}

const std::vector<SpecSheet>& builtin_backends() {
  static const std::vector<SpecSheet> all = collect();
  return all;
}

SpecSheet find_backend(std::string_view name_or_file) {
  if (name_or_file.ends_with(".json")) return read_backend_file(std::string(name_or_file));
  if (const SpecSheet* sheet = builtin(name_or_file)) return *sheet;
  const Chip* chip = find_chip(name_or_file);
  if (chip == nullptr || chip->backends.size() != 1) refuse(name_or_file, chip);
  return *builtin(chip->backends[0]);
}

SpecSheet backend_from_json(std::string_view text, std::string_view where) { return backend_from_json(text, where, find_backend); }

}  // namespace lastbit
