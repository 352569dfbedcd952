// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Float networks that name, order and lay out their tensors otherwise than the quantised model: each is matched, or said not to be; and what is
// matched has the loss that the same network has under the model's own names.
#include <algorithm>
#include <functional>
#include <limits>

#include "lastbit/dequantize.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/replay.hpp"
#include "support/catch.hpp"
#include "support/residual_network.hpp"
#include "support/two_convolutions.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// The network in float, under its own names.
Model in_float(const Model& model, const std::function<std::string(const std::string&)>& renamed = {}) {
  Model real = dequantized(model);
  for (ModelTensor& tensor : real.tensors)
    if (renamed) tensor.name = renamed(tensor.name);
  for (Operation& operation : real.operations) operation.name = real.tensor(operation.outputs[0]).name;
  return real;
}

ReplayReport replayed(const Model& model, const Model& real, const std::vector<Tensor>& inputs) {
  const SpecSheet sheet = find_backend("tflite_double");
  return replay(model, run_named(model, sheet, inputs), sheet, inputs, {.float_network = &real});
}

const ReplayLayer& layer_called(const ReplayReport& report, const std::string& name) {
  return *std::ranges::find(report.layers, name, &ReplayLayer::name);
}

/// Every layer, with the losses of `expected`.
void check_losses(const ReplayReport& report, const ReplayReport& expected) {
  for (const ReplayLayer& layer : expected.layers) {
    INFO(layer.name);
    const LayerDifference *const loss = report.loss_of(layer.tensor), *const wanted = expected.loss_of(layer.tensor);
    REQUIRE(loss != nullptr);
    CHECK(loss->accumulated.metrics.cosine == wanted->accumulated.metrics.cosine);
    CHECK(loss->accumulated.metrics.sqnr_db == wanted->accumulated.metrics.sqnr_db);
    CHECK(loss->accumulated.differing == wanted->accumulated.differing);
    REQUIRE(loss->same_input.has_value() == wanted->same_input.has_value());
    if (loss->same_input) CHECK(loss->same_input->metrics.sqnr_db == wanted->same_input->metrics.sqnr_db);
  }
}

/// The two convolutions as the reader of ONNX has them: every tensor in NCHW, and its image beside it; or without images of inputs and outputs.
Model channels_first(const Model& model, const std::string& image) {
  const Model real = dequantized(model);
  ModelBuilder builder("channels first");
  const TransposeAttributes to_last{{0, 2, 3, 1}}, to_first{{0, 3, 1, 2}};
  Conv2dAttributes same;
  same.padding.mode = PaddingMode::same;
  const auto x = builder.input({"x", ElementType::float32, {1, 8, 12, 12}});
  const auto x_image = builder.operation(OperationKind::transpose, {x}, {"x" + image, ElementType::float32, {1, 12, 12, 8}}, to_last);
  const auto w = builder.constant("w", *real.tensor(1).constant);
  const auto y_image = builder.operation(OperationKind::conv2d, {x_image, w}, {"y" + image, ElementType::float32, {1, 12, 12, 16}}, same);
  const auto y = builder.operation(OperationKind::transpose, {y_image}, {"y", ElementType::float32, {1, 16, 12, 12}}, to_first);
  const auto w2 = builder.constant("w2", *real.tensor(3).constant);
  const auto z_image = builder.operation(OperationKind::conv2d, {y_image, w2}, {"z" + image, ElementType::float32, {1, 12, 12, 16}});
  const auto z = builder.operation(OperationKind::transpose, {z_image}, {"z", ElementType::float32, {1, 16, 12, 12}}, to_first);
  return builder.finished({y, z});
}

/// 4 channels of 4x4 pixels, which look alike in NCHW and NHWC.
struct Cube {
  Cube() {
    std::mt19937 random(5);
    ModelBuilder coded("cube"), real("cube");
    const Tensor weights = random_int8({4, 3, 3, 4}, random);
    Conv2dAttributes same;
    same.padding.mode = PaddingMode::same;
    const auto in = coded.input({"in", ElementType::int8, {1, 4, 4, 4}, {{0.05}, {0}}});
    const auto w = coded.constant("w", weights, {{0.01}, {0}});
    model = coded.finished({coded.operation(OperationKind::conv2d, {in, w}, {"out", ElementType::int8, {1, 4, 4, 4}, {{0.4}, {0}}}, same)});
    plain = in_float(model);
    const auto x = real.input({"in", ElementType::float32, {1, 4, 4, 4}});
    const auto image =
        real.operation(OperationKind::transpose, {x}, {"in (NHWC)", ElementType::float32, {1, 4, 4, 4}}, TransposeAttributes{{0, 2, 3, 1}});
    const auto v = real.constant("w", *plain.tensor(1).constant);
    const auto sums = real.operation(OperationKind::conv2d, {image, v}, {"out (NHWC)", ElementType::float32, {1, 4, 4, 4}}, same);
    onnx = real.finished(
        {real.operation(OperationKind::transpose, {sums}, {"out", ElementType::float32, {1, 4, 4, 4}}, TransposeAttributes{{0, 3, 1, 2}})});
    inputs = {random_int8({2, 1, 4, 4, 4}, random)};
  }
  Model model, plain, onnx;
  std::vector<Tensor> inputs;
};

/// x -conv with relu-> y.
Model rectified() {
  std::mt19937 random(6);
  ModelBuilder builder("rectified");
  Conv2dAttributes bounded;
  bounded.bounds.activation = Activation::relu;
  const auto in = builder.input({"x", ElementType::int8, {1, 5, 5, 4}, {{0.05}, {0}}});
  const auto w = builder.constant("w", random_int8({4, 1, 1, 4}, random), {{0.01}, {0}});
  const TensorDescription output{"y", ElementType::int8, {1, 5, 5, 4}, {{0.2}, {-20}}};
  return builder.finished({builder.operation(OperationKind::conv2d, {in, w}, output, bounded)});
}

/// The same in two operations, as frameworks have them.
Model rectified_in_two(const Model& coded, const std::string& sum, const std::string& output) {
  ModelBuilder builder("rectified in two");
  const auto in = builder.input({"x", ElementType::float32, {1, 5, 5, 4}});
  const auto w = builder.constant("w", *dequantized(coded).tensor(1).constant);
  const auto y = builder.operation(OperationKind::conv2d, {in, w}, {sum, ElementType::float32, {1, 5, 5, 4}});
  return builder.finished({builder.operation(OperationKind::relu, {y}, {output, ElementType::float32, {1, 5, 5, 4}})});
}

}  // namespace

TEST_CASE("replay: tensors are matched by name, whatever tools add to it") {
  const TwoConvolutions network(41, 1.0);
  const ReplayReport expected = replayed(network.model, in_float(network.model), network.inputs);
  for (const ReplayLayer& layer : expected.layers) CHECK(layer.match == MatchedBy::name);
  struct Case {
    std::string coded, real;
  };
  for (const auto& [coded, real] :
       {Case{"{}_quantized", "{}"}, Case{"{}_QuantizeLinear_Output", "{}"}, Case{"net/{}:0", "net/{}"}, Case{"NET_{}", "net/{}"},
        Case{"conv/{};bias/add", "conv/{}"}, Case{"{}", "{}_output_0"}, Case{"{}_DequantizeLinear_Output", "/{}"}}) {
    INFO(coded << " and " << real);
    const auto as = [](const std::string& pattern) {
      return [pattern](const std::string& name) { return std::string(pattern).replace(pattern.find("{}"), 2, name); };
    };
    Model model = network.model;
    for (ModelTensor& tensor : model.tensors) tensor.name = as(coded)(tensor.name);
    const ReplayReport report = replayed(model, in_float(network.model, as(real)), network.inputs);
    for (const ReplayLayer& layer : report.layers) CHECK(layer.match == MatchedBy::name);
    check_losses(report, expected);
  }
}

TEST_CASE("replay: an operation's name stands for its output") {
  const TwoConvolutions network(42, 1.0);
  Model real = in_float(network.model, [](const std::string& name) { return "tensor of " + name; });
  real.operations[0].name = "first";  // as in the model
  real.operations[1].name = "second";
  const ReplayReport report = replayed(network.model, real, network.inputs);
  CHECK(layer_called(report, "y").match == MatchedBy::name);
  CHECK(layer_called(report, "y").counterpart == "tensor of y");
  CHECK(layer_called(report, "z").counterpart == "tensor of z");
  CHECK(layer_called(report, "x").match == MatchedBy::order);
}

TEST_CASE("replay: without names shape and order tell, and the report says so") {
  const ResidualNetwork network(2);
  const ReplayReport expected = replayed(network.model, in_float(network.model), network.inputs);
  const ReplayReport report =
      replayed(network.model, in_float(network.model, [](const std::string& name) { return "other " + name; }), network.inputs);
  for (const ReplayLayer& layer : report.layers) {
    CHECK(layer.match == MatchedBy::order);
    CHECK(layer.counterpart == "other " + layer.name);
  }
  check_losses(report, expected);
  CHECK_THAT(to_text(report), contains_text("Matched with the float network by shape and order, not by name: 'x' with 'other x'"));
}

TEST_CASE("replay: a float network in NCHW is given and compared in the model's order") {
  const TwoConvolutions network(43, 1.0);
  std::mt19937 random(7);
  const std::vector<Tensor> batch{random_int8({3, 1, 12, 12, 8}, random)};
  for (const std::vector<Tensor>& inputs : {network.inputs, batch}) {
    const ReplayReport expected = replayed(network.model, in_float(network.model), inputs);
    for (const std::string image : {" (NHWC)", "_image"}) {
      INFO(image);
      const ReplayReport report = replayed(network.model, channels_first(network.model, image), inputs);
      check_losses(report, expected);
      CHECK(layer_called(report, "y").counterpart == "y");
    }
  }
  const Cube cube;
  check_losses(replayed(cube.model, cube.onnx, cube.inputs), replayed(cube.model, cube.plain, cube.inputs));
}

TEST_CASE("replay: an activation that the model has in its layer is part of the float network's layer too") {
  const std::vector<Tensor> inputs = [] {
    std::mt19937 random(8);
    return std::vector{random_int8({2, 1, 5, 5, 4}, random)};
  }();
  const Model model = rectified();
  const ReplayReport expected = replayed(model, in_float(model), inputs);
  for (const auto& [sum, output] : {std::pair{"y", "y_relu"}, std::pair{"sum", "y"}, std::pair{"a", "b"}}) {
    INFO(sum << " " << output);
    const ReplayReport report = replayed(model, rectified_in_two(model, sum, output), inputs);
    CHECK(layer_called(report, "y").counterpart == output);
    check_losses(report, expected);
  }
}

TEST_CASE("replay: an activation of its own stays one") {
  const Model coded = [&] {  // conv -> sum, relu -> y, as the float network has it
    std::mt19937 random(6);
    ModelBuilder builder("two operations");
    const Quantization codes{{0.2}, {-20}};
    const auto in = builder.input({"x", ElementType::int8, {1, 5, 5, 4}, {{0.05}, {0}}});
    const auto w = builder.constant("w", random_int8({4, 1, 1, 4}, random), {{0.01}, {0}});
    const auto sum = builder.operation(OperationKind::conv2d, {in, w}, {"sum", ElementType::int8, {1, 5, 5, 4}, codes});
    return builder.finished({builder.operation(OperationKind::relu, {sum}, {"y", ElementType::int8, {1, 5, 5, 4}, codes})});
  }();
  std::mt19937 random(9);
  const ReplayReport report = replayed(coded, rectified_in_two(rectified(), "sum", "y"), {random_int8({1, 5, 5, 4}, random)});
  CHECK(layer_called(report, "sum").counterpart == "sum");
  CHECK(layer_called(report, "y").counterpart == "y");
}

TEST_CASE("replay: codes in another form stand for the same real values, and feed the layers behind them") {
  const auto image = [](const char* name, double scale) {
    return TensorDescription{name, ElementType::int8, {1, 5, 5, 4}, {{scale}, {0}}};
  };
  ModelBuilder coded;
  const auto x = coded.input(image("x", 0.05));
  const auto y = coded.operation(OperationKind::requantize, {x}, image("y in other codes", 0.07));
  const Model model = coded.finished({coded.operation(OperationKind::relu, {y}, image("z", 0.07))});
  ModelBuilder real;
  const auto in = real.input({"x", ElementType::float32, {1, 5, 5, 4}});
  const Model plain = real.finished({real.operation(OperationKind::relu, {in}, {"z", ElementType::float32, {1, 5, 5, 4}})});
  std::mt19937 random(10);
  const ReplayReport report = replayed(model, plain, {random_int8({1, 5, 5, 4}, random)});
  CHECK(layer_called(report, "y in other codes").counterpart == "x");
  CHECK(report.loss_of(y)->accumulated.metrics.sqnr_db < 60);
  CHECK(report.loss_of(2)->same_input);
}

TEST_CASE("replay: a name that may mean two tensors means none") {
  const TwoConvolutions network(45, 1.0);
  const Model real = in_float(network.model, [](const std::string& name) {
    if (name == "y") return std::string("net/sum");
    return name == "z" ? std::string("net:sum") : name;
  });
  Model model = network.model;
  model.tensors[2].name = "net sum";
  const ReplayReport report = replayed(model, real, network.inputs);
  CHECK(layer_called(report, "net sum").match == MatchedBy::order);
  CHECK(layer_called(report, "net sum").counterpart == "net/sum");
}

TEST_CASE("replay: what is not finite feeds no layer, and no layer loses most by it") {
  const TwoConvolutions network(46, 1.0);
  Model real = in_float(network.model);
  real.tensors[1].constant.edit().values<float>()[0] = std::numeric_limits<float>::infinity();
  const ReplayReport report = replayed(network.model, real, network.inputs);
  CHECK(report.loss_of(2)->accumulated.metrics.non_finite_truth > 0);
  CHECK(report.loss_of(2)->same_input);
  CHECK_FALSE(report.loss_of(4)->same_input);
  CHECK(report.most_lost() == nullptr);
}

TEST_CASE("replay: layers that the float network lacks are said, and an input that it lacks is an error") {
  const TwoConvolutions network(44, 1.0);
  Model shorter = in_float(network.model);
  shorter.operations.pop_back();
  shorter.outputs = {2};
  const ReplayReport report = replayed(network.model, shorter, network.inputs);
  CHECK(layer_called(report, "z").match == MatchedBy::nothing);
  CHECK(report.loss_of(4) == nullptr);
  CHECK(report.loss_of(2) != nullptr);
  CHECK(report.most_lost()->name == "y");
  CHECK(report.equal());  // the board is compared all the same
  CHECK(report.compared() == 2);
  CHECK_THAT(to_text(report), contains_text("Not matched with the float network: 'z'."));
  CHECK_THAT(to_text(report), contains_text("no match"));

  // Two tensors of a shape in one network and one in the other: none is guessed at.
  Model renamed = shorter;
  for (ModelTensor& tensor : renamed.tensors) tensor.name = "other " + tensor.name;
  renamed.operations[0].name = "other";
  const ReplayReport unsure = replayed(network.model, renamed, network.inputs);
  CHECK(layer_called(unsure, "y").match == MatchedBy::nothing);
  CHECK(layer_called(unsure, "z").match == MatchedBy::nothing);
  CHECK_THAT(to_text(unsure), contains_text("No layer was matched with the float network."));

  const ResidualNetwork other(1);
  CHECK_THROWS_WITH(replayed(network.model, in_float(other.model), network.inputs), contains_text("input 'x' of the float network"));
}
