// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lastbit::bench {

/// A program that runs something as often as each line of its standard input says, and answers each line with the seconds of it.
class OtherProcess {
 public:
  /// `variable`: "NAME=VALUE" in its environment, or empty.
  OtherProcess(const std::vector<std::string>& command, const std::string& variable);
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess();

  /// Throws Error where it does not answer.
  [[nodiscard]] double seconds(std::int64_t runs);

 private:
  std::string name_;
  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace lastbit::bench
