// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A float network, its emulated model and a board: what each column says, against the same computed step by step; and boards that are not their data
// sheet, of which the first layer and the rule are named.
#include "lastbit/replay.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lastbit/dequantize.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/residual_network.hpp"
#include "support/two_convolutions.hpp"
#include "support/two_devices.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

constexpr std::size_t second = 1;  // of the two convolutions
constexpr std::int32_t y = 2, z = 4;

SpecSheet with_rule(SpecSheet sheet, const std::string& rule, const std::string& value) {
  set_rule(sheet.backend, rule, value);
  return sheet;
}

NamedTrace without(NamedTrace dump, const std::string& name) {
  std::erase_if(dump.tensors, [&](const NamedTensor& tensor) { return tensor.name == name; });
  return dump;
}

NamedTensor& tensor_of(NamedTrace& dump, const std::string& name) { return *std::ranges::find(dump.tensors, name, &NamedTensor::name); }

const ReplayLayer& layer_called(const ReplayReport& report, const std::string& name) {
  return *std::ranges::find(report.layers, name, &ReplayLayer::name);
}

/// The nearest code, the larger in magnitude of two: as tflite_double makes codes.
Tensor coded(const Tensor& real, const ModelTensor& tensor) {
  Tensor codes(ElementType::int8, real.shape());
  const auto scale = static_cast<float>(tensor.quantization.scale());
  for (std::size_t i = 0; i < codes.values<std::int8_t>().size(); ++i) {
    const float code = std::round(real.values<float>()[i] / scale) + static_cast<float>(tensor.quantization.zero_point());
    codes.values<std::int8_t>()[i] = static_cast<std::int8_t>(std::clamp(code, -128.0F, 127.0F));
  }
  return codes;
}

void check_same(const ElementMetrics& a, const ElementMetrics& b) {
  CHECK(a.cosine == b.cosine);
  CHECK(a.sqnr_db == b.sqnr_db);
  CHECK(a.max_absolute_error == b.max_absolute_error);
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

bool says(const std::string& text, const std::string& part) {
  std::string flat = text;
  std::ranges::replace(flat, '\n', ' ');
  for (std::size_t at = 0; (at = flat.find("  ")) != std::string::npos;) flat.erase(at, 1);
  return flat.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("replay: a board that is its data sheet, and losses as compare --golden has them") {
  const ResidualNetwork network(3);
  const SpecSheet sheet = find_backend("vipnano_v8");
  const ReplayReport report = replay(network.model, run_named(network.model, sheet, network.inputs), sheet, network.inputs);
  CHECK(report.equal());
  CHECK(report.compared() == 9);
  CHECK(report.fed() == 9);
  CHECK(report.first_deviation() == nullptr);
  CHECK_FALSE(report.cause);
  REQUIRE(report.layers.size() == 10);
  const CompareReport golden = compare_backends(network.model, sheet, sheet, network.inputs, {.golden = Golden::with});
  REQUIRE(golden.layers.size() == 10);
  int lossy = 0;
  for (const LayerDifference& layer : golden.layers) {
    INFO(layer.name);
    REQUIRE(report.loss_of(layer.tensor) != nullptr);
    check_same(report.loss_of(layer.tensor)->accumulated.metrics, layer.golden->b);
    lossy += layer.golden->b.cosine < 1 ? 1 : 0;
    CHECK(layer_called(report, layer.name).match == MatchedBy::itself);
    CHECK(report.deviation_of(layer.tensor)->accumulated.differing == 0);
  }
  CHECK(lossy >= 8);
  const std::string text = to_text(report);
  CHECK(says(text, "The board is its data sheet on all 9 layers compared, 9 of them fed with the board's own tensors."));
  CHECK(longest_line(text) <= 100);
}

TEST_CASE("replay: the own loss is that of the layer on the float network's tensors, as codes") {
  const TwoConvolutions network(31, 2.0);
  const SpecSheet sheet = find_backend("tflite_double");
  const ReplayReport report = replay(network.model, run_named(network.model, sheet, network.inputs), sheet, network.inputs);
  const Trace golden = run(network.model, find_backend("float").backend, network.inputs, {.keep_all = true});
  const Model layer = extract_operation(network.model, second);
  const Trace alone = run(layer, sheet.backend, std::vector{coded(*golden.tensors[y], network.model.tensor(y))});
  const Tensor output = dequantized(*alone.tensors[static_cast<std::size_t>(layer.outputs[0])], network.model.tensor(z).quantization);
  const ElementMetrics expected = element_metrics(output.values<float>(), golden.tensors[z]->values<float>());
  REQUIRE(report.loss_of(z)->same_input);
  check_same(report.loss_of(z)->same_input->metrics, expected);
  CHECK(report.loss_of(z)->same_input->metrics.sqnr_db != report.loss_of(z)->accumulated.metrics.sqnr_db);
  // The first layer has no history: both are the same.
  check_same(report.loss_of(y)->same_input->metrics, report.loss_of(y)->accumulated.metrics);
  const bool first_is_worse = report.loss_of(y)->same_input->metrics.sqnr_db < expected.sqnr_db;
  CHECK(report.most_lost()->tensor == (first_is_worse ? y : z));
}

TEST_CASE("replay: the first layer in which a board follows another rule, and the rule") {
  const TwoConvolutions network(11, 0.47);
  const SpecSheet base = find_backend("tflite_double");
  for (const auto& [rule, value] : {std::pair<std::string, std::string>{"conv.i8.output.chain.1.rounding", "floor"},
                                    {"conv.i8.accumulator.bits", "14"},
                                    {"conv.i8.output.chain.2.rounding", "floor"}}) {
    for (const std::size_t operations_of_base : {std::size_t{0}, second}) {
      INFO(rule << " = " << value << " from layer " << operations_of_base);
      const NamedTrace dump = dump_of_two(network.model, base, with_rule(base, rule, value), operations_of_base, network.inputs);
      const ReplayReport report = replay(network.model, dump, base, {});
      CHECK_FALSE(report.equal());
      REQUIRE(report.first_deviation() != nullptr);
      CHECK(report.first_deviation()->number == operations_of_base);
      CHECK(report.first_deviation()->same_input->differing > 0);
      if (operations_of_base == second) CHECK(report.deviation_of(y)->same_input->differing == 0);
      REQUIRE(report.cause);
      REQUIRE(report.cause->layers.size() == 1);
      CHECK(report.cause->layers[0].number == operations_of_base);
      CHECK(std::ranges::any_of(report.cause->layers[0].explanations, [&, &rule = rule, &value = value](const RuleChange& change) {
        return change.name == rule && change.what.ends_with("-> " + value);
      }));
      const std::string text = to_text(report);
      CHECK(says(text, "First layer where the board is not its data sheet: layer " + std::to_string(operations_of_base)));
      CHECK(says(text, "explained by"));
      CHECK(longest_line(text) <= 100);
    }
  }
}

TEST_CASE("replay: one value of one tensor") {
  const TwoConvolutions network(12, 0.47);
  const SpecSheet sheet = find_backend("tflite_double");
  NamedTrace dump = run_named(network.model, sheet, network.inputs);
  const auto codes = tensor_of(dump, "y").values.values<std::int8_t>();
  const auto at =
      static_cast<std::size_t>(std::ranges::find_if(codes, [](std::int8_t code) { return code < 100 && code > -100; }) - codes.begin());
  codes[at] = static_cast<std::int8_t>(codes[at] + 3);
  const ReplayReport report = replay(network.model, dump, sheet, network.inputs);
  const LayerDifference* const first = report.first_deviation();
  REQUIRE(first != nullptr);
  CHECK(first->number == 0U);
  CHECK(first->same_input->differing == 1);
  CHECK(first->same_input->largest_lsb == -3);  // emulated - board
  CHECK(first->same_input->first->index == static_cast<std::int64_t>(at));
  // What follows is the board's own history without that value: equal accumulated, different on the board's tensors.
  CHECK(report.deviation_of(z)->accumulated.differing == 0);
  CHECK(report.deviation_of(z)->same_input->differing > 0);
  CHECK_FALSE(report.equal());
  CHECK(says(to_text(report), "1 of 2304 values differ (0.04%), by at most 3 LSB"));
}

TEST_CASE("replay: what the dump lacks is said, and never equal") {
  const TwoConvolutions network(13, 0.47);
  const SpecSheet base = find_backend("tflite_double");
  const NamedTrace whole = run_named(network.model, base, network.inputs);
  const ReplayReport part = replay(network.model, without(whole, "y"), base, network.inputs);
  CHECK(part.equal());
  CHECK(part.compared() == 1);
  CHECK(part.fed() == 0);
  CHECK(part.deviation_of(y) == nullptr);
  CHECK_FALSE(part.deviation_of(z)->same_input);
  CHECK(says(to_text(part), "on the 1 layer compared, 0 of them fed"));
  CHECK(says(to_text(part), "Of 2 tensors that the network computes, 1 were matched by the dump."));
  CHECK(says(to_text(part), "0 y conv2d"));
  CHECK(says(to_text(part), " missing"));
  CHECK(says(to_text(part), "not fed equal"));
  CHECK_FALSE(replay(network.model, without(whole, "y"), base, network.inputs, {.required = DumpRequirement{true, 100}}).equal());

  const NamedTrace changed = run_named(network.model, with_rule(base, "conv.i8.accumulator.bits", "13"), network.inputs);
  const ReplayReport late = replay(network.model, without(changed, "y"), base, network.inputs);
  REQUIRE(late.first_deviation() != nullptr);
  CHECK(late.first_deviation()->tensor == z);
  CHECK(says(to_text(late), "it or a layer before it, as it cannot be fed"));
  REQUIRE(late.cause);
  CHECK(late.cause->layers[0].note.find("as the dump lacks it: y") != std::string::npos);

  CHECK_THROWS_WITH(replay(network.model, without(without(whole, "y"), "z"), base, network.inputs),
                    contains_text("the output of no layer"));
  CHECK_THROWS_WITH(replay(network.model, without(whole, "x"), base, {}), contains_text("input 'x': neither given nor in the dump"));
}

TEST_CASE("replay: a board that was given another input, and one whose tensors are misread") {
  const TwoConvolutions network(14, 4.0);
  const SpecSheet sheet = find_backend("tflite_double");
  NamedTrace dump = run_named(network.model, sheet, network.inputs);
  Tensor other = network.inputs[0];
  add_offset(other, 1);
  const ReplayReport report = replay(network.model, dump, sheet, std::vector{other});
  CHECK_FALSE(report.equal());
  CHECK(report.first_deviation() == nullptr);  // every layer is right on the board's own tensors
  CHECK(says(to_text(report), "The board was given another 'x': "));

  put_channels_first(tensor_of(dump, "y").values, network.model.tensor(y).shape);
  const ReplayReport misread = replay(network.model, dump, sheet, network.inputs);
  CHECK_FALSE(misread.equal());
  REQUIRE(misread.deviation.misread.size() == 1);
  CHECK(says(to_text(misread), "Misread: tensor 'y': its values stand in the order NCHW"));
}

TEST_CASE("replay: an input that the dump lacks is the given one, of as many samples as the dump has") {
  const ResidualNetwork network(3);
  const SpecSheet base = find_backend("tflite_double");
  const SpecSheet board = with_rule(base, "conv.i8.output.chain.2.rounding", "floor");
  const std::vector<Tensor> two{Tensor::from<std::int8_t>({2, 1, 8, 8, 4}, network.inputs[0].values<std::int8_t>().first(512))};
  for (const std::vector<Tensor>& dumped : {network.inputs, two}) {
    const NamedTrace dump = without(run_named(network.model, board, dumped), "x");
    const ReplayReport report = replay(network.model, dump, base, network.inputs);
    CHECK(report.deviation_of(0) == nullptr);
    REQUIRE(report.first_deviation() != nullptr);
    CHECK(report.first_deviation()->name == "y");
    REQUIRE(report.first_deviation()->same_input);
    CHECK(report.first_deviation()->same_input->values == dumped[0].element_count() * 2);
    REQUIRE(report.cause);
    CHECK_FALSE(report.cause->layers[0].explanations.empty());
  }
}

TEST_CASE("replay: real values of codes are codes, and others are compared as they are") {
  const TwoConvolutions network(15, 0.47);
  const SpecSheet base = find_backend("tflite_double");
  NamedTrace dump = run_named(network.model, base, network.inputs);
  for (NamedTensor& tensor : dump.tensors) {
    tensor.values = dequantized(tensor.values, tensor.quantization);
    tensor.quantization = {};
  }
  const ReplayReport report = replay(network.model, dump, base, {});
  CHECK(report.equal());
  CHECK(report.fed() == 2);
  CHECK(says(to_text(report), "Dump: 3 tensors with the real values of codes: 'x', …."));

  tensor_of(dump, "y").values.values<float>()[7] += 0.1F;
  const ReplayReport real = replay(network.model, dump, base, {});
  CHECK_FALSE(real.equal());
  CHECK(real.deviation_of(y)->accumulated.differing == 1);
  CHECK_FALSE(real.deviation_of(y)->accumulated.largest_lsb);
  CHECK_FALSE(real.deviation_of(z)->same_input);
  CHECK(real.first_deviation()->tensor == y);

  // A tensor that is no codes keeps nothing from being explained.
  NamedTrace changed = run_named(network.model, with_rule(base, "conv.i8.accumulator.bits", "13"), network.inputs);
  NamedTensor& last = tensor_of(changed, "z");
  last.values = dequantized(last.values, last.quantization);
  last.quantization = {};
  last.values.values<float>()[7] += 0.1F;
  const ReplayReport explained = replay(network.model, changed, base, {});
  CHECK(explained.first_deviation()->tensor == y);
  REQUIRE(explained.cause);
  CHECK_FALSE(explained.cause->layers[0].explanations.empty());
}

TEST_CASE("replay: JSON and CSV hold what the table holds") {
  const TwoConvolutions network(16, 0.47);
  const SpecSheet base = find_backend("tflite_double");
  const NamedTrace dump = dump_of_two(network.model, base, with_rule(base, "conv.i8.accumulator.bits", "14"), second, network.inputs);
  const ReplayReport report = replay(network.model, dump, base, {});
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["format"] == "lastbit.replay.v1");
  CHECK(json["equal"] == false);
  CHECK(json["first_deviation"]["number"] == second);
  CHECK(json["cause"]["layers"][0]["number"] == second);
  REQUIRE(json["layers"].size() == 3);
  CHECK(json["layers"][0]["loss"]["own"].is_null());
  CHECK(json["layers"][1]["deviation"]["own"]["differing"] == 0);
  CHECK(json["layers"][2]["deviation"]["own"]["differing"] == report.deviation_of(z)->same_input->differing);
  CHECK(json["layers"][2]["loss"]["accumulated"]["metrics"]["cosine"] == report.loss_of(z)->accumulated.metrics.cosine);
  CHECK(json["layers"][2]["matched_by"] == "itself");

  std::istringstream lines(to_csv(report));
  std::string line;
  std::getline(lines, line);
  CHECK(line.starts_with("float_tensor,matched_by,number,tensor,name,operation,difference,shape,values,differing,"));
  const auto columns = std::ranges::count(line, ',');
  std::vector<std::string> kinds;
  while (std::getline(lines, line)) {
    CHECK(std::ranges::count(line, ',') == columns);
    if (line.starts_with("z,itself,1,4,z,conv2d,")) kinds.push_back(line.substr(22, line.find(',', 22) - 22));
  }
  CHECK(kinds == std::vector<std::string>{"loss", "loss_own", "deviation", "deviation_own"});
}
