// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Catch2, version 2 or 3, whichever is installed; and what the two spell differently.
#pragma once

#include <string>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>

using Catch::Approx;  // version 2 does so itself

namespace lastbit::test {
/// Matches a string that contains `text`: CHECK_THROWS_WITH(read(file), contains_text("offset 12")).
inline auto contains_text(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
}  // namespace lastbit::test
#else
#include <catch2/catch.hpp>

namespace lastbit::test {
inline auto contains_text(const std::string& text) { return Catch::Matchers::Contains(text); }
}  // namespace lastbit::test
#endif
