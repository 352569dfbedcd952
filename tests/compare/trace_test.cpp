// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/trace.hpp"

#include <filesystem>
#include <fstream>

#include "lastbit/compare.hpp"
#include "lastbit/dump.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
namespace fs = std::filesystem;

namespace {

Model digits() { return read_json_model(test::source_directory() / "examples/digits/model.json"); }

std::vector<Tensor> two_images() {
  const Tensor all = read_npy(test::source_directory() / "examples/digits/test_images.npy");
  return {Tensor::from<std::int8_t>({2, 1, 8, 8, 1}, all.values<std::int8_t>().first(128))};
}

NamedTrace vipnano() { return run_named(digits(), find_backend("vipnano_v8"), two_images()); }

void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::ifstream in(file);
  std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  std::ofstream(file) << text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a stored trace that calls its assumptions guesses, as they were called, is read") {
  const test::Scratch folder;
  write_trace(folder.path(), vipnano());
  replace_in(folder.path() / "trace.json", "\"assumptions\"", "\"guesses\"");
  CHECK(read_trace(folder.path()).assumptions == vipnano().assumptions);
}

TEST_CASE("a stored trace reads back as it was") {
  const test::Scratch folder;
  const NamedTrace written = vipnano();
  write_trace(folder.path() / "new" / "trace", written);
  const NamedTrace read = read_trace(folder.path() / "new" / "trace");
  CHECK(read.model == written.model);
  CHECK(read.backend == "vipnano_v8");
  CHECK(read.path == written.path);
  CHECK(read.assumptions == written.assumptions);
  CHECK_FALSE(read.assumptions.empty());
  REQUIRE(read.tensors.size() == written.tensors.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    CHECK(read.tensors[i].index == written.tensors[i].index);
    CHECK(read.tensors[i].name == written.tensors[i].name);
    CHECK(read.tensors[i].operation == written.tensors[i].operation);
    CHECK(read.tensors[i].quantization == written.tensors[i].quantization);
    CHECK(read.tensors[i].values == written.tensors[i].values);
  }
  REQUIRE(read.events.size() == digits().operations.size());
  CHECK(read.events[0].events.outputs == written.events[0].events.outputs);
  CHECK(compare_traces(written, read).equal());
}

TEST_CASE("a trace that was tampered with is refused") {
  const test::Scratch folder;
  write_trace(folder.path(), vipnano());
  const fs::path json = folder.path() / "trace.json";
  const auto [from, to] = GENERATE(table<std::string, std::string>({{"\"tensor_000.npy\"", "\"../tensor_000.npy\""},
                                                                    {"\"tensor_000.npy\"", "\"/etc/passwd\""},
                                                                    {"\"tensor_000.npy\"", "\"tensor_003.npy\""},
                                                                    {"\"tensor_000.npy\"", "\"absent.npy\""},
                                                                    {"\"index\": 3", "\"index\": 0"},
                                                                    {"\"index\": 3", "\"index\": -3"},
                                                                    {"\"dtype\": \"int8\"", "\"dtype\": \"uint8\""},
                                                                    {"\"axis\": 0", "\"axis\": 0, \"axle\": 1"},
                                                                    {"\"scale\": [", "\"scale\": [1, 2, "},
                                                                    {"lastbit.trace.v1", "lastbit.trace.v9"}}));
  INFO(from << " -> " << to);
  replace_in(json, from, to);
  CHECK_THROWS_AS(read_trace(folder.path()), Error);
}

TEST_CASE("a dump is matched by name, however written, and by index") {
  const test::Scratch folder;
  Model model = digits();
  model.tensors[3].name = "net/Conv 1:0";
  const NamedTrace trace = run_named(model, find_backend("vipnano_v8"), two_images());
  write_npy(folder.path() / "image.npy", trace.find(0)->values);
  write_npy(folder.path() / "NET_conv_1_0.npy", trace.find(3)->values);
  write_npy(folder.path() / "tensor_006.npy", trace.find(6)->values);
  write_npy(folder.path() / "12.npy", dequantized(trace.find(12)->values, trace.find(12)->quantization));
  write_npy(folder.path() / "unrelated.npy", trace.find(0)->values);
  const NamedTrace dump = read_dump(folder.path(), model);
  REQUIRE(dump.tensors.size() == 4);
  CHECK(dump.find(3)->values == trace.find(3)->values);
  CHECK(dump.find(12)->values == trace.find(12)->values);
  const CompareReport report = compare_with_dump(model, dump, find_backend("vipnano_v8"), {});
  CHECK(report.first_divergence() == nullptr);
  CHECK(report.layers[1].same_input->differing == 0);
  CHECK_FALSE(report.only_in_b.empty());
  CHECK_FALSE(compare_with_dump(model, dump, find_backend("tflite_double"), {}).equal());
}

TEST_CASE("a file whose name may mean two tensors is matched with neither by it, but by its values") {
  const test::Scratch folder;
  Model model = digits();
  model.tensors[3].name = "net/conv";
  model.tensors[6].name = "net.conv";
  const NamedTrace trace = run_named(model, find_backend("vipnano_v8"), two_images());
  write_npy(folder.path() / "net_conv.npy", trace.find(6)->values);
  CHECK_THROWS_AS(read_dump(folder.path(), model), Error);
  write_npy(folder.path() / "image.npy", trace.find(0)->values);
  const NamedTrace dump = read_dump(folder.path(), model);
  REQUIRE(dump.by_value.size() == 1);
  CHECK(dump.by_value[0].index == 6);
  CHECK(dump.by_value[0].file == "net_conv.npy");
}

TEST_CASE("dumps that do not fit the model are refused") {
  const test::Scratch folder;
  const Model model = digits();
  CHECK_THROWS_AS(read_dump(folder.path(), model), Error);
  CHECK_THROWS_AS(read_dump(folder.path() / "absent", model), Error);
  const Tensor image = two_images()[0];
  SECTION("two files for one tensor") {
    write_npy(folder.path() / "image.npy", image);
    write_npy(folder.path() / "000.npy", image);
  }
  SECTION("a type that holds more") {
    Tensor wide(ElementType::int16, image.shape());
    wide.values<std::int16_t>()[5] = 300;
    write_npy(folder.path() / "image.npy", wide);
  }
  SECTION("another size") { write_npy(folder.path() / "image.npy", Tensor(ElementType::int8, {100})); }
  CHECK_THROWS_AS(read_dump(folder.path(), model), Error);
}

TEST_CASE("a dump without the inputs needs them given") {
  const test::Scratch folder;
  const Model model = digits();
  write_npy(folder.path() / "conv1.npy", vipnano().find(3)->values);
  const NamedTrace dump = read_dump(folder.path(), model);
  CHECK_THROWS_AS(compare_with_dump(model, dump, find_backend("vipnano_v8"), {}), Error);
  CHECK(compare_with_dump(model, dump, find_backend("vipnano_v8"), two_images()).first_divergence() == nullptr);
}

TEST_CASE("without an output, half of the tensors that are computed are enough") {
  const auto enough = [](std::int64_t matched) {
    return DumpMatch{.computed = 8, .matched = matched, .no_output = {"y"}, .unfit_files = {}}.enough();
  };
  CHECK_FALSE(enough(3));
  CHECK(enough(4));
}

TEST_CASE("what a dump must hold can be required") {
  const auto enough = [](const char* required, std::int64_t matched, std::vector<std::string> no_output) {
    DumpMatch match{.computed = 8, .matched = matched, .no_output = std::move(no_output), .unfit_files = {}};
    match.required = dump_requirement_from(required, "test");
    return match.enough();
  };
  CHECK(enough("all", 8, {}));
  CHECK_FALSE(enough("all", 7, {}));
  CHECK(enough("outputs", 1, {}));
  CHECK_FALSE(enough("outputs", 7, {"y"}));
  CHECK(enough("25%", 2, {"y"}));
  CHECK_FALSE(enough("25.1%", 2, {"y"}));
  CHECK_FALSE(enough("0%", 0, {"y"}));  // nothing compared is never equal
  for (const char* text : {"", "some", "25", "%", "-1%", "101%", "nan%", "25%%", "all "})
    CHECK_THROWS_AS(dump_requirement_from(text, "test"), Error);
}

TEST_CASE("what is required of a dump is required of every sample") {
  NamedTrace dump = vipnano();
  const Model model = digits();
  const auto report = [&](const char* required) {
    return compare_with_dump(model, dump, find_backend("vipnano_v8"), two_images(), {.required = dump_requirement_from(required, "test")});
  };
  CHECK(report("all").equal());
  const auto cut = [&](const char* name) {
    for (NamedTensor& tensor : dump.tensors)
      if (tensor.name == name) tensor.values = first_samples(tensor.values, model.tensor(tensor.index).shape, 1);
  };
  cut("conv1");
  CHECK(report("outputs").equal());
  CHECK_FALSE(report("all").equal());
  CHECK_FALSE(report("100%").equal());
  CHECK(report("94%").equal());  // eight and a half of nine
  CHECK_FALSE(report("95%").equal());
  CHECK(to_text(report("all")).find("Less than is required. Short of samples: 'conv1' (1 of 2 samples).") != std::string::npos);
  CHECK(to_json(report("all")).find("\"short_of_samples\": [") != std::string::npos);
  cut("probabilities");
  CHECK_FALSE(report("outputs").equal());
}

TEST_CASE("a dump of which nothing or little was matched is not equal") {
  const test::Scratch folder;
  const Model model = digits();
  const NamedTrace trace = vipnano();
  const auto put = [&](const std::string& file, const char* tensor) { write_npy(folder.path() / file, trace.find(tensor)->values); };
  const auto report = [&] { return compare_with_dump(model, read_dump(folder.path(), model), find_backend("vipnano_v8"), {}); };
  const auto check_little = [&](std::int64_t matched) {
    const CompareReport found = report();
    CHECK(found.first_divergence() == nullptr);
    REQUIRE(found.match);
    CHECK(found.match->computed == 9);
    CHECK(found.match->matched == matched);
    CHECK_FALSE(found.equal());
    const std::string text = to_text(found);
    CHECK(text.find("Of 9 tensors that the network computes, " + std::to_string(matched) + " were matched") != std::string::npos);
    CHECK(text.find("Every value is equal.") == std::string::npos);
    CHECK(to_json(found).find("\"enough\": false") != std::string::npos);
  };
  put("image.npy", "image");  // the input alone, which is compared with itself
  check_little(0);
  put("conv1.npy", "conv1");
  check_little(1);
  SECTION("a network's outputs are enough") {
    put("probabilities.npy", "probabilities");
    CHECK(report().equal());
  }
  SECTION("unless all of it is required") {
    put("probabilities.npy", "probabilities");
    const NamedTrace dump = read_dump(folder.path(), model);
    const auto required = [&](const char* text) {
      return compare_with_dump(model, dump, find_backend("vipnano_v8"), {}, {.required = dump_requirement_from(text, "test")});
    };
    CHECK(required("outputs").equal());
    CHECK(required("22%").equal());
    const CompareReport found = required("all");
    CHECK_FALSE(found.equal());
    CHECK(found.match->missing == std::vector<std::string>{"depthwise1", "pointwise1", "conv2", "residual", "pool", "features", "logits"});
    const std::string text = to_text(found);
    for (const char* words : {"Less than is required.", "'depthwise1', 'pointwise1'", "and 2 more."}) {
      INFO(text);
      CHECK(text.find(words) != std::string::npos);
    }
  }
  SECTION("or half of its tensors") {
    for (const char* const name : {"depthwise1", "pointwise1", "conv2"}) put(std::string(name) + ".npy", name);
    check_little(4);
    put("residual.npy", "residual");
    CHECK(report().equal());
  }
  SECTION("but not where most files fit no tensor") {
    put("probabilities.npy", "probabilities");
    for (const char* const name : {"out1.npy", "out2.npy", "out3.npy"}) write_npy(folder.path() / name, Tensor(ElementType::int8, {7}));
    check_little(2);
    CHECK(report().match->unfit_files == std::vector<std::string>{"out1.npy", "out2.npy", "out3.npy"});
  }
}

TEST_CASE("per-channel quantisation moves with the dimension of samples") {
  const ModelTensor tensor{"t", ElementType::int8, {4, 2}, {{1, 2}, {0, 0}, 1}, {}};
  CHECK(quantization_in(tensor, {4, 2}).axis == 1);
  CHECK(quantization_in(tensor, {3, 4, 2}).axis == 2);
}

TEST_CASE("the rules an operation reads, and its assumptions") {
  const Model model = digits();
  const SpecSheet vipnano_v8 = find_backend("vipnano_v8");
  CHECK(rule_prefix(model, model.operations[0], vipnano_v8.backend) == "conv.i8");
  CHECK_FALSE(assumptions_of(model, model.operations[0], vipnano_v8).empty());  // per-channel weights
  CHECK(assumptions_of(model, find_backend("float")).empty());
  for (const Operation& operation : model.operations) {
    if (operation.kind != OperationKind::reshape) continue;
    CHECK(rule_prefix(model, operation, vipnano_v8.backend).empty());
    CHECK(assumptions_of(model, operation, vipnano_v8).empty());
  }
}
