// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A report as one HTML file: nothing is loaded from anywhere, it reads without JavaScript, and with it tables are sorted and layers filtered.
#pragma once

#include <string>
#include <string_view>

#include "report/document.hpp"

namespace lastbit::tool {

/// Text as the content of an element, or of an attribute in double quotes: no character of it is markup, and what is no UTF-8, or would not be
/// shown, is written as in harmless().
[[nodiscard]] std::string escaped(std::string_view text);

/// `#find=TEXT` behind the file's name filters as the field does, `&sort=N` sorts the first table by its column N (from 1; -N: downwards), `&differing`
/// leaves what differs.
[[nodiscard]] std::string html_of(const Document& document);

}  // namespace lastbit::tool
