// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/error.hpp"
#include "sweep_ranks.hpp"

namespace lastbit::tool {

int sweep_on_ranks(const std::function<SweepWork()>& /*prepare*/, const RanksControl& /*control*/) {
  throw Error(ErrorCode::bad_input, "sweep",
              std::to_string(launched_processes()) +
                  " processes were started together, but this lastbit was built without MPI (Debian package libopenmpi-dev): each would do "
                  "all the work");
}

}  // namespace lastbit::tool
