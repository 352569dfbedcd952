// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One recorded case: its model or primitive, computed and compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/verify/primitive.hpp"
#include "formats/json.hpp"
#include "lastbit/model.hpp"
#include "lastbit/verify.hpp"

namespace lastbit {

/// What a case of a model names, read.
struct ModelCase {
  Model model;
  std::vector<Tensor> inputs;
  std::map<std::int32_t, Tensor> expected;  ///< by tensor index
};
/// The same of a primitive.
struct PrimitiveCase {
  NamedTensors inputs, expected;
};

/// A case of a model with the device that it names, changed as its settings say.
struct RecordedModel {
  SpecSheet sheet;
  bool changed = false;  ///< by settings
  ModelCase read;
};
/// Nothing where the case is of a primitive. Throws as run_case.
[[nodiscard]] std::optional<RecordedModel> recorded_model(const Json& json, const std::filesystem::path& folder);

/// What has been read, by the case. Where nothing is kept there is no such store.
struct KeptCases {
  std::map<const Json*, std::shared_ptr<const ModelCase>> models;
  std::map<const Json*, std::shared_ptr<const PrimitiveCase>> primitives;
};

/// `folder` is that of the case's file; the names of the tensors that are compared join `tensors`. Throws Error, or Json::exception on a malformed case.
[[nodiscard]] CaseFailure run_case(const Json& json, const std::filesystem::path& folder, const VerifyOptions& options,
                                   std::set<std::string>& tensors, KeptCases* kept);

}  // namespace lastbit
