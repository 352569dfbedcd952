// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is timed: our way to a result, and the peers' ways to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/tensor.hpp"
#include "timing.hpp"

namespace lastbit::bench {

/// What a rate counts; `milliseconds` and `megabytes` are shown as they are, everything else per second, in units of 10^9.
enum class Unit : std::uint8_t { multiply_adds, values, operations, bytes, milliseconds, megabytes };

/// Another way to the same result: another library's, or ours under other options.
struct Peer {
  std::string name;
  std::function<void()> run;
  std::function<Tensor()> output = {};   ///< where its arithmetic is ours, bit for bit; else empty
  std::function<double()> seconds = {};  ///< where it is timed elsewhere: of one run, in place of `run`
  /// A process of its own is measured under these variables, which a library reads once.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// Prepared to be run any number of times.
struct Trial {
  double work = 0;  ///< of one run, in the case's unit; not read for milliseconds
  std::function<void()> run;
  std::function<Tensor()> output;  ///< compared with the scalar path's and with the peers' before anything is timed
  std::vector<Peer> peers = {};
};

/// What bounds a rate (peaks.hpp).
enum class Roof : std::uint8_t { none, byte_dot_product, word_dot_product, cache_copy };

struct Case {
  std::string name;  ///< <section>/<backend>/<types>/<shape>
  Unit unit = Unit::multiply_adds;
  Roof roof = Roof::none;
  std::function<Trial()> prepare;
  Clock clock = Clock::thread;
};

/// Every section appends its cases; preparing them is left to the run, so that a filter costs nothing.
using Cases = std::vector<Case>;
void add_convolutions(Cases& cases);
void add_words(Cases& cases);
void add_steps(Cases& cases);
void add_finishing(Cases& cases);
void add_float16(Cases& cases);
void add_networks(Cases& cases);
void add_observation(Cases& cases);

}  // namespace lastbit::bench
