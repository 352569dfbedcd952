// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/npz.hpp"

#include <algorithm>
#include <utility>

#include "formats/zip.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

constexpr std::string_view member_ending = ".npy";

}  // namespace

NpzFile::NpzFile(std::filesystem::path path) : path_(std::move(path)) {
  std::vector<ZipMember> members = zip_members(path_);
  std::erase_if(members, [](const ZipMember& member) { return !member.name.ends_with(member_ending); });
  for (const ZipMember& member : members) names_.push_back(member.name.substr(0, member.name.size() - member_ending.size()));
  members_ = std::make_shared<const std::vector<ZipMember>>(std::move(members));
}

NpyFile NpzFile::open(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) throw Error(ErrorCode::malformed_file, path_.string(), "holds no array '" + printable(name) + "'");
  const ZipMember& member = (*members_)[static_cast<std::size_t>(found - names_.begin())];
  return {zip_member_bytes(path_, member), path_.string() + ": " + printable(member.name)};
}

bool is_npz(const std::filesystem::path& path) { return path.extension() == ".npz"; }

Tensor read_array(const std::filesystem::path& path) {
  if (!is_npz(path)) return read_npy(path);
  const NpzFile file(path);
  if (file.names().size() != 1)
    throw Error(ErrorCode::bad_input, path.string(), "holds " + count_of(std::ssize(file.names()), "array") + "; one is needed");
  return file.read(file.names().front());
}

}  // namespace lastbit
