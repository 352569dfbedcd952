// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a lastbit without MPI does where a launcher started several processes: its source is compiled into this test.
#include "support/catch.hpp"
#include "sweep_ranks.hpp"

int lastbit::tool::launched_processes() { return 4; }

TEST_CASE("Without MPI several processes do not all do the same work") {
  CHECK_THROWS_WITH((void)lastbit::tool::sweep_on_ranks({}, {}),
                    lastbit::test::contains_text(
                        "4 processes were started together, but this lastbit was built without MPI (Debian package libopenmpi-dev)"));
}
