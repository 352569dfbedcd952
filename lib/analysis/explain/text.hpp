// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Words that the reports of explain share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lastbit/explain.hpp"

namespace lastbit {

/// "0.08 %"
[[nodiscard]] std::string share_text(std::int64_t part, std::int64_t whole);

/// At most 70 characters of a name.
[[nodiscard]] std::string shortened(const std::string& name);

/// "layer 7, conv2d 'name'", the name cut where the line would become too long.
[[nodiscard]] std::string layer_title(std::size_t number, const std::string& operation, const std::string& name);

/// "What the rules rest on:" and a line for each; nothing for none.
[[nodiscard]] std::string evidence_lines(const std::vector<RuleEvidence>& evidence);

/// What was found of a layer that differs, in lines indented by two: the rules that explain it, the backends that compute it, what was misread.
[[nodiscard]] std::string findings(const DumpVerdict& layer, const DumpReport& report);

}  // namespace lastbit
