// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is read as ranges: each form as its tool writes it, and what is refused.
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "lastbit/io/json_model.hpp"
#include "lastbit/ranges.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;

namespace {

/// A file that is read.
class Written {
 public:
  explicit Written(const std::string& text, const std::string& name = "ranges") : path_(folder_.path() / name) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  [[nodiscard]] RangeFile read() const { return read_ranges(path_); }
  /// What is said, behind the folder.
  [[nodiscard]] std::string refusal() const {
    const auto refusal = test::refusal_of([&] { static_cast<void>(read()); });
    REQUIRE(refusal);
    CHECK(refusal->is_one_line());
    const std::string folder = folder_.path().string() + "/";
    CHECK(refusal->message.starts_with(folder));
    return refusal->message.substr(folder.size());
  }

 private:
  test::Scratch folder_;
  std::filesystem::path path_;
};

struct Expected {
  std::string name;
  double min, max;
};

void check_ranges(const RangeFile& file, const std::vector<Expected>& expected) {
  REQUIRE(file.ranges.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(file.ranges[i].name == expected[i].name);
    CHECK(file.ranges[i].min == expected[i].min);
    CHECK(file.ranges[i].max == expected[i].max);
    CHECK(!file.ranges[i].codes.present());
  }
}

template <class T>
std::string bytes_of_value(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// As N2D2 stores one cell: mean and deviation follow from three moments.
std::string cell_of(const std::string& name, double min, double max) {
  std::string bytes = bytes_of_value(std::uint64_t{name.size()}) + name + bytes_of_value(min) + bytes_of_value(max);
  bytes += bytes_of_value(std::uint64_t{3});
  for (const double moment : {10.0, 1.0, 2.0}) bytes += bytes_of_value(moment);
  return bytes;
}

}  // namespace

TEST_CASE("ranges: a table of min and max; comments, quotes and line ends of Windows") {
  const RangeFile file = Written("# ours\r\ntensor,min,max\r\nx, -1.5 ,2.25\r\n\r\n\"a,\"\"b\"\"\",0,1e-3\n").read();
  check_ranges(file, {{"x", -1.5, 2.25}, {"a,\"b\"", 0, 1e-3}});
  CHECK(!file.names_others);
  CHECK(file.ranges[0].where.ends_with("ranges:3"));
}

TEST_CASE("ranges: a table of scales, and one of both") {
  const RangeFile scales = Written("tensor,scale,zero_point\nx,0.1,-3\ny,2,\n").read();
  CHECK(scales.ranges[0].codes == Quantization{{0.1}, {-3}, 0});
  CHECK(scales.ranges[1].codes == Quantization{{2}, {0}, 0});
  CHECK(Written("tensor,scale\nx,0.5\n").read().ranges[0].codes == Quantization{{0.5}, {0}, 0});
  const RangeFile both = Written("zero_point,tensor,max,min,scale\n,x,2,1,\n7,y,,,0.25\n").read();
  CHECK(both.ranges[0].min == 1);
  CHECK(both.ranges[0].max == 2);
  CHECK(both.ranges[1].codes == Quantization{{0.25}, {7}, 0});
}

TEST_CASE("ranges: what a table may not say") {
  const auto said = [](const std::string& text) { return Written(text).refusal(); };
  CHECK(said("tensor,min,maximum\nx,1,2\n") == "ranges:1: unknown column 'maximum'; did you mean 'max'?");
  CHECK(said("tensor,min\nx,1\n") == "ranges:1: min needs max, and max needs min");
  CHECK(said("tensor\nx\n") == "ranges:1: the columns min and max, or scale, are needed");
  CHECK(said("tensor,zero_point,min,max\nx,1,2,3\n") == "ranges:1: zero_point needs scale");
  CHECK(said("tensor,min,max,min\nx,1,2,1\n") == "ranges:1: column 'min' stands there twice");
  CHECK(said("tensor,min,max\nx,1\n") == "ranges:2: 2 cells; the header has 3");
  CHECK(said("tensor,min,max\nx,1,two\n") == "ranges:2: max 'two' is no number");
  CHECK(said("tensor,min,max\nx,1,\n") == "ranges:2: max '' is no number");
  CHECK(said("tensor,min,max\n,1,2\n") == "ranges:2: no name of a tensor");
  CHECK(said("tensor,min,max\n\"x,1,2\n") == "ranges:2: a quote without an end");
  CHECK(said("tensor,min,max\nx,2,1\n") == "ranges:2: 'x': min is above max");
  CHECK(said("tensor,min,max\nx,0,inf\n") == "ranges:2: 'x': its range is not finite");
  CHECK(said("tensor,min,max\nx,0,1e31\n") == "ranges:2: 'x': its largest magnitude is not between 1e-30 and 1e30");
  CHECK(said("tensor,min,max\nx,-1e-31,0\n") == "ranges:2: 'x': its largest magnitude is not between 1e-30 and 1e30");
  CHECK(Written("tensor,min,max\nx,1e-38,1\n").read().ranges[0].min == 1e-38);
  CHECK(said("tensor,scale\nx,0\n") == "ranges:2: 'x': its scale is not between 2^-126 and 2^30");
  CHECK(said("tensor,scale\nx,nan\n") == "ranges:2: 'x': its scale is not between 2^-126 and 2^30");
  CHECK(said("tensor,scale,zero_point\nx,1,0.5\n") == "ranges:2: zero_point '0.5' is no integer");
  CHECK(said("tensor,scale,zero_point\nx,1,99999999999\n") == "ranges:2: 'x': its zero point has more than 32 bits");
  CHECK(said("tensor,min,max,scale\nx,1,2,3\n") == "ranges:2: min and max, or a scale: not both");
  CHECK(said("tensor,min,max,scale\nx,,,\n") == "ranges:2: neither min and max nor a scale");
  CHECK(said("tensor,min,max\n") == "ranges: a table of ranges without a range");
}

TEST_CASE("ranges: a file of no form, an absent one, one that is too large") {
  CHECK(Written("hello\n").refusal().starts_with("ranges: holds no ranges that are known: "));
  CHECK(Written("").refusal().starts_with("ranges: holds no ranges that are known: "));
  CHECK(Written("tensor,min,max\n" + std::string((16U << 20U) + 1, ' ')).refusal() == "ranges: 16777232 bytes; ranges fit 16777216");
  const auto absent = test::refusal_of([] { static_cast<void>(read_ranges("absent.csv")); });
  REQUIRE(absent);
  CHECK(absent->code == ErrorCode::unreadable_file);
}

TEST_CASE("ranges: TensorRT's calibration cache, bits of float32 without leading zeros") {
  const RangeFile file = Written("TRT-8501-EntropyCalibration2\ninput: 3c010a14\n(Unnamed Layer* 0) [Conv]: out: 800000\nzero: 0\n").read();
  CHECK(file.names_others);
  REQUIRE(file.ranges.size() == 3);
  CHECK(file.ranges[0].name == "input");
  CHECK(file.ranges[0].codes == Quantization{{double{std::bit_cast<float>(0x3c010a14U)}}, {0}, 0});
  CHECK(file.ranges[0].codes.scale() == Approx(1.00025 / 127).epsilon(1e-5));
  CHECK(file.ranges[1].name == "(Unnamed Layer* 0) [Conv]: out");
  CHECK(file.ranges[1].codes.scale() == 0x1p-126);
  check_ranges({{}, {}, true, {file.ranges[2]}}, {{"zero", 0, 0}});
  const auto said = [](const std::string& line) { return Written("TRT-1-EntropyCalibration2\n" + line + "\n").refusal(); };
  CHECK(said("input 3c010a14") == "ranges:2: no line of the form name: bits");
  CHECK(said("input: 3c010a14f") == "ranges:2: '3c010a14f' is no float32 in hexadecimal digits");
  CHECK(said("input:") == "ranges:2: '' is no float32 in hexadecimal digits");
  CHECK(said("input: 7f800000") == "ranges:2: 'input': its scale is not between 2^-126 and 2^30");
  CHECK(said("input: bc010a14") == "ranges:2: 'input': its scale is not between 2^-126 and 2^30");
  CHECK(Written("TRT-1-EntropyCalibration2\n").refusal() == "ranges: TensorRT's calibration cache without a range");
}

TEST_CASE("ranges: hb_mapper's table of nodes within its log, thresholds of the nodes' first inputs") {
  const std::string heading = "Node     ON   Subgraph  Type              Cosine Similarity  Threshold   In/Out DataType\n";
  const RangeFile file = Written("2021-04-20 17:06:20,339 INFO The converted model node information:\n=======\n" + heading +
                                 "-------\n"
                                 "HZ_PRE   BPU  id(0)     HzSQuantizedPreprocess  0.999995  127.000000  int8/int8\n"
                                 "conv1    BPU  id(0)     HzSQuantizedConv  0.999909           253.879395  int8/int8\n"
                                 "requant  BPU  id(0)     HzRequantize      --                 --          int8/int8\n"
                                 "prob     CPU  --        Softmax           0.999998           --          float/float\n"
                                 "=======\n2021-04-20 17:06:21 INFO [BPU x y z 0 none] done\n")
                             .read();
  check_ranges(file, {{"HZ_PRE", -127, 127}, {"conv1", -253.879395, 253.879395}});
  CHECK(file.names_others);
  CHECK(file.ranges[1].of == RangeOf::input);
  CHECK(file.ranges[1].position == 0);
  CHECK(file.ranges[1].where.ends_with(":6"));
  CHECK(Written(heading + "---\nconv1 BPU id(0) Conv 0.9 many\n").refusal() ==
        "ranges:3: threshold 'many' is no number that is not negative");
  CHECK(Written(heading + "---\nconv1 BPU id(0) Conv 0.9 -1\n").refusal() == "ranges:3: threshold '-1' is no number that is not negative");
  CHECK(Written(heading + "---\n").refusal() == "ranges: hb_mapper's table of nodes without a range");
}

TEST_CASE("ranges: the thresholds in N2D2's log") {
  const RangeFile file = Written(
                             "Quantization (8 bits)...\n  Quantizing free parameters:\n  - conv1: 0.25\n  Quantizing activations:\n"
                             "  - conv1: prev=1, act=3.5, bias=0.25\n      quant=255, global scaling=14 -> cell scaling=0.01\n"
                             "  - fc: prev=14, act=7, bias=2\n  Fuse scaling cells:\n  - fuse: fc_rescale_act\n")
                             .read();
  check_ranges(file, {{"conv1", -3.5, 3.5}, {"fc", -7, 7}});
  CHECK(file.ranges[0].of == RangeOf::tensor);
  CHECK(Written("  Quantizing activations:\n  - conv1: prev=1, act=-nan, bias=1\n").refusal() ==
        "ranges:2: 'conv1': its range is not finite");
}

TEST_CASE("ranges: N2D2's outputs_range.dat and outputs_range.bin") {
  const RangeFile printed = Written("env 0 1 0.2 0.3\nconv1 -2.5 4.25 0.1 -nan\n").read();
  check_ranges(printed, {{"env", 0, 1}, {"conv1", -2.5, 4.25}});
  CHECK(printed.ranges[0].of == RangeOf::network_input);
  CHECK(Written("env 0 one 0.2 0.3\n").refusal() == "ranges:1: name, min, max, mean and deviation are needed");
  const std::string state = bytes_of_value(std::uint64_t{2}) + cell_of("conv1", -0.1, 4.2) + cell_of("env", 0, 1);
  check_ranges(Written(state).read(), {{"conv1", -0.1, 4.2}, {"env", 0, 1}});
  for (std::size_t size = 21; size < state.size(); ++size)
    CHECK(Written(state.substr(0, size)).refusal().starts_with("ranges: ends too early, at cell "));
  CHECK(Written(state + "x").refusal() == "ranges: goes on behind its 2 cells");
  std::string wide = state;
  wide.replace(8 + 8 + 5 + 16, 8, bytes_of_value(std::numeric_limits<std::uint64_t>::max() / 8 + 2));  // of moments: wraps to 8 bytes
  CHECK(Written(wide).refusal() == "ranges: ends too early, at cell 0 of 2");
}

TEST_CASE("ranges: what POT and NNCF keep") {
  const RangeFile file = Written(R"({"/a/Conv/WithoutBiases/fq_input_0": [-1.5, 2], "/b/Add/fq_input_1": [0.0, 3],
    "Tanh_2/fq_output_0": {"input_low": 0.0, "input_high": [[0.5]], "output_low": 0.0, "output_high": 0.5},
    "a/Conv/fq_weights_1": {"input_low": [[-1], [-2]], "input_high": [[1], [2]]},
    "plain": {"min": -1, "max": 1},
    "QuantizeLinear_Conv1_W_1": {"scale": [0.5, 0.25], "zero_point": [0, 0]}, "QuantizeLinear_X_12": {"scale": 0.125, "zero_point": 7}})")
                             .read();
  REQUIRE(file.ranges.size() == 6);  // without those per channel, which weights have
  CHECK(file.names_others);
  const auto find = [&](const std::string& name) { return *std::ranges::find(file.ranges, name, &TensorRange::name); };
  const TensorRange conv = find("/a/Conv"), sum = find("/b/Add"), tanh = find("Tanh_2");
  check_ranges({{}, {}, true, {conv, sum, tanh, find("plain")}},
               {{"/a/Conv", -1.5, 2}, {"/b/Add", 0, 3}, {"Tanh_2", 0, 0.5}, {"plain", -1, 1}});
  CHECK((conv.of == RangeOf::input && conv.position == 0));
  CHECK((sum.of == RangeOf::input && sum.position == 1));
  CHECK((tanh.of == RangeOf::output && tanh.position == 0));
  CHECK(find("Conv1_W").codes == Quantization{{0.5, 0.25}, {0, 0}, -1});
  CHECK(find("X").codes == Quantization{{0.125}, {7}, -1});
  const auto said = [](const std::string& text) { return Written(text).refusal(); };
  CHECK(said(R"({"a": [1, 2, 3]})") == "ranges: 'a': neither [min, max] nor input_low and input_high nor scale");
  CHECK(said(R"({"a": ["1", 2]})") == "ranges: 'a': a number is needed, or a list of them");
  CHECK(said(R"({"a": {"min": 1, "max": [2, 3]}})") == "ranges: 'a': not as many of min as of max");
  CHECK(said(R"({"a": {"scale": [1, 1], "zero_point": [0, 0, 0]}})") == "ranges: 'a': as many zero points as scales are needed");
  CHECK(said(R"({"a": {"scale": 1, "zero_point": 0.5}})") == "ranges: 'a': a zero point is no integer");
  CHECK(said("{}") == "ranges: ranges of OpenVINO's tools without a range");
  CHECK(said(R"({"a": )").starts_with("ranges"));
  CHECK(said(std::string(100, '[') + std::string(100, ']')).starts_with("ranges: holds no ranges"));
}

TEST_CASE("ranges: a quantised model gives scales and zero points, and what quantize reads has them too") {
  test::Network network;
  const auto x = network.real("x", {1, 2}), q = network.tensor("q", ElementType::uint8, {1, 2}, {{0.5}, {128}, 0}),
             y = network.tensor("y", ElementType::uint8, {1, 2}, {{0.25}, {0}, 0}), z = network.real("z", {1, 2});
  network.operation(OperationKind::quantize, {x}, {q});
  network.operation(OperationKind::relu, {q}, {y});
  network.operation(OperationKind::dequantize, {y}, {z});
  network.model.inputs = {x};
  network.model.outputs = {z};
  const test::Scratch folder;
  write_json_model(folder.path() / "m.json", network.model);
  const RangeFile file = read_ranges(folder.path() / "m.json");
  REQUIRE(file.ranges.size() == 4);
  CHECK(file.names_others);
  for (const TensorRange& range : file.ranges) {
    INFO(range.name);
    CHECK(range.type == ElementType::uint8);
    CHECK(range.codes == (range.name == "q" || range.name == "x" ? Quantization{{0.5}, {128}, 0} : Quantization{{0.25}, {0}, 0}));
  }
}

TEST_CASE("ranges: what is written is read again, to the last bit") {
  const test::Scratch folder;
  const auto file = folder.path() / "r.csv";
  write_ranges(file, std::vector<TensorRange>{{.name = "a,\"b\"", .where = {}, .min = -0.1, .max = 1.0 / 3},
                                              {.name = " c", .where = {}, .codes = {{1e-7 / 3}, {-5}, 0}}});
  const RangeFile read = read_ranges(file);
  REQUIRE(read.ranges.size() == 2);
  check_ranges({{}, {}, false, {read.ranges[0]}}, {{"a,\"b\"", -0.1, 1.0 / 3}});
  CHECK(read.ranges[1].name == " c");
  CHECK(read.ranges[1].codes == Quantization{{1e-7 / 3}, {-5}, 0});
}
