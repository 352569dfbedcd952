// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Recorded cases against a backend: equality of every value (docs/case-format.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"

namespace lastbit {

/// The first value that differs, or why the case could not be computed.
struct CaseFailure {
  std::string file;  ///< the cases.json
  std::string name;  ///< of the case
  std::string backend;
  std::string tensor;  ///< empty: the case could not be computed, and `reason` says why
  std::int64_t index = 0;
  std::string expected;
  std::string got;
  std::int64_t differing = 0;  ///< values that differ
  bool within = false;         ///< a tensor differs as is_within allows; counted as equal
  std::int64_t values = 0;     ///< values compared
  std::string reason;
};

/// A case without failure.
struct CasePass {
  std::string file;
  std::string name;
  bool equal = true;  ///< else a tensor differs, within VerifyOptions::is_within
};

/// Recorded cases computed on a backend: how many are equal, and which are not.
struct VerifyReport {
  std::int64_t passed = 0;
  std::int64_t within = 0;  ///< of them, cases that are not equal
  std::vector<CasePass> passes{};
  std::int64_t values = 0;          ///< compared and equal or not
  std::set<std::string> tensors{};  ///< the names of those that model cases compare
  std::vector<CaseFailure> failures;
};

/// For verify().
struct VerifyOptions {
  std::optional<Device> backend;  ///< instead of the one each case names
  /// Whether a tensor that differs is let pass.
  std::function<bool(const std::string& tensor, const TensorDifference& difference)> is_within{};
  std::function<void(SpecSheet&)> adjust;                            ///< applied after a case's own settings
  std::function<void(const std::string& file)> on_file;              ///< called before each cases.json
  std::size_t stop_after = std::numeric_limits<std::size_t>::max();  ///< failures
};

/// Case files that are read once and asked of many devices; models and tensors are kept from the first time a case is computed. One thread at a time.
class RecordedCases {
 public:
  /// Every cases.json below `directory`, or the one file given. Throws Error(unreadable_file | malformed_file) for a file that is no case file.
  explicit RecordedCases(const std::filesystem::path& directory);
  RecordedCases(RecordedCases&& other) noexcept;
  RecordedCases& operator=(RecordedCases&& other) noexcept;
  ~RecordedCases();

  /// A case that cannot be computed is a failure.
  [[nodiscard]] VerifyReport verify(const VerifyOptions& options = {});

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

/// The same, each file read when its turn has come and nothing kept: what is malformed is found after the files before it.
[[nodiscard]] VerifyReport verify(const std::filesystem::path& directory, const VerifyOptions& options = {});

}  // namespace lastbit
