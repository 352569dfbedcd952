// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Results as JUnit's XML, which CI systems show.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lastbit {

/// One test case of JUnit.
struct JunitCase {
  std::string group;    ///< the model, the file of cases
  std::string name;     ///< the tensor, the case
  std::string failure;  ///< empty: it passed
};

/// Well formed whatever the texts hold: what XML cannot say is written as printable.hpp's harmless() does.
[[nodiscard]] std::string junit_text(std::string_view suite, std::span<const JunitCase> cases);

}  // namespace lastbit
