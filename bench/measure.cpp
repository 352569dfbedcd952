// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "lastbit/error.hpp"
#include "own_process.hpp"
#include "timing.hpp"

namespace lastbit::bench {
namespace {

std::uint64_t fingerprint(const Tensor& tensor) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::byte byte : tensor.bytes()) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 1099511628211U;
  return hash;
}

void compare(const Case& one, const Trial& trial, std::uint64_t expected) {
  const auto demand = [&](const std::function<Tensor()>& output, const std::string& whose) {
    if (fingerprint(output()) != expected)
      throw std::runtime_error(one.name + ": the output of " + whose + " differs from that of the scalar path");
  };
  demand(trial.output, "lastbit");
  for (const Peer& peer : trial.peers) {
    if (peer.output) demand(peer.output, peer.name);
  }
}

}  // namespace

std::vector<std::optional<std::uint64_t>> scalar_fingerprints(const Cases& cases) {
  struct Message {
    std::uint64_t known, value;
  };
  int ends[2];
  if (pipe(ends) != 0) throw Error(ErrorCode::bad_input, "benchmark", "no pipe to a process for the scalar path");
  const pid_t child = fork();
  if (child == 0) {
    setenv("LASTBIT_PATH", "scalar", 1);
    close(ends[0]);
    for (const Case& one : cases) {
      Message message{};
      try {
        message = {1, fingerprint(one.prepare().output())};
      } catch (const Error& error) {
        std::fprintf(stderr, "%s is left out: %s\n", one.name.c_str(), error.what());
      }
      if (write(ends[1], &message, sizeof message) != static_cast<ssize_t>(sizeof message)) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<std::optional<std::uint64_t>> values;
  for (Message message{}; read(ends[0], &message, sizeof message) == static_cast<ssize_t>(sizeof message);)
    values.push_back(message.known == 0 ? std::nullopt : std::optional(message.value));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (values.size() != cases.size()) throw Error(ErrorCode::bad_input, cases[values.size()].name, "the scalar path gave no output");
  return values;
}

Result measure(const Case& one, std::uint64_t expected, const Peaks& peaks, double budget) {
  const Trial trial = one.prepare();
  compare(one, trial, expected);
  const auto in_turn = [](const Peer& peer) { return !peer.seconds && peer.environment.empty(); };
  std::vector<std::function<void()>> runs{trial.run};
  for (const Peer& peer : trial.peers) {
    if (in_turn(peer)) runs.push_back(peer.run);
  }
  const std::vector<double> seconds = seconds_in_turns(runs, budget);
  Result result{one.name, one.unit, in_unit(one.unit, trial.work, seconds[0]), 0, {}};
  if (peaks.of(one.roof) > 0) result.roof_share = trial.work / seconds[0] / peaks.of(one.roof);
  std::size_t next = 1;
  for (const Peer& peer : trial.peers) {
    const double of_peer = in_turn(peer)  ? seconds[next++]
                           : peer.seconds ? peer.seconds()
                                          : number_from_own_process({"--alone", one.name, "--peer", peer.name}, peer.environment);
    result.peers.push_back({peer.name, in_unit(one.unit, trial.work, of_peer), of_peer / seconds[0]});
  }
  return result;
}

double seconds_of_peer(const Case& one, const std::string& peer, double budget) {
  const Trial trial = one.prepare();
  for (const Peer& candidate : trial.peers) {
    if (candidate.name == peer) return seconds_in_turns({&candidate.run, 1}, budget)[0];
  }
  throw Error(ErrorCode::bad_input, one.name, "has no peer '" + peer + "'");
}

}  // namespace lastbit::bench
