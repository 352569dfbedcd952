// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the report of each command shows.
#pragma once

#include <optional>

#include "lastbit/advise.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/matrix.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/sweep.hpp"
#include "report/document.hpp"

namespace lastbit::tool {

/// Without a model, as of two traces, there is no picture of the network.
[[nodiscard]] Document document_of(const CompareReport& report, const Model* model);
[[nodiscard]] Document document_of(const ExplainReport& report, const Model& model);
[[nodiscard]] Document document_of(const DumpReport& report, const Model& model);
[[nodiscard]] Document document_of(const Certificate& certificate, const Model& model);
[[nodiscard]] Document document_of(const SweepReport& report);
[[nodiscard]] Document document_of(const Identification& found, const std::optional<Reproduction>& network, const SpecSheet& sheet);
[[nodiscard]] Document document_of(const AdviseReport& report, const Model& model);
[[nodiscard]] Document document_of(const QuantizationReport& report, const std::string& model);
[[nodiscard]] Document document_of(const Matrix& matrix);

}  // namespace lastbit::tool
