// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/verify.hpp"

#include <algorithm>
#include <map>

#include "analysis/verify/case.hpp"
#include "formats/file.hpp"
#include "formats/json.hpp"
#include "lastbit/memory.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

Json read_json(const fs::path& file) {
  Json json = parse_json(read_text_file(file), file.string());
  const bool cases =
      json.is_object() && json.value("format", Json()) == "lastbit.cases.v1" && json.contains("cases") && json["cases"].is_array();
  if (!cases) throw Error(ErrorCode::malformed_file, file.string(), "not a case file of format lastbit.cases.v1");
  return json;
}

void verify_file(const fs::path& file, const Json& json, const VerifyOptions& options, VerifyReport& report, KeptCases* kept) {
  for (const Json& one : json["cases"]) {
    if (report.failures.size() >= options.stop_after) return;
    CaseFailure result;
    try {
      result = run_case(one, file.parent_path(), options, report.tensors, kept);
    } catch (const MemoryRefused&) {
      throw;  // the machine's limit is no failure of the case
    } catch (const Error& error) {
      result.reason = error.what();
    } catch (const Json::exception& error) {
      result.reason = std::string("malformed case: ") + error.what();
    }
    report.values += result.values;
    result.file = file.string();
    if (one.is_object() && one.contains("name") && one["name"].is_string()) result.name = one["name"].get<std::string>();
    if (result.differing == 0 && result.reason.empty()) {
      ++report.passed;
      report.within += result.within ? 1 : 0;
      report.passes.push_back({result.file, result.name, !result.within});
      continue;
    }
    report.failures.push_back(std::move(result));
  }
}

std::vector<fs::path> case_files(const fs::path& directory) {
  std::vector<fs::path> files;
  if (fs::is_regular_file(directory)) files.push_back(directory);
  else if (!fs::is_directory(directory)) throw Error(ErrorCode::unreadable_file, directory.string(), "no such folder");
  else {
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.path().filename() == "cases.json") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void announce(const fs::path& file, const VerifyOptions& options) {
  if (options.on_file) options.on_file(file.string());
}

}  // namespace

struct RecordedCases::Files {
  std::map<fs::path, Json> cases;
  KeptCases kept;
};

RecordedCases::RecordedCases(const fs::path& directory) : files_(std::make_unique<Files>()) {
  for (const auto& file : case_files(directory)) files_->cases.emplace(file, read_json(file));
}
RecordedCases::RecordedCases(RecordedCases&& other) noexcept = default;
RecordedCases& RecordedCases::operator=(RecordedCases&& other) noexcept = default;
RecordedCases::~RecordedCases() = default;

VerifyReport RecordedCases::verify(const VerifyOptions& options) {
  VerifyReport report;
  for (const auto& [file, json] : files_->cases) {
    announce(file, options);
    verify_file(file, json, options, report, &files_->kept);
  }
  return report;
}

VerifyReport verify(const fs::path& directory, const VerifyOptions& options) {
  VerifyReport report;
  for (const auto& file : case_files(directory)) {
    announce(file, options);
    verify_file(file, read_json(file), options, report, nullptr);
  }
  return report;
}

}  // namespace lastbit
