// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Dumps as the tools of vendors write them, made here of one run in each tool's manner: what is read is that run, to the last bit.
#include "lastbit/dump.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "lastbit/compare.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"
#include "support/zip_file.hpp"

namespace {

using namespace lastbit;
namespace fs = std::filesystem;

/// Two layers on images of 5 by 7: x of 3 channels, net/y of 19, net/z of 20.
Model two_layers() {
  ModelBuilder builder("two layers");
  const auto weights = [&](const char* name, std::int64_t out, std::int64_t in) {
    std::vector<std::int8_t> values(static_cast<std::size_t>(out * in));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int8_t>(static_cast<int>((i * 37 + 11) % 201) - 100);
    return builder.constant<std::int8_t>(name, {out, 1, 1, in}, values, {{0.02}, {0}});
  };
  const auto x = builder.input({"x", ElementType::int8, {1, 5, 7, 3}, {{0.05}, {3}}});
  const auto y =
      builder.operation(OperationKind::conv2d, {x, weights("w1", 19, 3)}, {"net/y", ElementType::int8, {1, 5, 7, 19}, {{0.07}, {-5}}});
  const auto z =
      builder.operation(OperationKind::conv2d, {y, weights("w2", 20, 19)}, {"net/z", ElementType::int8, {1, 5, 7, 20}, {{0.4}, {7}}});
  builder.model.operations[0].name = "Conv_0";
  builder.model.operations[1].name = "Conv_1";
  return builder.finished({z});
}

struct Run {
  Model model = two_layers();
  NamedTrace trace;
  explicit Run(std::int64_t samples = 1) {
    Tensor image(ElementType::int8, samples == 1 ? Shape({1, 5, 7, 3}) : Shape({samples, 1, 5, 7, 3}));
    std::int64_t i = 0;
    for (std::int8_t& value : image.values<std::int8_t>()) value = static_cast<std::int8_t>((i++ * 53) % 251 - 125);
    trace = run_named(model, find_backend("tflite_double"), std::vector<Tensor>{image});
  }
  [[nodiscard]] const Tensor& tensor(const std::string& name) const { return trace.find(name)->values; }
};

const std::array<std::string, 3> names{"x", "net/y", "net/z"};

/// An empty folder beside others of the test.
class Folder {
 public:
  Folder() : path_(parent().path() / std::to_string(made_++)) { fs::create_directory(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  static const test::Scratch& parent() {
    static const test::Scratch scratch;
    return scratch;
  }
  static inline int made_ = 0;
  fs::path path_;
};

std::string file_name(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

/// The values of one sample, or more, at [n,h,w,c], put where `place` says, among `size` values of a sample.
Tensor placed(const Tensor& tensor, std::int64_t c_size, Shape shape,
              const std::function<std::int64_t(std::int64_t h, std::int64_t w, std::int64_t c)>& place) {
  Tensor file(ElementType::int8, std::move(shape));
  std::ranges::fill(file.values<std::int8_t>(), std::int8_t{99});  // what fills up is not 0
  const std::int64_t own = 5 * 7 * c_size, samples = tensor.element_count() / own, size = file.element_count() / samples;
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t h = 0; h < 5; ++h)
      for (std::int64_t w = 0; w < 7; ++w)
        for (std::int64_t c = 0; c < c_size; ++c)
          file.values<std::int8_t>()[static_cast<std::size_t>(n * size + place(h, w, c))] =
              tensor.values<std::int8_t>()[static_cast<std::size_t>(n * own + (h * 7 + w) * c_size + c)];
  return file;
}

std::int64_t channels_of(const std::string& name) { return name == "x" ? 3 : name == "net/y" ? 19 : 20; }

Tensor as_nchw(const Tensor& tensor, std::int64_t channels) {
  const std::int64_t samples = tensor.element_count() / (35 * channels);
  return placed(tensor, channels, Shape({samples, channels, 5, 7}), [](auto h, auto w, auto c) { return (c * 5 + h) * 7 + w; });
}

Tensor as_nc1hwc0(const Tensor& tensor, std::int64_t channels, std::int64_t c0) {
  const std::int64_t samples = tensor.element_count() / (35 * channels), blocks = (channels + c0 - 1) / c0;
  return placed(tensor, channels, Shape({samples, blocks, 5, 7, c0}),
                [&](auto h, auto w, auto c) { return ((c / c0 * 5 + h) * 7 + w) * c0 + c % c0; });
}

Tensor as_nhwc_padded(const Tensor& tensor, std::int64_t channels, std::int64_t multiple) {
  const std::int64_t samples = tensor.element_count() / (35 * channels), all = (channels + multiple - 1) / multiple * multiple;
  return placed(tensor, channels, Shape({samples, 5, 7, all}), [&](auto h, auto w, auto c) { return (h * 7 + w) * all + c; });
}

void write_bytes(const fs::path& file, const Tensor& tensor) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(tensor.bytes().data()), static_cast<std::streamsize>(tensor.bytes().size()));
}

void write_lines(const fs::path& file, const Tensor& tensor, const std::function<std::string(std::int8_t)>& text) {
  std::ofstream out(file);
  for (const std::int8_t value : tensor.values<std::int8_t>()) out << text(value) << "\n";
}

std::string printed(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// The dump holds the run, every tensor of it, and says so of each.
void check_holds(const Run& run, const NamedTrace& dump, std::size_t tensors = 3) {
  CHECK(dump.tensors.size() == tensors);
  for (const NamedTensor& tensor : dump.tensors) {
    INFO(tensor.name);
    CHECK(tensor.values == run.tensor(tensor.name));
  }
  CHECK(dump.unfit.empty());
}

bool says(const NamedTrace& dump, const std::string& text) {
  return std::ranges::any_of(dump.readings, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

std::string refusal(const fs::path& folder, const Model& model, const DumpOptions& options = {}) {
  try {
    static_cast<void>(read_dump(folder, model, options));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a file's shape tells its layout, samples in front included") {
  const std::int64_t samples = GENERATE(1, 3);
  const Run run(samples);
  using Encoder = std::function<Tensor(const Tensor&, std::int64_t)>;
  const std::vector<std::pair<std::string, Encoder>> layouts{
      {"nchw", as_nchw},
      {"nc1hwc0", [](const Tensor& t, std::int64_t c) { return as_nc1hwc0(t, c, 16); }},
      {"nc1hwc0", [](const Tensor& t, std::int64_t c) { return as_nc1hwc0(t, c, 32); }},
      {"nc4hw4", [](const Tensor& t, std::int64_t c) { return as_nc1hwc0(t, c, 4); }},
      {"nhwc32", [](const Tensor& t, std::int64_t c) { return as_nhwc_padded(t, c, 32); }},
  };
  for (const auto& [layout, encode] : layouts) {
    INFO(layout);
    const Folder folder;
    for (const std::string& name : names)
      write_npy(folder.path() / (file_name(name) + ".npy"), encode(run.tensor(name), channels_of(name)));
    const NamedTrace dump = read_dump(folder.path(), run.model);
    check_holds(run, dump);
    CHECK(says(dump, "3 tensors in the order " + layout + ": 'x' ("));
    const CompareReport report = compare_with_dump(run.model, dump, find_backend("tflite_double"), {});
    CHECK(report.equal());
    CHECK(to_text(report).find("in the order " + layout) != std::string::npos);
  }
}

TEST_CASE("raw values fill the tensor once as float32, or several times as codes") {
  const Run run(4);
  const Folder folder, reals;
  for (const std::string& name : names) write_bytes(folder.path() / (file_name(name) + ".raw"), run.tensor(name));
  check_holds(run, read_dump(folder.path(), run.model));
  const Run one;
  const NamedTensor& y = *one.trace.find("net/y");
  write_bytes(reals.path() / "net_y.raw", dequantized(y.values, y.quantization));
  const NamedTrace dump = read_dump(reals.path(), one.model);
  CHECK(dump.find("net/y")->values == dequantized(y.values, y.quantization));
}

TEST_CASE("values without a shape stand in the model's order, or as the user says") {
  const Run run(2);
  const Folder folder;
  for (const std::string& name : names) write_bytes(folder.path() / (file_name(name) + ".bin"), run.tensor(name));
  check_holds(run, read_dump(folder.path(), run.model));
  for (const std::string& name : names)
    write_bytes(folder.path() / (file_name(name) + ".bin"), as_nchw(run.tensor(name), channels_of(name)));
  check_holds(run, read_dump(folder.path(), run.model, {.layout = "nchw"}));
  for (const std::string& name : names)
    write_bytes(folder.path() / (file_name(name) + ".bin"), as_nc1hwc0(run.tensor(name), channels_of(name), 32));
  check_holds(run, read_dump(folder.path(), run.model, {.layout = "nc1hwc0"}));
  CHECK(refusal(folder.path(), run.model).find("it would fit as --layout nc1hwc0 or nc4hw4 or nhwc32") != std::string::npos);
  CHECK(refusal(folder.path(), run.model, {.layout = "nc4hw4"}).find("in the layout nc4hw4") != std::string::npos);
  CHECK(refusal(folder.path(), run.model, {.layout = "chwn"}).find("is no layout") != std::string::npos);
}

TEST_CASE("codes are codes in any type that holds them") {
  const Run run;
  const Folder folder;
  const auto write_as = [&]<class T>(const char* name, T /*type*/, int offset) {
    const Tensor& codes = run.tensor(name);
    std::vector<T> values;
    for (const std::int8_t code : codes.values<std::int8_t>()) values.push_back(static_cast<T>(code + offset));
    write_npy(folder.path() / (file_name(name) + ".npy"), Tensor::from<T>(codes.shape(), values));
  };
  write_as("x", std::int64_t{}, 0);
  write_as("net/y", std::uint8_t{}, 128);  // xor 0x80
  write_as("net/z", float{}, 0);
  const NamedTrace dump = read_dump(folder.path(), run.model);
  check_holds(run, dump);
  CHECK(says(dump, "1 tensor with codes as int64: 'x'"));
  CHECK(says(dump, "codes as uint8 and an offset of 128: 'net/y'"));
  CHECK(says(dump, "codes as float32: 'net/z'"));
  write_as("net/z", std::int32_t{}, 128);
  check_holds(run, read_dump(folder.path(), run.model));
  write_as("net/z", std::int16_t{}, 300);
  CHECK(refusal(folder.path(), run.model).find("int16 from ") != std::string::npos);
}

TEST_CASE("real values are compared as such, in text and in half precision too") {
  const Run run;
  const Folder folder;
  const auto real = [](const ModelTensor& tensor, std::int8_t code) {
    return (code - static_cast<double>(tensor.quantization.zero_point())) * tensor.quantization.scale();
  };
  for (const std::string& name : names) {
    const ModelTensor& tensor = *std::ranges::find(run.model.tensors, name, &ModelTensor::name);
    write_lines(folder.path() / (file_name(name) + ".txt"), run.tensor(name),
                [&](std::int8_t code) { return printed("%.16f", real(tensor, code)); });
  }
  const CompareReport report = compare_with_dump(run.model, read_dump(folder.path(), run.model), find_backend("tflite_double"), {});
  CHECK(report.layers.size() == 3);
  CHECK(report.equal());
  write_lines(folder.path() / "net_y.txt", run.tensor("net/y"), [](std::int8_t code) { return std::to_string(code); });
  const NamedTrace dump = read_dump(folder.path(), run.model);
  CHECK(dump.find("net/y")->values == run.tensor("net/y"));
  CHECK(dump.find("net/z")->values.type() == ElementType::float32);
}

TEST_CASE("msaccucmp and MindSpore: names of operations, formats and types in the name") {
  const Run run;
  const auto put = [&](const Folder& folder, const std::string& after_y, const std::string& after_z, const auto& write) {
    write(folder.path() / ("Conv2D.Conv_0.44.6.1706596912161941.output.0" + after_y), run.tensor("net/y"), 19);
    write(folder.path() / ("Conv2D.Conv_1.45.1706596912161942.output.0" + after_z), run.tensor("net/z"), 20);
    write(folder.path() / ("Conv2D.Conv_1.45.1706596912161942.input.0" + after_y), run.tensor("net/y"), 19);
    write_npy(folder.path() / "x.npy", run.tensor("x"));
  };
  const auto npy = [](const fs::path& file, const Tensor& tensor, std::int64_t c) { write_npy(file, as_nc1hwc0(tensor, c, 32)); };
  const auto flat = [](const fs::path& file, const Tensor& tensor, std::int64_t c) { write_bytes(file, as_nc1hwc0(tensor, c, 32)); };
  const auto first = [](const fs::path& file, const Tensor& tensor, std::int64_t c) { write_npy(file, as_nchw(tensor, c)); };
  const Folder whole, formatted, binary, converted;
  put(whole, ".npy", ".npy", npy);
  check_holds(run, read_dump(whole.path(), run.model));
  put(formatted, ".NC1HWC0.int8.npy", ".NC1HWC0.npy", npy);
  check_holds(run, read_dump(formatted.path(), run.model));
  put(binary, ".1120.int8.NC1HWC0.bin", ".1120.int8.NC1HWC0.bin", flat);
  check_holds(run, read_dump(binary.path(), run.model));
  put(converted, ".1x19x5x7.npy", ".1x20x5x7.npy", first);
  check_holds(run, read_dump(converted.path(), run.model));
}

TEST_CASE("msaccucmp: names that are too long stand in mapping.csv") {
  const Run run;
  const Folder folder;
  std::ofstream(folder.path() / "mapping.csv") << "1234567,Conv2D.Conv_0.44.6.1706596912161941.output.0.NC1HWC0\r\n"
                                               << "89.npy,Conv2D.Conv_1.45.1706596912161942.output.0.npy\nno pair\n";
  write_npy(folder.path() / "1234567.npy", as_nc1hwc0(run.tensor("net/y"), 19, 32));
  write_npy(folder.path() / "89.npy", run.tensor("net/z"));
  write_npy(folder.path() / "x.npy", run.tensor("x"));
  check_holds(run, read_dump(folder.path(), run.model));
}

TEST_CASE("the arrays of a .npz count as files, in a folder and instead of one") {
  const Run run;
  const auto entry = [&](const std::string& name, const Tensor& tensor) { return test::packed(name + ".npy", test::npy_text(tensor)); };
  const Folder folder;
  const std::string two =
      test::zip_text({entry("net/y", as_nchw(run.tensor("net/y"), 19)), entry("Conv2D.Conv_1.45.17.output.0", run.tensor("net/z"))});
  test::write_bytes(folder.path() / "part.npz", two);
  write_npy(folder.path() / "x.npy", run.tensor("x"));
  const NamedTrace dump = read_dump(folder.path(), run.model);
  check_holds(run, dump);
  CHECK(says(dump, "1 tensor in the order nchw: 'net/y'"));
  check_holds(run, read_dump(folder.path() / "part.npz", run.model), 2);
  test::write_bytes(folder.path() / "part.npz", test::zip_text({entry("first", run.tensor("net/z")), entry("net/y", run.tensor("net/y"))}));
  check_holds(run, read_dump(folder.path(), run.model, {.names = {{"first", "net/z"}}}));
  CHECK(read_dump(folder.path(), run.model).unfit == std::vector<std::string>{"first.npy"});
  test::write_bytes(folder.path() / "part.npz", test::zip_text({entry("net/y", run.tensor("x"))}));
  CHECK_THAT(refusal(folder.path(), run.model), test::contains_text("part.npz: net/y: shape 1x5x7x3; tensor 'net/y' is 1x5x7x19"));
  test::write_bytes(folder.path() / "part.npz", test::zip_text({entry("x", run.tensor("x"))}));
  CHECK_THAT(refusal(folder.path(), run.model), test::contains_text("x.npy: fits tensor 'x' as x does"));
  test::write_bytes(folder.path() / "part.npz", two.substr(0, two.size() - 1));
  CHECK_THAT(refusal(folder.path(), run.model), test::contains_text("part.npz: not a zip file"));
}

TEST_CASE("RKNN: the board's .npy with shapes in their names, and the toolkit's snapshot with its table") {
  const Run run;
  const Folder board, snapshot;
  write_npy(board.path() / "000_InputOperator_x_shape_1_3_5_7_int8.npy", as_nchw(run.tensor("x"), 3));
  write_npy(board.path() / "001_ConvClip_net_y_shape_1_19_5_7_int8.npy", as_nchw(run.tensor("net/y"), 19));
  write_npy(board.path() / "001_ConvClip_x_shape_1_3_5_7_int8.npy", as_nchw(run.tensor("x"), 3));  // what the layer read
  write_npy(board.path() / "002_Conv_net_z_shape_1_20_5_7_int8.npy", as_nchw(run.tensor("net/z"), 20));
  check_holds(run, read_dump(board.path(), run.model));

  fs::create_directory(snapshot.path() / "simulator");
  std::ofstream(snapshot.path() / "map_name_to_file.txt")
      << "layer_name   file_name\n-----------\nx   x.txt   \nnet/y-rs   a1.txt\nnet/z_mm  b2.txt\n";
  const std::array<std::string, 3> files{"x.txt", "a1.txt", "b2.txt"};
  for (std::size_t i = 0; i < names.size(); ++i)
    write_lines(snapshot.path() / "simulator" / files[i], run.tensor(names[i]), [](std::int8_t code) { return std::to_string(code); });
  check_holds(run, read_dump(snapshot.path() / "simulator", run.model));
}

TEST_CASE("Horizon: hrt_model_exec's outputs and layers, hb_verifier's layers") {
  const Run run;
  const Folder outputs, layers, verifier;
  write_bytes(outputs.path() / "model_infer_output_0_net_z.bin", run.tensor("net/z"));
  check_holds(run, read_dump(outputs.path(), run.model), 1);
  fs::rename(outputs.path() / "model_infer_output_0_net_z.bin", outputs.path() / "model_infer_output_0.bin");
  check_holds(run, read_dump(outputs.path(), run.model), 1);
  write_bytes(layers.path() / "layer-0-bpu-two-layers_subgraph_0-input-0-x.bin", run.tensor("x"));
  write_bytes(layers.path() / "layer-0-bpu-two-layers_subgraph_0-output-0-net_y.bin", as_nhwc_padded(run.tensor("net/y"), 19, 4));
  CHECK(refusal(layers.path(), run.model).find("--layout nc4hw4 or nhwc4") != std::string::npos);
  check_holds(run, read_dump(layers.path(), run.model, {.layout = "nhwc4"}), 1);
  write_lines(verifier.path() / "Conv_0-to-net_y.txt", run.tensor("net/y"), [](std::int8_t code) { return std::to_string(code); });
  check_holds(run, read_dump(verifier.path(), run.model), 1);
}

TEST_CASE("TIDL: traces by the numbers that layer_info.txt explains, codes before real values") {
  const Run run;
  for (const std::string batch : {"", "00001_", "0001_0001_00001_"}) {
    INFO("fields: " << batch);
    const Folder folder;
    std::ofstream(folder.path() / "subgraph_0_tidl_net.bin.layer_info.txt") << "0 0 x \n1 4 net/y \n2 7 net/z \n";
    const auto put = [&](const char* data, const std::string& name, const char* channels) {
      const std::string stem = std::string("tidl_trace_subgraph_0_") + data + "_" + batch + channels + "_00007x00005";
      const Tensor values = as_nchw(run.tensor(name), channels_of(name));
      write_bytes(folder.path() / (stem + ".y"), values);
      std::vector<float> real(values.values<std::int8_t>().begin(), values.values<std::int8_t>().end());
      write_bytes(folder.path() / (stem + "_float.bin"), Tensor::from<float>(values.shape(), real));
    };
    put("0000", "x", "00003");
    put("0004", "net/y", "00019");
    put("0007", "net/z", "00020");
    write_bytes(folder.path() / "tidl_trace_subgraph_0_0004_weights_float.bin", run.tensor("x"));
    check_holds(run, read_dump(folder.path(), run.model));
  }
}

TEST_CASE("ovxlib: no names, but shapes that only one tensor has") {
  const Run run;
  const Folder folder;
  const auto put = [&](const std::string& file, const std::string& name) {
    write_lines(folder.path() / file, as_nchw(run.tensor(name), channels_of(name)), [](std::int8_t code) { return std::to_string(code); });
  };
  put("CONV2D_uid_1_t_0_s_7_5_19_1.txt", "net/y");
  put("net_CONV2D_uid_2_t_0_s_7_5_20_1.txt", "net/z");
  check_holds(run, read_dump(folder.path(), run.model), 2);
  put("DATACONVERT_uid_3_t_0_s_9_9_1_1.txt", "net/z");
  CHECK(read_dump(folder.path(), run.model).unfit == std::vector<std::string>{"DATACONVERT_uid_3_t_0_s_9_9_1_1.txt"});
}

TEST_CASE("TFLite's Python: numbers and names, with what scripts put around them") {
  const Run run;
  const Folder folder;
  const std::string y = std::to_string(run.trace.find("net/y")->index);
  write_npy(folder.path() / "tensor_000_x_shape-[1 5 7 3].npy", run.tensor("x"));
  write_npy(folder.path() / (y + "_net_y.npy"), run.tensor("net/y"));
  write_npy(folder.path() / "output_net_z_0.npy", run.tensor("net/z"));
  write_npy(folder.path() / "tensor_000_net_z_old.npy", run.tensor("net/z"));  // a number and a name of two tensors
  const NamedTrace dump = read_dump(folder.path(), run.model);
  CHECK(dump.tensors.size() == 3);
  CHECK(dump.unfit == std::vector<std::string>{"tensor_000_net_z_old.npy"});
}

TEST_CASE("a table says whose files are, before their names do") {
  const Run run;
  const Folder folder, tables;
  write_npy(folder.path() / "a.npy", run.tensor("net/y"));
  write_npy(folder.path() / "net_z.npy", run.tensor("net/z"));
  const auto table = [&](const std::string& text) {
    std::ofstream(tables.path() / "names.csv") << text;
    return read_dump_names(tables.path() / "names.csv");
  };
  CHECK(read_dump(folder.path(), run.model).unfit == std::vector<std::string>{"a.npy"});
  check_holds(run, read_dump(folder.path(), run.model, {.names = table("file,tensor\r\na.npy,net/y\r\n")}), 2);
  check_holds(run, read_dump(folder.path(), run.model, {.names = table("# of the board\n\na,Conv_0\n")}), 2);
  CHECK(refusal(folder.path(), run.model, {.names = table("b.npy,net/y\n")}).find("has no file 'b.npy'") != std::string::npos);
  const std::string unknown = refusal(folder.path(), run.model, {.names = table("a,net/yy\n")});
  CHECK(unknown.find("no tensor 'net/yy'") != std::string::npos);
  CHECK(unknown.find("net/y") != std::string::npos);
  for (const char* wrong : {"a.npy\n", ",x\n", "a,\n", "a,x\na,net/y\n"}) CHECK_THROWS_AS(table(wrong), Error);
  CHECK_THROWS_AS(read_dump_names(tables.path() / "absent.csv"), Error);
}

TEST_CASE("files that hold no tensor are refused with what is wrong and where") {
  const Run run;
  const Folder folder;
  const auto refused = [&](const std::string& file, const std::string& content) {
    const fs::path path = folder.path() / file;
    std::ofstream(path, std::ios::binary) << content;
    const std::string message = refusal(folder.path(), run.model);
    fs::remove(path);
    CHECK(std::ranges::count(message, '\n') == 0);
    return message;
  };
  CHECK(refused("net_y.txt", "1\n2 three\n").find("'three', value 2, is no number") != std::string::npos);
  CHECK(refused("net_y.txt", "1 \x1b[2J\x13").find("'?[2J?', value 1, is no number") != std::string::npos);
  CHECK(refused("net_y.txt", " \n").find("holds no number") != std::string::npos);
  CHECK(refused("net_y.txt", "1 2 3\n").find("tensor 'net/y' is 1x5x7x19") != std::string::npos);
  CHECK(refused("net_y.bin", "").find("0 bytes") != std::string::npos);
  CHECK(refused("net_y.bin", std::string(100, 'x')).find("tensor 'net/y' is 1x5x7x19") != std::string::npos);
  CHECK(refused("net_y.npy", "no array").find("net_y.npy") != std::string::npos);
  CHECK(refused("unknown.bin", "12").find("no file of values is named after a tensor") != std::string::npos);
  CHECK(refused("1_A_net_y_shape_99999999999999_1_int8.npy", "x").find("npy") != std::string::npos);
  CHECK(refused("Conv2D.Conv_0.1.2.3.output.99999999999999999999.npy", "x").find("no file of values") != std::string::npos);
}
