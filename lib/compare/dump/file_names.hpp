// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which file of a dump is which tensor, and what its name says besides.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/dump.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// Letters in lower case and digits; every run of other characters is one '_'. Boards and scripts replace what file names cannot hold.
[[nodiscard]] std::string canonical(std::string_view name);

struct DumpFile {
  std::filesystem::path path;
  std::string member{};               ///< of a .npz: the array
  std::optional<Shape> shape{};       ///< that its name tells
  std::optional<ElementType> type{};  ///< likewise
  std::string layout{};               ///< that its name, or the tool that names files so, tells
  std::string tool{};                 ///< whose names are like this; empty: nobody's
};

struct MatchedFiles {
  std::map<std::int32_t, DumpFile> by_tensor;
  std::vector<std::string> unfit;  ///< names of files that are no tensor's
  std::vector<DumpFile> open{};    ///< the same files, with what their names tell besides
};

/// Of a folder, or of a .npz, whose arrays count as files, as do those of every .npz in a folder.
/// Throws Error(unreadable_file | malformed_file | bad_input): the folder, two files for one tensor, a name of `names` that no file or tensor has.
[[nodiscard]] MatchedFiles match_files(const std::filesystem::path& folder, const Model& model, const DumpOptions& options);

}  // namespace lastbit
