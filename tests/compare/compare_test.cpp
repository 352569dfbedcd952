// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/compare.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compare/report_fields.hpp"
#include "engine/parallel.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/tolerance.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

Tensor int8(const Shape& shape, const std::vector<std::int8_t>& values) { return Tensor::from<std::int8_t>(shape, values); }

/// x -> fully connected (identity, halved) -> reshape -> softmax. 1 * 64 / 128 is a tie: 0.5 becomes 1 on the CPU and 0 on the VIPNano.
Model halving() {
  return parse_json_model(R"({
    "format": "lastbit.model.v1", "name": "halving",
    "tensors": [
      {"name": "x", "type": "int8", "shape": [1, 2], "quantization": {"scale": [1]}},
      {"name": "weights", "type": "int8", "shape": [2, 2], "quantization": {"scale": [0.0078125]}, "data": [64, 0, 0, 64]},
      {"name": "half", "type": "int8", "shape": [1, 2], "quantization": {"scale": [1]}},
      {"name": "flat", "type": "int8", "shape": [2], "quantization": {"scale": [1]}},
      {"name": "out", "type": "int8", "shape": [2], "quantization": {"scale": [0.00390625], "zero_point": [-128]}}
    ],
    "operations": [
      {"op": "fully_connected", "name": "fc", "inputs": ["x", "weights", null], "outputs": ["half"], "attributes": {}},
      {"op": "reshape", "name": "flatten", "inputs": ["half"], "outputs": ["flat"], "attributes": {}},
      {"op": "softmax", "name": "softmax", "inputs": ["flat"], "outputs": ["out"], "attributes": {}}
    ],
    "inputs": ["x"], "outputs": ["out"]})",
                          ".", "test");
}

/// Three samples: [1, 4] has one tie, [2, 6] none, [-3, 5] two.
std::vector<Tensor> samples() { return {int8({3, 1, 2}, {1, 4, 2, 6, -3, 5})}; }

CompareReport compare_halving(Golden golden = Golden::without) {
  return compare_backends(halving(), find_backend("tflite_double"), find_backend("vipnano_v8"), samples(), {.golden = golden});
}

/// In characters, of which those outside ASCII have several bytes.
std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::ptrdiff_t longest = 0;
  for (std::string line; std::getline(lines, line);)
    longest = std::max(
        longest, std::count_if(line.begin(), line.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
  return static_cast<std::size_t>(longest);
}

}  // namespace

TEST_CASE("a histogram has a place for every difference") {
  LsbHistogram histogram;
  for (const std::int64_t d : {-1000, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 1000}) histogram.add(d);
  CHECK(histogram.counts == std::array<std::int64_t, 9>{2, 1, 1, 1, 2, 1, 1, 1, 2});
}

TEST_CASE("integers of the same quantisation differ in LSB") {
  const Quantization q{{0.5}, {1}, 0};
  const TensorDifference d = difference(int8({1, 2, 2}, {1, 2, -128, 127}), q, int8({1, 2, 2}, {1, 4, -127, 127}), q);
  CHECK(d.differing == 2);
  CHECK(d.share() == 0.5);
  CHECK(d.largest_lsb == 2);
  CHECK(d.histogram.counts == std::array<std::int64_t, 9>{0, 0, 0, 0, 2, 1, 1, 0, 0});
  REQUIRE(d.first);
  CHECK(d.first->index == 1);
  CHECK(d.first->a == 2);
  CHECK(d.first->b == 4);
  CHECK(coordinates(d.shape, d.first->index) == std::vector<std::int64_t>{0, 0, 1});
  CHECK(d.saturated_a == 2);
  CHECK(d.saturated_b == 1);
  CHECK(d.metrics.max_absolute_error == 1);
  CHECK(difference(int8({2}, {0, 0}), q, int8({2}, {1, -2}), q).largest_lsb == -2);
}

TEST_CASE("integers of another quantisation, and floats, are compared as real values") {
  const TensorDifference d = difference(int8({2}, {2, 3}), {{0.5}, {}, 0}, int8({2}, {1, 1}), {{1}, {}, 0});
  CHECK(d.differing == 1);
  CHECK_FALSE(d.largest_lsb);
  CHECK(d.first->a == 1.5);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = Tensor::from<float>({3}, std::vector<float>{1, nan, 3});
  const Tensor b = Tensor::from<float>({3}, std::vector<float>{1, nan, nan});
  CHECK(difference(a, {}, b, {}).differing == 1);
  CHECK(difference(a, {}, b, {}).metrics.non_finite_truth == 1);
  CHECK(difference(a, {}, b, {}).metrics.non_finite_mine == 2);
}

TEST_CASE("integers and floats that float32 does not hold are compared, and measured, in a wider arithmetic") {
  const auto one_of = []<class T>(T value) { return Tensor::from<T>({2}, std::vector<T>{value, T{100}}); };
  const auto by_three = [&]<class T>(T value, const Quantization& q) {
    const TensorDifference d = difference(one_of(value), q, one_of(static_cast<T>(value + 3)), q);
    CHECK(d.differing == 1);
    CHECK(d.largest_lsb == 3);
    CHECK(d.metrics.max_absolute_error == 3 * q.scale());
    CHECK(d.metrics.mean_absolute_error == 1.5 * q.scale());
    CHECK(std::isfinite(d.metrics.sqnr_db));
    CHECK(d.metrics.max_relative_error > 0);
    CHECK(difference(one_of(value), q, one_of(value), q).metrics.max_absolute_error == 0);
  };
  by_three(std::int32_t{1} << 30, {});
  by_three(std::int32_t{1} << 30, {{0.25}, {7}, 0});
  by_three(std::int64_t{1} << 60, {});
  by_three(std::int64_t{1} << 60, {{0.25}, {}, 0});
  by_three(std::numeric_limits<std::int64_t>::min(), {{0.25}, {std::numeric_limits<std::int64_t>::max()}, 0});
  const TensorDifference d = difference(one_of(1.0), {}, one_of(1.0 + 0x1p-40), {});
  CHECK(d.metrics.max_absolute_error == 0x1p-40);
  CHECK(std::isfinite(d.metrics.sqnr_db));
}

TEST_CASE("wide integers of another type or quantisation are equal only where they are") {
  const Tensor wide = Tensor::from<std::int64_t>({1}, std::vector<std::int64_t>{16777217});
  const auto of = [](std::int32_t value) { return Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{value}); };
  CHECK(difference(wide, {}, of(16777217), {}).differing == 0);
  CHECK(difference(wide, {}, of(16777216), {}).differing == 1);
  CHECK(difference(wide, {{0.5}, {}, 0}, of(33554434), {{0.25}, {}, 0}).differing == 0);
  CHECK(difference(wide, {{0.5}, {}, 0}, of(33554433), {{0.25}, {}, 0}).differing == 1);
  const Tensor real = Tensor::from<float>({1}, std::vector<float>{16777216});  // which holds no 16777217
  CHECK(difference(wide, {}, real, {}).differing == 0);
  CHECK(difference(wide, {}, real, {}).metrics.max_absolute_error == 0);
  const double largest = 1e200, least = 1e-200;
  const Tensor doubles = Tensor::from<double>({2}, std::vector<double>{largest, least}),
               others = Tensor::from<double>({2}, std::vector<double>{largest, 2 * least});
  CHECK(difference(doubles, {}, others, {}).metrics.cosine == 1);
  CHECK(std::isfinite(difference(doubles, {}, others, {}).metrics.sqnr_db));
}

TEST_CASE("the least cosine that is asked for says something of the smallest values too") {
  const Tensor a = Tensor::from<float>({2}, std::vector<float>{1e-20F, 0}), b = Tensor::from<float>({2}, std::vector<float>{0, 1e-20F});
  CHECK(excess(difference(a, {}, b, {}), {.max_lsb = {}, .max_share = {}, .min_cosine = 0.99}) == "cosine 0, allowed at least 0.99");
}

TEST_CASE("the largest value of each sample; the first of several") {
  CHECK(top_positions(int8({3, 2}, {1, 2, 5, 5, 9, -9}), 2) == std::vector<std::int64_t>{1, 0, 0});
}

TEST_CASE("two backends, layer by layer, over a batch") {
  const CompareReport report = compare_halving();
  REQUIRE(report.layers.size() == 4);
  CHECK(report.layers[0].operation == "input");
  const LayerDifference& half = report.layers[1];
  CHECK(half.name == "half");
  CHECK(half.accumulated.values == 6);
  CHECK(half.accumulated.differing == half.same_input->differing);
  CHECK(half.accumulated.differing > 0);
  CHECK(report.first_divergence() == &half);
  CHECK(report.layers[2].accumulated.differing == half.accumulated.differing);
  CHECK(report.layers[2].same_input->differing == 0);  // a reshape differs by its history only
  CHECK(report.outputs.size() == 1);
  CHECK(report.outputs[0].samples == 3);
  CHECK(report.layers[2].assumptions.empty());
  CHECK_FALSE(report.layers[3].assumptions.empty());
  CHECK_FALSE(report.equal());
}

TEST_CASE("floats of one type are compared by their bits, real values as numbers") {
  const Tensor zeros = Tensor::from<float>({2}, std::vector<float>{0.0F, -0.0F}),
               positive = Tensor::from<float>({2}, std::vector<float>{0.0F, 0.0F});
  CHECK(difference(zeros, {}, positive, {}).differing == 1);
  CHECK(difference(zeros, {}, positive, {}).first->index == 1);
  CHECK(difference(zeros, {}, zeros, {}).differing == 0);
  CHECK(difference(int8({2}, {0, 0}), {{1}, {}, 0}, zeros, {}).differing == 0);
}

// Both sides compute float32: equal, and nothing of either device was compared.
TEST_CASE("what the float path computes for a device is named in the first line") {
  const Model model = parse_json_model(R"({
    "format": "lastbit.model.v1", "name": "never quantised",
    "tensors": [{"name": "x", "type": "float32", "shape": [2]}, {"name": "flat", "type": "float32", "shape": [1, 2]},
                {"name": "y", "type": "float32", "shape": [1, 2]}],
    "operations": [{"op": "reshape", "name": "flatten", "inputs": ["x"], "outputs": ["flat"], "attributes": {}},
                   {"op": "relu", "name": "relu", "inputs": ["flat"], "outputs": ["y"], "attributes": {}}],
    "inputs": ["x"], "outputs": ["y"]})",
                                       ".", "test");
  const std::vector<Tensor> x{Tensor::from<float>({2}, std::vector<float>{-1, 1})};
  const SpecSheet device = find_backend("bernoulli2"), golden = find_backend("float");
  const CompareReport report = compare_backends(model, golden, device, x);
  CHECK(report.equal());
  REQUIRE(report.not_emulated.size() == 1);
  CHECK(to_text(report).starts_with("Not emulated: bernoulli2: 1 of 2 operations"));
  CHECK_THAT(to_json(report), test::contains_text("\"bernoulli2: 1 of 2 operations"));
  CHECK(compare_backends(model, golden, golden, x).not_emulated.empty());
  CHECK(compare_halving().not_emulated.empty());
}

TEST_CASE("a backend equals itself") {
  const SpecSheet sheet = find_backend("xnnpack");
  CHECK(compare_backends(halving(), sheet, sheet, samples()).equal());
}

TEST_CASE("the same report on any number of threads, of one sample and of several") {
  const ScopedFinestParts finest;
  for (const std::vector<Tensor>& inputs : {samples(), std::vector<Tensor>{int8({1, 2}, {1, 4})}}) {
    const auto report = [&](int threads) {
      return to_json(compare_backends(halving(), find_backend("tflite_double"), find_backend("vipnano_v8"), inputs,
                                      {.golden = Golden::with, .threads = threads}));
    };
    for (const int threads : {2, 3}) CHECK(report(threads) == report(1));
  }
}

TEST_CASE("the golden column holds both sides against the float path") {
  const CompareReport report = compare_halving(Golden::with);
  REQUIRE(report.layers[1].golden);
  CHECK(report.layers[1].golden->a.max_absolute_error == 0.5);
  CHECK(report.layers[1].golden->b.max_absolute_error == 0.5);
  CHECK(report.layers[0].golden->a.cosine == 1);
  CHECK(report.golden == "float");
  CHECK_THAT(to_text(report), test::contains_text("fl.: float, golden path"));
  CHECK_THAT(to_json(report), test::contains_text(R"("golden": "float")"));
}

TEST_CASE("float against integer: fed with real values one way, not the other") {
  const SpecSheet cpu = find_backend("tflite_double"), golden = find_backend("float");
  CHECK(compare_backends(halving(), cpu, golden, samples()).layers[1].same_input);
  CHECK_FALSE(compare_backends(halving(), golden, cpu, samples()).layers[1].same_input);
}

TEST_CASE("traces are matched by name; what has no counterpart is listed") {
  NamedTrace a = run_named(halving(), find_backend("tflite_double"), samples());
  NamedTrace b = run_named(halving(), find_backend("vipnano_v8"), samples());
  a.tensors.erase(a.tensors.begin() + 1);
  b.tensors[2].index = 77;
  b.tensors[3].name = "renamed";
  const CompareReport report = compare_traces(a, b);
  CHECK(report.layers.size() == 2);
  CHECK(report.only_in_a == std::vector<std::string>{"out"});
  CHECK(report.only_in_b == std::vector<std::string>{"half", "renamed"});
  b.tensors[0].values = int8({1, 2}, {0, 0});  // one sample without an axis of them
  CHECK(compare_traces(a, b).layers[0].samples == 1);
  b.tensors[0].values = int8({1, 3}, {0, 0, 0});
  CHECK_THROWS_AS(compare_traces(a, b), Error);
  b.tensors.clear();
  CHECK_THROWS_AS(compare_traces(a, b), Error);
}

TEST_CASE("of two batches the samples that both hold are compared, and the report says so") {
  const SpecSheet cpu = find_backend("tflite_double");
  const std::vector<Tensor> first_two{int8({2, 1, 2}, {1, 4, 2, 6})};
  const CompareReport report = compare_traces(run_named(halving(), cpu, samples()), run_named(halving(), cpu, first_two));
  CHECK(report.equal());
  CHECK(report.layers[1].accumulated.values == 4);
  CHECK(report.layers[1].samples == 2);
  CHECK(to_text(report).find("of 4 of 4 tensors only the first 2 were compared") != std::string::npos);
  CHECK_FALSE(compare_halving().layers[1].samples);
}

TEST_CASE("tables fit 100 columns, whatever the names") {
  CompareReport report = compare_halving();
  report.layers[1].name = std::string(300, 'n');
  report.layers[2].name = "\xC3\xA4/\xC3\xB6/\xC3\xBC/\xC3\xA4/\xC3\xB6/\xC3\xBC/\xC3\xA4/\xC3\xB6/\xC3\xBC";
  report.layers[3].operation = "global_average_pool";
  report.layers[3].accumulated.largest_lsb = -65535;
  const std::string text = to_text(report, Detail::everything);
  CHECK(longest_line(text.substr(0, text.find("First difference"))) <= 100);
  CHECK(longest_line(to_text(compare_halving(Golden::with), Detail::everything)) <= 100);
}

TEST_CASE("CSV has as many fields in every line; JSON writes infinity as text") {
  CompareReport report = compare_halving(Golden::with);
  report.layers[1].name = "plain";
  std::istringstream lines(to_csv(report));
  std::string line;
  std::getline(lines, line);
  const auto fields = std::count(line.begin(), line.end(), ',');
  int count = 0;
  for (; std::getline(lines, line); ++count) CHECK(std::count(line.begin(), line.end(), ',') == fields);
  CHECK(count == 7);  // an input, and three layers of two differences
  report.layers[1].accumulated.metrics.non_finite_truth = 3;
  report.layers[1].accumulated.metrics.non_finite_mine = 5;
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["layers"][1]["accumulated"]["non_finite"] == nlohmann::json{{"a", 3}, {"b", 5}});
  CHECK(to_json(report).find("\"sqnr_db\": \"inf\"") != std::string::npos);
}

TEST_CASE("a name that a spreadsheet would compute is text in CSV") {
  CHECK(csv_cell("conv_1/Conv2D") == "conv_1/Conv2D");
  CHECK(csv_cell("") == "");
  CHECK(csv_cell("a,\"b\"") == "\"a,\"\"b\"\"\"");
  CHECK(csv_cell("=HYPERLINK(\"x\",1)") == "\"'=HYPERLINK(\"\"x\"\",1)\"");
  for (const char* name : {"=1", "+1", "-1", "@a", "\ta"}) CHECK(csv_cell(name) == std::string("'") + name);
  CHECK(csv_cell("a=1") == "a=1");
}

namespace {

/// Seconds of the processor that comparing the tensors of a chain of small additions takes.
double seconds_to_compare(int operations) {
  ModelBuilder builder("chain");
  const auto tensor = [](int number) {
    return TensorDescription{"t" + std::to_string(number), ElementType::int8, Shape({1, 2}), {{1}, {}}};
  };
  std::int32_t last = builder.input(tensor(0));
  for (int i = 1; i <= operations; ++i) last = builder.operation(OperationKind::add, {last, last}, tensor(i));
  const Model model = builder.finished({last});
  const std::vector<Tensor> inputs = {int8({1, 2}, {1, 2})};
  const Emulator judge(model, find_backend("xnnpack").backend);
  const NamedTrace a = run_named(model, find_backend("tflite_double"), inputs), b = run_named(model, find_backend("xnnpack"), inputs);
  const std::clock_t begin = std::clock();
  CompareReport report = compare_traces(a, b);
  add_same_input(report, a, judge);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  CHECK(report.layers.size() == static_cast<std::size_t>(operations) + 1);
  return seconds;
}

}  // namespace

TEST_CASE("eight times as many operations take eight times as long to compare, not sixty-four") {
  const double few = seconds_to_compare(2500), many = seconds_to_compare(20000);
  INFO(few << " s and " << many << " s");
  CHECK(many < 40 * few);
}

TEST_CASE("tolerances of layers: the longest pattern that fits, and no pattern takes long") {
  Tolerances tolerances;
  const auto most_lsb = [&](const std::string& pattern, std::int64_t lsb) {
    tolerances.layers.push_back({pattern, {.max_lsb = lsb, .max_share = {}, .min_cosine = {}}});
  };
  most_lsb("*", 1), most_lsb("conv?", 2), most_lsb("*a*b", 3), most_lsb("*a*a*a*a*a*a*a*a*a*a*a*a*b*c", 4);
  CHECK(tolerances.of(std::nullopt, "conv1").max_lsb == 2);
  CHECK(tolerances.of(std::nullopt, "conv12").max_lsb == 1);
  CHECK(tolerances.of(std::nullopt, "xaybzb").max_lsb == 3);
  CHECK(tolerances.of(std::nullopt, "").max_lsb == 1);
  CHECK(tolerances.of(std::nullopt, std::string(20, 'a') + "bc").max_lsb == 4);
  CHECK(tolerances.of(std::nullopt, std::string(20000, 'a')).max_lsb == 1);
}

TEST_CASE("compare: where values differ, by place and by channel, each as a share of the values there") {
  const Shape shape{2, 3, 2, 4};  // two samples of 3 rows, 2 columns, 4 channels
  std::vector<std::int8_t> values(48, 0);
  const Tensor a = int8(shape, values);
  values[static_cast<std::size_t>(((0 * 3 + 1) * 2 + 0) * 4 + 3)] = 1;   // sample 0, row 1, column 0, channel 3
  values[static_cast<std::size_t>(((1 * 3 + 1) * 2 + 0) * 4 + 3)] = -1;  // the same place of sample 1
  values[static_cast<std::size_t>(((1 * 3 + 2) * 2 + 1) * 4 + 0)] = 5;   // sample 1, row 2, column 1, channel 0
  const DifferencePlaces where = difference(a, {}, int8(shape, values), {}).where;
  REQUIRE(where.rows() == 3);
  REQUIRE(where.columns() == 2);
  REQUIRE(where.channels() == 4);
  CHECK(where.share_at(1, 0) == 2.0 / 8);
  CHECK(where.share_at(2, 1) == 1.0 / 8);
  CHECK(where.share_at(0, 0) == 0);
  CHECK(where.share_of_channel(3) == 2.0 / 12);
  CHECK(where.share_of_channel(0) == 1.0 / 12);
  CHECK(where.share_of_channel(1) == 0);
}

TEST_CASE("compare: a long axis is cut into parts that hold every position once") {
  for (const std::int64_t size : {1, 23, 24, 25, 47, 48, 100, 1001}) {
    DifferencePlaces where{Shape{1, size}};
    for (std::int64_t i = 0; i < size; ++i) where.add(i);
    INFO(size);
    CHECK(where.channels() == std::min<std::int64_t>(size, 24));
    CHECK(where.first_of(2, 0) == 0);
    CHECK(where.first_of(2, where.channels()) == size);
    for (std::int64_t part = 0; part < where.channels(); ++part) CHECK(where.share_of_channel(part) == 1);
    CHECK(where.share_at(0, 0) == 1);
  }
  DifferencePlaces row{Shape{5, 30, 2}};  // five samples of 30 places
  row.add((4 * 30 + 29) * 2);
  CHECK(row.rows() == 1);
  CHECK(row.columns() == 24);
  CHECK(row.share_at(0, 23) > 0);
}
