// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/printable.hpp"

#include "support/catch.hpp"

using namespace lastbit;

TEST_CASE("harmless text shows what a terminal would obey, and leaves every other character") {
  CHECK(harmless("conv 3x3\tü 層 𝛼\n") == "conv 3x3\tü 層 𝛼\n");
  CHECK(harmless("\x1b[2J\a\r\x7f") == "\\u001b[2J\\u0007\\u000d\\u007f");
  CHECK(harmless(std::string_view("a\0b", 3)) == "a\\u0000b");
  CHECK(harmless("\u0080\u009b31m\u009f\u00a0") == "\\u0080\\u009b31m\\u009f\u00a0");
  CHECK(harmless("\u202egnp.\u2066\u2069\u200e\u200f\u061c") == "\\u202egnp.\\u2066\\u2069\\u200e\\u200f\\u061c");
  CHECK(harmless("\u2029\u202a\u202f\u2065\u206a\u200d\u2010") == "\u2029\\u202a\u202f\u2065\u206a\u200d\u2010");  // neighbours
}

TEST_CASE("a byte that is not UTF-8 is shown as one") {
  CHECK(harmless("\x9b"
                 "31m") == "\\x9b31m");
  CHECK(harmless("\xc3") == "\\xc3");
  CHECK(harmless("\xc0\x9b") == "\\xc0\\x9b");                    // an overlong ESC
  CHECK(harmless("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(harmless("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
}

TEST_CASE("the beginning of a text never ends inside a character") {
  CHECK(beginning("", 3).empty());
  CHECK(beginning("abc", 3) == "abc");
  CHECK(beginning("abcd", 3) == "abc");
  CHECK(beginning("aüb", 1) == "a");
  CHECK(beginning("aüb", 2) == "a");
  CHECK(beginning("aüb", 3) == "aü");
  CHECK(beginning("層層", 5) == "層");
  CHECK(beginning("𝛼𝛼", 7) == "𝛼");
  CHECK(beginning("a\xc3", 2) == "a\xc3");  // nothing is cut
  CHECK(beginning("a\x80\x80\x80\x80", 3) == "a\x80\x80");
}

TEST_CASE("the beginning of a sequence at the end of a text") {
  CHECK(unfinished_utf8("") == 0);
  CHECK(unfinished_utf8("a") == 0);
  CHECK(unfinished_utf8("ü") == 0);
  CHECK(unfinished_utf8("a\xc3") == 1);
  CHECK(unfinished_utf8("a\xe5\xb1") == 2);
  CHECK(unfinished_utf8("\xf0\x9d\x9b") == 3);
  CHECK(unfinished_utf8("\xf0\x9d\x9b\xbc") == 0);
  CHECK(unfinished_utf8("\x80\x80\x80\x80") == 0);
}
