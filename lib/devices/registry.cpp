// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>

#include "devices/sheets.hpp"
#include "lastbit/error.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

std::vector<SpecSheet> collect() {
  std::vector<SpecSheet> all;
  for (auto* sheets_of : {tflite_sheets, xnnpack_sheets, onnxruntime_sheets, vipnano_sheets, n2d2_sheets, ascend_sheets, bernoulli2_sheets,
                          gna_sheets, golden_sheets}) {
    for (SpecSheet& sheet : sheets_of()) all.push_back(std::move(sheet));
  }
  return all;
}

/// A backend file of this size would state every rule a thousand times.
constexpr std::streamoff largest_file = std::streamoff{16} << 20;

SpecSheet read_backend_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff{stream.tellg()} : -1;
  if (size < 0) throw Error(ErrorCode::unreadable_file, file, "cannot be read");
  if (size > largest_file) throw Error(ErrorCode::malformed_file, file, "a backend file has at most 16 MiB");
  stream.seekg(0);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return backend_from_json(text, file);
}

}  // namespace

const std::vector<SpecSheet>& builtin_backends() {
  static const std::vector<SpecSheet> all = collect();
  return all;
}

SpecSheet find_backend(std::string_view name_or_file) {
  if (name_or_file.ends_with(".json")) return read_backend_file(std::string(name_or_file));
  std::string known;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.name == name_or_file) return sheet;
    known += (known.empty() ? "" : ", ") + sheet.name;
  }
  throw Error(ErrorCode::unknown_backend, "",
              "unknown backend '" + std::string(name_or_file) + "'; known: " + known + ", or a file whose name ends in .json");
}

}  // namespace lastbit
