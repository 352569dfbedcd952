// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "mutant.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

unsigned char lastbit_mutant_reached[512];
int lastbit_mutant_chosen = 0;

namespace {

/// Before anything that is initialised at run time, which may compute.
[[gnu::constructor(101)]] void choose() {
  if (const char* const number = std::getenv("LASTBIT_MUTANT")) lastbit_mutant_chosen = std::atoi(number);
}

/// A process may be one of several of a test: each adds its lines.
[[gnu::destructor]] void tell() {
  const char* const log = std::getenv("LASTBIT_MUTANT_LOG");
  const int file = log == nullptr ? -1 : ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  for (int number = 0; file >= 0 && number < 512; ++number)
    if (lastbit_mutant_reached[number] != 0) ::dprintf(file, "%d\n", number);
  if (file >= 0) ::close(file);
}

}  // namespace
