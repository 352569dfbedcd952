// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tables of the commands that print plain columns.
#include "columns.hpp"

#include "support/catch.hpp"

using lastbit::tool::in_columns;

TEST_CASE("a column is as wide as its widest text, and the last is not filled up") {
  CHECK(in_columns({{"rule", "a", "b"}, {"conv.i8", "a long value", "-"}, {"x", "-", "floor"}}) ==
        "rule     a             b\n"
        "conv.i8  a long value  -\n"
        "x        -             floor\n");
}

TEST_CASE("a column counts characters, and rows may end early") {
  CHECK(in_columns({{"größe", "1"}, {"a"}, {"abcdef", "2"}}) == "größe   1\na\nabcdef  2\n");
  CHECK(in_columns({}).empty());
}
