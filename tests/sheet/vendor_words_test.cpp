// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/vendor_words.hpp"

#include <algorithm>

#include "formats/file.hpp"
#include "lastbit/arith/rounding.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;

TEST_CASE("a vendor's word names roundings of ours, and stands in the glossary") {
  const std::string glossary = read_text_file(test::source_directory() / "docs/glossary.md");
  for (const VendorWord& one : vendor_words()) {
    INFO(one.word);
    CHECK(glossary.find(one.word) != std::string::npos);
    std::string_view ours = one.ours;
    for (std::size_t comma = 0; comma != std::string_view::npos; ours = comma == ours.npos ? ours : ours.substr(comma + 2)) {
      comma = ours.find(", ");
      CHECK(std::ranges::count(names_of(Rounding{}), ours.substr(0, comma)) == 1);
    }
  }
}

TEST_CASE("a word is found in any case, with everyone who uses it; a rounding of ours with every word that means it") {
  CHECK(describe_word("TRUNCATE") == "TRUNCATE (Ethos-U): toward_zero\n");
  CHECK(describe_word("truncate") == describe_word("TRUNCATE"));
  const std::string simple = describe_word("SIMPLE");
  CHECK(simple == "SIMPLE (VIPNano V8): half_away\nSIMPLE (VIPNano V7): half_up\n");
  for (const char* word : {"TFL", "NATURAL", "AC_RND_INF", "RTNE", "DPU_ROUND", "CVT_ROUND", "SINGLE_ROUND", "DOUBLE_ROUND"}) {
    INFO(word);
    CHECK(describe_word(word).find(word) == 0);
  }
  const std::string away = describe_word("half_away");
  for (const char* word : {"TFL", "AC_RND_INF", "CVT_ROUND", "CAST_ROUND"}) CHECK(away.find(word) != std::string::npos);
  CHECK(describe_word("half").empty());
  CHECK(describe_word("").empty());
}
