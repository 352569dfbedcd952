// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The calls of lastbit/lastbit.hpp: whatever names a network and a device, the answer is that of the function that is called.
#include "lastbit/lastbit.hpp"

#include <string>
#include <vector>

#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/sweep.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"

namespace lastbit {
namespace {

using namespace test;

std::string digits_file() { return (source_directory() / "examples/digits/model.json").string(); }

/// The first four images.
std::vector<Tensor> images() {
  const Tensor all = read_npy(source_directory() / "examples/digits/test_images.npy");
  std::vector<std::int64_t> sizes(all.shape().sizes().begin(), all.shape().sizes().end());
  const std::size_t bytes = all.bytes().size() / static_cast<std::size_t>(sizes[0]) * 4;
  sizes[0] = 4;
  return {TensorView(all.type(), Shape(sizes), all.bytes().first(bytes)).copy()};
}

}  // namespace

TEST_CASE("run: a model or its file, a name, a chip, a sheet or a Backend") {
  const Model model = read_model(digits_file());
  const std::vector<Tensor> inputs = images();
  const auto output = [&](const Trace& trace) { return *trace.tensors[static_cast<std::size_t>(model.outputs[0])]; };
  const Tensor expected = output(Emulator(model, vipnano_v8).run(inputs));
  CHECK(output(run(model, "vipnano_v8", inputs)) == expected);
  CHECK(output(run(model, "imx8mp", inputs)) == expected);
  CHECK(output(run(model, find_backend("vipnano_v8"), inputs)) == expected);
  CHECK(output(run(model, vipnano_v8, inputs)) == expected);
  CHECK(output(run(digits_file(), "imx8mp", inputs)) == expected);
  CHECK(output(run(std::filesystem::path(digits_file()), "imx8mp", inputs, {.threads = 2})) == expected);
  CHECK(output(run(model, "tflite_double", inputs)) != expected);
  CHECK(check(digits_file(), "imx8mp").empty());
  CHECK(Emulator(model, "imx8mp").run(inputs).tensors[static_cast<std::size_t>(model.outputs[0])] == expected);
}

TEST_CASE("compare, explain, certify, prove: the same order, the network, its devices, the inputs") {
  const Model model = read_model(digits_file());
  const std::vector<Tensor> inputs = images();
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  CHECK(to_text(compare(digits_file(), "tflite_double", "imx8mp", inputs)) == to_text(compare_backends(model, a, b, inputs)));
  CHECK(to_text(compare(model, tflite_double, b, inputs)).find("own backend") != std::string::npos);
  CHECK(to_text(explain(digits_file(), "tflite_double", "imx8mp", inputs)) == to_text(explain_network(model, inputs, a, b)));
  CHECK(to_json(certify(digits_file(), "tflite_double", "imx8mp")) == to_json(certify(model, a, b, {})));
  CHECK(to_json(prove(digits_file(), "imx8mp")) == to_json(prove(model, b, {})));
  CHECK(fingerprint(digits_file(), "imx8mp").checksum == fingerprint(model, b).checksum);
  CHECK(matrix(digits_file(), {"tflite_double", "imx8mp"}).backends == std::vector<std::string>{"tflite_double", "vipnano_v8"});
  CHECK(shrink(digits_file(), "tflite_double", "imx8mp", inputs).has_value());
  CHECK(Sweeper(model, {"tflite_double", "imx8mp"}).backends()[1] == b);
}

TEST_CASE("a network that is not there, and a device that is not known, are named in one line") {
  const std::vector<Tensor> inputs = images();
  const auto no_file = refusal_of([&] { return run("absent.tflite", "imx8mp", inputs); });
  REQUIRE(no_file.has_value());
  CHECK(no_file->is_one_line());
  CHECK(no_file->says("absent.tflite"));
  const auto no_device = refusal_of([&] { return compare(digits_file(), "tflite_double", "imx8mq", inputs); });
  REQUIRE(no_device.has_value());
  CHECK(no_device->is_one_line());
  CHECK(no_device->says("did you mean 'imx8mp'"));
}

}  // namespace lastbit
