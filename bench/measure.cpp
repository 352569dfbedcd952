// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <stdexcept>

#include "engine/kernels/kernels.hpp"
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

std::uint64_t on_scalar_path(const Case& one) {
  const kernels::ScopedPath scalar(kernels::paths().front());
  return fingerprint(one.prepare().output());
}

void compare(const Case& one, const Trial& trial) {
  const std::uint64_t expected = on_scalar_path(one);
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

Result measure(const Case& one, const Peaks& peaks, double budget) {
  const Trial trial = one.prepare();
  compare(one, trial);
  const auto in_turn = [](const Peer& peer) { return !peer.seconds && peer.environment.empty(); };
  std::vector<std::function<void()>> runs{trial.run};
  for (const Peer& peer : trial.peers) {
    if (in_turn(peer)) runs.push_back(peer.run);
  }
  const std::vector<double> seconds = seconds_in_turns(runs, budget, one.clock);
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
    if (candidate.name == peer) return seconds_in_turns({&candidate.run, 1}, budget, one.clock)[0];
  }
  throw Error(ErrorCode::bad_input, one.name, "has no peer '" + peer + "'");
}

}  // namespace lastbit::bench
