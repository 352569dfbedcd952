// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

#include "lastbit/error.hpp"

namespace lastbit::fuzz {

/// Lets `read` end well or with an Error whose message is one line; everything else is a finding.
template <class Read>
int expect_value_or_error(Read read) {
  try {
    read();
  } catch (const Error& error) {
    for (const char character : std::string_view(error.what()))
      if (static_cast<unsigned char>(character) < 0x20) std::abort();
  }
  return 0;
}

}  // namespace lastbit::fuzz
