// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole networks: one sample on one thread with every tensor kept; two threads beside one; what observing costs.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "case.hpp"
#include "networks.hpp"
#include "onnxruntime_peer.hpp"

namespace lastbit::bench {
namespace {

constexpr const char* backends[] = {"tflite_double", "tflite_single",     "xnnpack",          "onnxruntime",
                                    "vipnano_v8",    "n2d2_fixed_mult16", "n2d2_single_shift"};
constexpr const char* networks[] = {"digits", "ic_resnet8_int8", "kws_dscnn_int8", "vww_mobilenetv1_96_int8", "mobilenet_v2_224_int8"};
constexpr std::int64_t batch = 8;

const RunOptions plain{};
const RunOptions keeping_all{.keep_all = true};
const RunOptions counting{.count_events = true};
const RunOptions tracing{.keep_all = true, .count_events = true};

std::function<void()> runner(const std::shared_ptr<Prepared>& network, const RunOptions& options) {
  // As whoever runs many samples does: a trace that was looked at is memory for the next.
  return [network, options, trace = std::make_shared<Trace>()] {
    *trace = network->emulator->run(network->inputs, options, std::move(*trace));
    benchmark::DoNotOptimize(trace->tensors.data());
  };
}

Trial trial(const std::shared_ptr<Prepared>& network, const RunOptions& options) {
  return {0, runner(network, options), [network, options] { return network->output(options); }};
}

/// `batch` samples of the same values.
std::shared_ptr<Prepared> repeated(std::shared_ptr<Prepared> network) {
  for (Tensor& input : network->inputs) {
    std::vector<std::int64_t> sizes(input.shape().sizes().begin(), input.shape().sizes().end());
    sizes.insert(sizes.begin(), batch);
    Tensor many(input.type(), Shape(sizes));
    for (std::size_t at = 0; at < many.bytes().size(); at += input.bytes().size())
      std::copy(input.bytes().begin(), input.bytes().end(), many.bytes().begin() + static_cast<std::ptrdiff_t>(at));
    input = std::move(many);
  }
  return network;
}

/// Runs of one network under options, each side with a network of its own.
Side side_of(const char* name, const std::function<std::shared_ptr<Prepared>()>& network, const RunOptions& options,
             Clock clock = Clock::thread) {
  return {name, [=] { return trial(network(), options); }, clock};
}

void add(Cases& cases, const std::string& name, std::vector<Side> sides) { cases.push_back({name, nullptr, nullptr, std::move(sides)}); }

void add_two_threads(Cases& cases, const std::string& name, const std::function<std::shared_ptr<Prepared>()>& network) {
  add(cases, name, {side_of("lastbit", network, {.threads = 2}, Clock::wall), side_of("one_thread", network, plain, Clock::wall)});
}

}  // namespace

void add_networks(Cases& cases) {
  for (const std::string network : networks) {
    if (!has_network(network)) continue;
    for (const std::string backend : backends) {
      const auto prepared = [=] { return prepare_network(network, backend); };
      std::vector<Side> sides{side_of("lastbit", prepared, keeping_all)};
      if (backend == "onnxruntime")
        for (Side& side : onnxruntime_network([=] { return prepared()->model; })) sides.push_back(std::move(side));
      add(cases, "network/" + backend + "/" + network, std::move(sides));
    }
    for (const std::string backend : {"tflite_double", "vipnano_v8"}) {
      add_two_threads(cases, "two_threads/" + backend + "/" + network, [=] { return prepare_network(network, backend); });
      add_two_threads(cases, "two_threads_batch_8/" + backend + "/" + network, [=] { return repeated(prepare_network(network, backend)); });
    }
  }
}

void add_observation(Cases& cases) {
  for (const std::string network : {"ic_resnet8_int8", "mobilenet_v2_224_int8"}) {
    if (!has_network(network)) continue;
    const auto prepared = [=] { return prepare_network(network, "tflite_double"); };
    const auto observe = [&](const char* what, const RunOptions& options) {
      add(cases, "observe/tflite_double/" + std::string(what) + "/" + network,
          {side_of("lastbit", prepared, options), side_of("nothing_asked_for", prepared, plain)});
    };
    observe("every_tensor", keeping_all);
    observe("events", counting);
    observe("every_tensor_and_events", tracing);
  }
}

}  // namespace lastbit::bench
