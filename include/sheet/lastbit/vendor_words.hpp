// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What vendors call their ways of rounding, and what the words mean in ours. docs/glossary.md has them all, and whose they are; these are the ones
// that stand in vendors' registers, options and sources.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lastbit {

/// A vendor's word for a way of rounding.
struct VendorWord {
  std::string_view word;
  std::string_view whose;
  std::string_view ours;     ///< a rounding, or two of them with a comma
  std::string_view meaning;  ///< where the word says more
};

[[nodiscard]] std::span<const VendorWord> vendor_words();

/// One line for each vendor that uses the word, in any case; of a rounding of ours, for each word that means it. Empty: nobody does.
[[nodiscard]] std::string describe_word(std::string_view word);

}  // namespace lastbit
