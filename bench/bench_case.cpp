// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "bench_case.hpp"

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace lastbit::bench {
namespace {

std::uint64_t hash_of(const Tensor& tensor) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::byte byte : tensor.bytes()) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 1099511628211U;
  return hash;
}

/// The hashes of all outputs on the scalar path. A path is chosen once per process, so this is a process of its own.
std::vector<std::uint64_t> scalar_hashes(const std::function<std::vector<Case>()>& make_cases) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    setenv("LASTBIT_PATH", "scalar", 1);
    close(ends[0]);
    for (const Case& one : make_cases()) {
      const std::uint64_t hash = hash_of(one.run());
      if (write(ends[1], &hash, sizeof hash) != static_cast<ssize_t>(sizeof hash)) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t hash = 0; read(ends[0], &hash, sizeof hash) == static_cast<ssize_t>(sizeof hash);) hashes.push_back(hash);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return hashes;
}

double seconds_of(const std::function<Tensor()>& run) {
  const auto start = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(run());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The best of several runs of each, taken in turns so that both meet the same machine.
double speed_relative_to_peer(const Case& one) {
  double own = std::numeric_limits<double>::infinity(), peer = own;
  for (int i = 0; i < 20; ++i) {
    own = std::min(own, seconds_of(one.run));
    peer = std::min(peer, seconds_of(one.peer));
  }
  return peer / own;
}

void measure(benchmark::State& state, const Case& one) {
  for (auto _ : state) benchmark::DoNotOptimize(one.run());
  state.counters["MAC/s"] = benchmark::Counter(static_cast<double>(one.multiply_adds), benchmark::Counter::kIsIterationInvariantRate);
  if (one.peer) state.counters["of_peer"] = speed_relative_to_peer(one);
}

}  // namespace

int run_cases(int argc, char** argv, const std::function<std::vector<Case>()>& make_cases) {
  const std::vector<std::uint64_t> expected = scalar_hashes(make_cases);
  const std::vector<Case> cases = make_cases();
  benchmark::Initialize(&argc, argv);
  if (expected.size() != cases.size()) {
    std::fprintf(stderr, "the scalar path gave %zu outputs of %zu\n", expected.size(), cases.size());
    return 1;
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool peer_differs = cases[i].peer && hash_of(cases[i].peer()) != expected[i];
    if (hash_of(cases[i].run()) != expected[i] || peer_differs) {
      std::fprintf(stderr, "%s: the output differs from that of %s\n", cases[i].name.c_str(),
                   peer_differs ? "the peer" : "the scalar path");
      return 1;
    }
    benchmark::RegisterBenchmark(cases[i].name.c_str(), measure, cases[i])->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

std::int64_t multiply_adds_of(const Model& model) {
  std::int64_t total = 0;
  for (const Operation& operation : model.operations) {
    const auto shape = [&](const std::vector<std::int32_t>& list, std::size_t i) -> const Shape& { return model.tensor(list[i]).shape; };
    switch (operation.kind) {
      case OperationKind::conv2d:
      case OperationKind::depthwise_conv2d:
      case OperationKind::fully_connected: {
        const Shape& weights = shape(operation.inputs, 1);
        const std::int64_t per_output =
            weights.element_count() / (operation.kind == OperationKind::depthwise_conv2d ? weights.back() : weights[0]);
        total += shape(operation.outputs, 0).element_count() * per_output;
        break;
      }
      case OperationKind::transposed_conv2d: {
        const Shape& weights = shape(operation.inputs, 1);
        total += shape(operation.inputs, 0).element_count() * (weights.element_count() / weights.back());
        break;
      }
      case OperationKind::matmul: total += shape(operation.outputs, 0).element_count() * shape(operation.inputs, 0).back(); break;
      default: break;
    }
  }
  return total;
}

}  // namespace lastbit::bench
