// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole networks: one sample on one thread with every tensor kept; two threads beside one; what observing costs.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "case.hpp"
#include "networks.hpp"

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

Trial threads_trial(const std::shared_ptr<Prepared>& network) {
  Trial two = trial(network, {.threads = 2});
  two.peers = {{"one thread", runner(network, plain)}};
  return two;
}

Trial observed_trial(const std::shared_ptr<Prepared>& network, const RunOptions& options) {
  Trial observed = trial(network, options);
  observed.peers = {{"nothing asked for", runner(network, plain)}};
  return observed;
}

void add(Cases& cases, const std::string& name, std::function<Trial()> prepare, Clock clock = Clock::thread) {
  cases.push_back({name, Unit::milliseconds, Roof::none, std::move(prepare), clock});
}

}  // namespace

void add_networks(Cases& cases) {
  for (const std::string network : networks) {
    if (!has_network(network)) continue;
    for (const std::string backend : backends)
      add(cases, "network/" + backend + "/" + network, [=] { return trial(prepare_network(network, backend), keeping_all); });
    for (const std::string backend : {"tflite_double", "vipnano_v8"}) {
      add(
          cases, "two_threads/" + backend + "/" + network, [=] { return threads_trial(prepare_network(network, backend)); }, Clock::wall);
      add(
          cases, "two_threads_batch_8/" + backend + "/" + network,
          [=] { return threads_trial(repeated(prepare_network(network, backend))); }, Clock::wall);
    }
  }
}

void add_observation(Cases& cases) {
  for (const std::string network : {"ic_resnet8_int8", "mobilenet_v2_224_int8"}) {
    if (!has_network(network)) continue;
    const auto observe = [&](const char* what, const RunOptions& options) {
      add(cases, "observe/tflite_double/" + std::string(what) + "/" + network,
          [=] { return observed_trial(prepare_network(network, "tflite_double"), options); });
    };
    observe("every_tensor", keeping_all);
    observe("events", counting);
    observe("every_tensor_and_events", tracing);
  }
}

}  // namespace lastbit::bench
