// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rules of an operation as formulas for a human reader.
#pragma once

#include <string>
#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

/// An operation of a backend: "conv.i8", "add", with its formula, line by line. Absent ones are not listed.
struct OperationFormula {
  std::string operation;
  std::vector<std::string> lines;
};
[[nodiscard]] std::vector<OperationFormula> formulas_of(const Backend& backend);

/// Those of operations on float16 tensors, behind what is listed.
void add_formulas(std::vector<OperationFormula>& list, const std::string& name, const Float16Arithmetic& rule);

}  // namespace lastbit
