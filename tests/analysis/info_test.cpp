// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/info.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;

namespace {

Model digits() { return read_json_model(test::source_directory() / "examples/digits/model.json"); }

const DeviceFit& fit_of(const NetworkInfo& info, const std::string& backend) {
  const auto found = std::ranges::find(info.devices, backend, &DeviceFit::backend);
  REQUIRE(found != info.devices.end());
  return *found;
}

}  // namespace

TEST_CASE("info: inputs, operations and sizes are those of the network") {
  const Model model = digits();
  const NetworkInfo info = network_info(model, {});
  REQUIRE(info.inputs.size() == 1);
  CHECK(info.inputs[0].name == "image");
  CHECK(info.inputs[0].shape == Shape{1, 8, 8, 1});
  CHECK(info.operation_count == 9);
  CHECK(info.operations.front() == std::pair<std::string, std::int64_t>("conv2d", 3));
  std::int64_t constants = 0;
  for (const ModelTensor& tensor : model.tensors) constants += tensor.constant ? tensor.constant->element_count() : 0;
  CHECK(info.constants == constants);
  const auto json = nlohmann::json::parse(to_json(info));
  CHECK(json["inputs"][0]["scales"][0].get<double>() == model.tensor(model.inputs[0]).quantization.scale());
  CHECK(json["backends"].empty());
}

TEST_CASE("info: a backend runs a network, needs quantize, or lacks operations, as check says") {
  const Model model = digits();
  const NetworkInfo info = network_info(model, builtin_backends());
  CHECK(info.devices.size() == builtin_backends().size());
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    const DeviceFit& fit = fit_of(info, sheet.name);
    CHECK((fit.fit == Fit::runs) == check(model, sheet.backend).empty());
    if (fit.fit == Fit::runs) CHECK(fit.multiply_accumulates == info.multiply_accumulates);
    else if (fit.multiply_accumulates == 0) CHECK((fit.fit == Fit::needs_quantize) == !sheet.quantizer.empty());
    else CHECK(fit.fit == Fit::lacks);
  }
  CHECK(fit_of(info, "vipnano_v8").fit == Fit::runs);
  CHECK(fit_of(info, "gna1").fit == Fit::needs_quantize);
  CHECK(fit_of(info, "fbgemm").fit == Fit::lacks);
}

TEST_CASE("info: of a float network the operations that nothing of a device computes are counted") {
  const NetworkInfo info = network_info(float_network(digits()), builtin_backends());
  CHECK(fit_of(info, "float").fit == Fit::runs);
  CHECK(fit_of(info, "tflite_double").fit == Fit::needs_quantize);
  CHECK(fit_of(info, "gap8").fit == Fit::needs_quantized);
  CHECK(to_text(info).find("gap8") != std::string::npos);
  CHECK(to_text(info).find("gap8: lacks") == std::string::npos);
  for (const DeviceFit& device : info.devices)
    if (device.fit == Fit::runs_in_float32) CHECK_FALSE(device.operations.empty());
}

TEST_CASE("info: no device is its own fallback") {
  SpecSheet lacking = find_backend("tflite_double");
  lacking.backend.softmax = {};
  const Model model = digits();
  const NetworkInfo info = network_info(model, std::vector<SpecSheet>{lacking});
  CHECK(info.devices[0].fallbacks == std::vector<std::string>{"onnxruntime"});
}

TEST_CASE("info: one operation that a device lacks leaves it the others") {
  const Model model = digits();
  SpecSheet lacking = find_backend("vipnano_v8");
  lacking.backend.softmax = {};
  const NetworkInfo info = network_info(model, std::vector<SpecSheet>{lacking});
  const DeviceFit& fit = info.devices[0];
  CHECK(fit.fit == Fit::lacks);
  CHECK(fit.operations == Occurrences{{"softmax", 1}});
  CHECK(fit.multiply_accumulates == info.multiply_accumulates);  // a softmax has none
  CHECK(fit.fallbacks == std::vector<std::string>{"tflite_double"});
  CHECK(to_text(info).find("vipnano_v8: runs with --fallback tflite_double for softmax (1)") != std::string::npos);
  lacking.backend.elsewhere = Placements({{find_backend("tflite_double"), {}}});
  CHECK(check(model, lacking.backend).empty());
}
