// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/recording.hpp"

#include <fstream>

#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/testing.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Model digits() { return read_json_model(source_directory() / "examples/digits/model.json"); }
std::vector<Tensor> images() { return {read_npy(source_directory() / "examples/digits/test_images.npy")}; }

SpecSheet changed(const std::string& name, const std::string& rule, const std::string& value) {
  SpecSheet sheet = find_backend(name);
  set_rule(sheet.backend, rule, value);
  return sheet;
}

void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("recording: what was stored is unchanged") {
  const Scratch folder;
  write_recording(folder.path(), digits(), find_backend("vipnano_v8"), images());
  const RecordingReport report = check_recording(folder.path(), digits(), find_backend("vipnano_v8"));
  CHECK(report.passed());
  CHECK(report.tensors >= 5);
  CHECK(report.values > 10000);
  CHECK(recorded_backend(folder.path()) == "vipnano_v8");
  CHECK(report.written_by.starts_with("lastbit "));
  CHECK(lastbit::testing::unchanged_since(folder.path(), digits(), find_backend("vipnano_v8")));
  write_recording(folder.path() / "outputs", digits(), find_backend("vipnano_v8"), images(), RecordedTensors::outputs);
  CHECK(check_recording(folder.path() / "outputs", digits(), find_backend("vipnano_v8")).tensors == 1);
}

TEST_CASE("recording: a changed rule is named, with the first tensor that it moves") {
  const Scratch folder;
  write_recording(folder.path(), digits(), find_backend("vipnano_v8"), images());
  const SpecSheet floored = changed("vipnano_v8", "conv.i8.output.chain.2.rounding", "floor");
  const RecordingReport report = check_recording(folder.path(), digits(), floored);
  CHECK_FALSE(report.passed());
  REQUIRE(report.changed.size() == 1);
  CHECK(report.changed[0].path == "conv.i8.output.chain.2.rounding");
  CHECK(report.changed[0].a == "half_even");
  CHECK(report.changed[0].b == "floor");
  REQUIRE_FALSE(report.differing.empty());
  const RecordingDifference& first = report.differing.front();
  CHECK(first.tensor == "conv1");
  CHECK(first.operation == "conv2d");
  CHECK(first.changed.size() == 1);
  // The value is the first in which the two backends differ.
  const Model model = digits();
  const auto conv1 = static_cast<std::size_t>(*model.find_tensor("conv1"));
  const Trace before = run(model, find_backend("vipnano_v8").backend, images(), {.keep_all = true});
  const Trace after = run(model, floored.backend, images(), {.keep_all = true});
  std::int64_t index = 0;
  while (before.tensors[conv1]->integer_at(index) == after.tensors[conv1]->integer_at(index)) ++index;
  CHECK(first.index == index);
  CHECK(first.expected == std::to_string(before.tensors[conv1]->integer_at(index)));
  CHECK(first.got == std::to_string(after.tensors[conv1]->integer_at(index)));
  CHECK_THAT(to_text(report), contains_text("conv.i8.output.chain.2.rounding: half_even -> floor"));
  CHECK_FALSE(lastbit::testing::unchanged_since(folder.path(), digits(), floored).passed());
}

TEST_CASE("recording: a changed rule is noticed even where no value shows it, unless nothing reads it") {
  const Scratch folder;
  write_recording(folder.path(), digits(), find_backend("vipnano_v8"), images());
  const RecordingReport wider = check_recording(folder.path(), digits(), changed("vipnano_v8", "conv.i8.accumulator.bits", "48"));
  CHECK(wider.differing.empty());
  CHECK(wider.changed.size() == 1);
  CHECK_FALSE(wider.passed());
  const RecordingReport apart =
      check_recording(folder.path(), digits(), changed("vipnano_v8", "transposed_conv.i8.accumulator.bits", "48"));
  CHECK(apart.passed());
  CHECK(apart.changed_apart.size() == 1);
}

TEST_CASE("recording: another model, and a spoiled value") {
  const Scratch folder;
  const SpecSheet sheet = find_backend("tflite_double");
  write_recording(folder.path(), digits(), sheet, images());
  Model model = digits();
  for (ModelTensor& tensor : model.tensors)
    if (tensor.constant && tensor.type == ElementType::int8) tensor.constant.edit().bytes()[0] ^= std::byte{1};
  const RecordingReport other = check_recording(folder.path(), model, sheet);
  CHECK(other.model_changed);
  CHECK_FALSE(other.passed());
  const auto file = folder.path() / "tensor_003.npy";
  Tensor stored = read_npy(file);
  stored.bytes()[7] ^= std::byte{2};
  write_npy(file, stored);
  const RecordingReport spoiled = check_recording(folder.path(), digits(), sheet);
  CHECK_FALSE(spoiled.model_changed);
  CHECK(spoiled.changed.empty());
  REQUIRE(spoiled.differing.size() == 1);
  CHECK(spoiled.differing[0].index == 7);
  CHECK(spoiled.differing[0].differing == 1);
}

TEST_CASE("recording: the checksum is the model's, not the file's") {
  Model model = digits();
  const std::string sum = model_checksum(model);
  CHECK(sum.starts_with("fnv1a64:"));
  CHECK(sum.size() == 24);
  const Scratch folder;
  write_json_model(folder.path() / "again.json", model);
  CHECK(model_checksum(read_json_model(folder.path() / "again.json")) == sum);
  model.name = "another name";
  CHECK(model_checksum(model) == sum);
  std::get<Conv2dAttributes>(model.operations.front().attributes).bounds.activation = Activation::relu6;
  CHECK(model_checksum(model) != sum);
  model = digits();
  model.tensors.front().quantization.zero_points = {7};
  CHECK(model_checksum(model) != sum);
}

TEST_CASE("recording: bad stores") {
  const Scratch folder;
  const SpecSheet sheet = find_backend("tflite_double");
  const auto refused = [&] { return refusal_of([&] { (void)check_recording(folder.path(), digits(), sheet); }); };
  CHECK(refused()->code == ErrorCode::unreadable_file);
  write_recording(folder.path(), digits(), sheet, images());
  const auto store = folder.path() / "golden.json";
  const std::string good = file_text(store);
  write(store, replaced(good, "lastbit.golden.v1", "lastbit.golden.v9"));
  CHECK_THAT(refused()->message, contains_text("'lastbit.golden.v9' is not lastbit.golden.v1"));
  write(store, replaced(good, "input_0.npy", "../x.npy"));
  CHECK_THAT(refused()->message, contains_text("the name of a file in the store is needed"));
  write(store, good.substr(0, good.size() / 2));
  CHECK(refused()->code == ErrorCode::malformed_file);
  write(store, replaced(good, "\"checksum\"", "\"chksum\""));
  CHECK(refused()->code == ErrorCode::malformed_file);
  // A backend that this version cannot read is said, and the values are compared all the same.
  write(store, replaced(good, "\"half_up\"", "\"half_sideways\""));
  const RecordingReport report = check_recording(folder.path(), digits(), sheet);
  CHECK_THAT(report.unreadable_backend, contains_text("half_sideways"));
  CHECK(report.differing.empty());
  CHECK_FALSE(report.passed());
}
