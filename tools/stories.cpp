// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

namespace lastbit::tool {

const std::vector<Story>& stories() {
  static const std::vector<Story> all{
      {"digits", "a network that reads handwritten digits, on every backend", story_digits},
  };
  return all;
}

}  // namespace lastbit::tool
