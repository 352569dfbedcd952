// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every recorded case below tests/vectors, on the backend it names: every value equal. A new folder needs no line here.
#include "engine/output_lines.hpp"
#include "lastbit/verify.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

void check_all() {
  const auto report = lastbit::verify(lastbit::test::source_directory() / "tests/vectors");
  for (const auto& failure : report.failures) {
    UNSCOPED_INFO(failure.file << " " << failure.name << " " << failure.tensor << "[" << failure.index << "] expected " << failure.expected
                               << ", got " << failure.got << " " << failure.reason);
  }
  CHECK(report.failures.empty());
  CHECK(report.passed > 1300);
  CHECK(report.values > 500000);
}

}  // namespace

TEST_CASE("every recorded value is computed exactly") { check_all(); }

TEST_CASE("and where outputs of bytes are made between lines, as those of large layers are") {
  const lastbit::ScopedEagerLines eager;
  check_all();
}

TEST_CASE("the recorded cases hold as well when every sum is computed step by step") {
  // An accumulator that reports overflow instead of wrapping takes no fast route and still gives the recorded values where none overflows.
  lastbit::VerifyOptions options;
  std::size_t adjusted = 0;
  options.adjust = [&](lastbit::SpecSheet& sheet) {
    sheet.backend.fully_connected.i8.sum.accumulator.overflow = lastbit::Overflow::exact;
    ++adjusted;
  };
  const auto report = lastbit::verify(lastbit::test::source_directory() / "tests/vectors/tflite/fully_connected", options);
  CHECK(report.failures.empty());
  CHECK(adjusted > 90);
}
