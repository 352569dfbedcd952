// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Two versions of networks that are small enough to be run on every input there is: what is said of all inputs against all of them. And which layer is
// taken for which.
#include "lastbit/migrate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

const Shape square{1, 16, 16, 1};

Tensor every_code() {
  std::vector<std::int8_t> codes(256);
  for (int i = 0; i < 256; ++i) codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  return Tensor::from<std::int8_t>(square, codes);
}

ModelTensor& tensor(Model& model, std::string_view name) { return model.tensors[static_cast<std::size_t>(*model.find_tensor(name))]; }

/// One weight and a bias: the accumulators of its 256 places are all that it can have.
Model one_weight(std::string name = "conv") {
  ModelBuilder builder("one weight");
  const auto in = builder.input({"in", ElementType::int8, square, {{0.05}, {3}}});
  const auto w = builder.constant<std::int8_t>("w", Shape{1, 1, 1, 1}, {1}, {{0.7}, {0}});
  const auto b = builder.constant<std::int32_t>("b", Shape{1}, {17}, {{0.035}, {0}});
  return builder.finished(
      {builder.operation(OperationKind::conv2d, {in, w, b}, {std::move(name), ElementType::int8, square, {{0.06}, {-20}}})});
}

/// convolution, relu, convolution; the names of its outputs, the weights of its convolutions.
Model chain(const std::vector<std::string>& names, std::int8_t first, std::int8_t second) {
  ModelBuilder builder("chain");
  const Quantization codes{{0.05}, {3}};
  const auto in = builder.input({"in", ElementType::int8, square, codes});
  const auto w = [&](const std::string& name, std::int8_t value) {
    return builder.constant<std::int8_t>("w of " + name, Shape{1, 1, 1, 2}, {value, 1}, {{0.7}, {0}});
  };
  const auto twice = builder.operation(OperationKind::concat, {in, in}, {names[0], ElementType::int8, Shape{1, 16, 16, 2}, codes},
                                       ConcatAttributes{.axis = 3});
  const auto a = builder.operation(OperationKind::conv2d, {twice, w(names[1], first)}, {names[1], ElementType::int8, square, codes});
  const auto again = builder.operation(OperationKind::concat, {a, in}, {names[2], ElementType::int8, Shape{1, 16, 16, 2}, codes},
                                       ConcatAttributes{.axis = 3});
  return builder.finished(
      {builder.operation(OperationKind::conv2d, {again, w(names[3], second)}, {names[3], ElementType::int8, square, codes})});
}

struct Counted {
  std::int64_t differing = 0, largest = 0;
};
/// Of the first output, on every input there is.
Counted count(const Model& a, const Model& b, const SpecSheet& sheet, const std::vector<Tensor>& inputs) {
  const Tensor of_a = *run(a, sheet.backend, inputs).tensors[static_cast<std::size_t>(a.outputs[0])];
  const Tensor of_b = *run(b, sheet.backend, inputs).tensors[static_cast<std::size_t>(b.outputs[0])];
  Counted counted;
  for (std::int64_t i = 0; i < of_a.element_count(); ++i) {
    const std::int64_t apart = std::abs(of_a.integer_at(i) - of_b.integer_at(i));
    counted.differing += apart != 0 ? 1 : 0;
    counted.largest = std::max(counted.largest, apart);
  }
  return counted;
}

NetworkMigration migrated(const Model& before, const Model& after, const char* device = "tflite_double",
                          const std::vector<Tensor>& inputs = {}) {
  const SpecSheet sheet = find_backend(device);
  return migrate_network({before, sheet}, {after, sheet}, inputs);
}

/// one_weight() before and after a change of it.
MigratedLayer after_change(const std::function<void(Model&)>& change) {
  const Model before = one_weight();
  Model after = before;
  change(after);
  return migrated(before, after).layers.at(0);
}

double next_float(double value) { return std::nextafter(static_cast<float>(value), 2.0F); }

bool has(const MigratedLayer& layer, const LayerChange& change) { return std::ranges::find(layer.changes, change) != layer.changes.end(); }

}  // namespace

TEST_CASE("a network is the same as itself, and nothing of it changed") {
  const Model model = chain({"a", "b", "c", "d"}, 2, 3);
  const NetworkMigration migration = migrated(model, model);
  CHECK(migration.equal());
  REQUIRE(migration.layers.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const MigratedLayer& layer = migration.layers[i];
    CHECK((layer.before == i && layer.after == i && layer.by == PairedBy::name));
    CHECK(layer.changes.empty());
    CHECK(layer.certificate.by == DecidedBy::same_rules);
  }
  CHECK((migration.removed.empty() && migration.added.empty() && migration.ends.empty()));
}

TEST_CASE("changed scales, biases and bounds: the accumulators on which the versions differ are counted, here all their inputs") {
  std::mt19937 random(19);
  const SpecSheet sheet = find_backend("tflite_double");
  const std::vector<Tensor> every{every_code()};
  int equal = 0, differing = 0;
  for (int i = 0; i < 60; ++i) {
    Model before = one_weight();
    tensor(before, "w").quantization.scales = {0.2 + static_cast<double>(random() % 1000) / 700};
    Model after = before;
    const double part = 1 + std::pow(10, -static_cast<double>(random() % 5) - 1) / 3;
    if (i % 3 == 0) tensor(after, "w").quantization.scales[0] *= part;
    else if (i % 3 == 1) tensor(after, "b").constant = Tensor::from<std::int32_t>(Shape{1}, std::vector<std::int32_t>{17 + i % 5 - 2});
    else std::get<Conv2dAttributes>(after.operations[0].attributes).bounds.clamp = IntegerRange{-128 + i, 127};
    const Counted counted = count(before, after, sheet, every);
    const NetworkMigration migration = migrated(before, after);
    const LayerCertificate& certificate = migration.layers.at(0).certificate;
    INFO("layer " << i);
    if (i % 3 == 1 && i % 5 == 2) continue;  // the same bias
    REQUIRE(certificate.by == DecidedBy::accumulators);
    CHECK(certificate.cases == 256);
    CHECK(certificate.differing == counted.differing);
    CHECK(certificate.largest == counted.largest);
    CHECK(migration.equal() == (counted.differing == 0));
    REQUIRE(certificate.shown.has_value() == (counted.differing > 0));
    ++(counted.differing > 0 ? differing : equal);
    if (!certificate.shown) continue;
    const auto at = certificate.shown->index;
    CHECK(run(before, sheet.backend, certificate.shown->inputs).tensors.back()->integer_at(at) == certificate.shown->a);
    CHECK(run(after, sheet.backend, certificate.shown->inputs).tensors.back()->integer_at(at) == certificate.shown->b);
    CHECK(certificate.shown->a != certificate.shown->b);
  }
  CHECK(equal >= 5);
  CHECK(differing >= 20);
}

TEST_CASE("a scale that is the next float changes no code here, and one a hundredth larger does") {
  const auto with_scale = [](double factor) {
    return after_change([=](Model& model) {
      double& scale = tensor(model, "w").quantization.scales[0];
      scale = factor == 0 ? next_float(scale) : scale * factor;
    });
  };
  const MigratedLayer next = with_scale(0);
  CHECK(next.equal());
  REQUIRE(next.changes.size() == 1);
  CHECK(next.changes[0].what == "weights scale");
  CHECK(next.changes[0].from != next.changes[0].to);
  CHECK(next.changes[0].by.ends_with(" of it"));
  CHECK_FALSE(with_scale(1.01).equal());
}

TEST_CASE("codes mean the same as long as each one's value is nearest to the same code") {
  // zero point 0: codes reach to -128, and 128 (s - 1) is half a step at s = 1 + 1/256
  const auto with_output = [](double scale, std::int64_t zero_point) {
    Model before = one_weight();
    tensor(before, "conv").quantization = {{1}, {0}};
    Model after = before;
    tensor(after, "conv").quantization = {{scale}, {zero_point}};
    return migrated(before, after).layers.at(0).certificate;
  };
  const std::string other = "the codes of its output stand for other values";
  CHECK_FALSE(with_output(1 + 1.0 / 256 - 0x1p-20, 0).is_open());
  CHECK(with_output(1 + 1.0 / 256, 0).open == other);
  CHECK_FALSE(with_output(1 - 1.0 / 258, 0).is_open());
  CHECK(with_output(1 - 1.0 / 256, 0).open == other);
  CHECK(with_output(1, 1).open == other);
}

TEST_CASE("where weights, types, shapes or the way of counting changed, nothing is claimed but why") {
  const auto open_after = [](const std::function<void(Model&)>& change) { return after_change(change).certificate.open; };
  const auto set_weight = [](Model& model) {
    tensor(model, "w").constant = Tensor::from<std::int8_t>(Shape{1, 1, 1, 1}, std::vector<std::int8_t>{3});
  };
  CHECK(open_after(set_weight) == "the sides multiply by different weights");
  CHECK(has(after_change(set_weight), {ChangeOf::values, "weights", "", "", "1 of 1, by at most 2"}));
  CHECK(open_after([](Model& model) { tensor(model, "in").quantization.zero_points = {4}; }) ==
        "the codes of its input stand for other values");
  CHECK(open_after([](Model& model) {
          std::get<Conv2dAttributes>(model.operations[0].attributes).dilation = {2, 1};
        }) == "its dilation is another one");
  CHECK(open_after([](Model& model) { model.operations[0].inputs.pop_back(); }) == "its bias is another one");
  CHECK(open_after([](Model& model) {
          tensor(model, "in").shape = tensor(model, "conv").shape = Shape{1, 8, 32, 1};
        }) == "its input shape is another one");
}

TEST_CASE("on a device of real numbers a layer is the same only where nothing changed: codes bound its values") {
  const Model before = one_weight();
  CHECK(migrated(before, before, "float").equal());
  for (const char* name : {"in", "conv", "w"}) {
    Model after = before;
    tensor(after, name).quantization.zero_points = {1};
    CHECK(migrated(before, after, "float").layers.at(0).certificate.open == "it is computed in real numbers");
  }
}

TEST_CASE("a layer is given what its input can hold on either side") {
  const auto two = [](const IntegerRange& clamp, double scale) {
    ModelBuilder builder("two");
    const Quantization codes{{0.05}, {0}};
    const auto in = builder.input({"in", ElementType::int8, square, codes});
    const auto w = builder.constant<std::int8_t>("w", Shape{1, 1, 1, 1}, {1}, {{0.7}, {0}});
    const auto v = builder.constant<std::int8_t>("v", Shape{1, 1, 1, 1}, {1}, {{scale}, {0}});
    const auto first = builder.operation(OperationKind::conv2d, {in, w}, {"first", ElementType::int8, square, codes},
                                         Conv2dAttributes{.padding = {}, .bounds = {.clamp = clamp}});
    return builder.finished({builder.operation(OperationKind::conv2d, {first, v}, {"second", ElementType::int8, square, codes})});
  };
  const NetworkMigration migration = migrated(two({-10, 20}, 0.9), two({0, 60}, 0.9001));
  CHECK(migration.layers.at(0).certificate.differing > 0);
  CHECK(migration.layers.at(1).certificate.by == DecidedBy::accumulators);
  CHECK(migration.layers.at(1).certificate.cases == 71);  // -10 to 60
}

TEST_CASE("a bias of other sums that wrap is not decided") {
  const Model before = one_weight();
  Model after = before;
  tensor(after, "b").constant = Tensor::from<std::int32_t>(Shape{1}, std::vector<std::int32_t>{18});
  SpecSheet narrow = find_backend("tflite_double");
  set_rule(narrow.backend, "conv.i8.accumulator.bits", "7");
  const NetworkMigration migration = migrate_network({before, narrow}, {after, narrow}, {});
  CHECK(migration.layers.at(0).certificate.open == "the sides add different biases to sums that can leave an accumulator");
}

TEST_CASE("a fused activation that went is a change of bounds, counted like any other") {
  Model before = one_weight();
  std::get<Conv2dAttributes>(before.operations[0].attributes).bounds.activation = Activation::relu;
  const Model after = one_weight();
  const MigratedLayer layer = migrated(before, after).layers.at(0);
  CHECK(has(layer, {ChangeOf::bounds, "activation", "relu", "none", ""}));
  CHECK(layer.certificate.differing == count(before, after, find_backend("tflite_double"), {every_code()}).differing);
  CHECK(layer.certificate.differing > 0);
}

TEST_CASE("layers of other names are found by their weights, those without weights by their place") {
  const Model before = chain({"a", "b", "c", "d"}, 2, 3), after = chain({"v", "x", "y", "z"}, 2, 3);
  const NetworkMigration migration = migrated(before, after);
  CHECK(migration.equal());
  REQUIRE(migration.layers.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(migration.layers[i].after == i);
    CHECK(migration.layers[i].by == (i % 2 == 0 ? PairedBy::place : PairedBy::weights));
  }
}

TEST_CASE("a name is not believed where the weights stand under another one") {
  const Model before = chain({"1", "2", "3", "4"}, 2, 3), after = chain({"0", "4", "5", "2"}, 2, 3);
  const NetworkMigration migration = migrated(before, after);
  CHECK(migration.equal());
  REQUIRE(migration.layers.size() == 4);
  CHECK(migration.layers[1].name_after == "4");
  CHECK(migration.layers[1].by == PairedBy::weights);
  CHECK(migration.layers[3].name_after == "2");
  // Weights that are nowhere else: the name tells, and they changed.
  const NetworkMigration retrained = migrated(before, chain({"1", "2", "3", "4"}, 2, 5));
  REQUIRE(retrained.layers.size() == 4);
  CHECK(retrained.layers[3].by == PairedBy::name);
  CHECK(retrained.first_not_equal() == &retrained.layers[3]);
}

TEST_CASE("a layer that came or went is named, and the layer behind it reads another tensor") {
  const Model before = chain({"a", "b", "c", "d"}, 2, 3);
  Model after = before;
  const auto relu = static_cast<std::int32_t>(after.tensors.size());
  after.tensors.push_back({"relu", ElementType::int8, square, {{0.05}, {3}}, {}});
  Operation added{OperationKind::relu, "relu", {after.operations[1].outputs[0]}, {relu}, default_attributes(OperationKind::relu)};
  after.operations[2].inputs[0] = relu;
  after.operations.insert(after.operations.begin() + 2, added);
  const NetworkMigration came = migrated(before, after), went = migrated(after, before);
  CHECK_FALSE(came.equal());
  CHECK_FALSE(went.equal());
  REQUIRE(came.added.size() == 1);
  REQUIRE(went.removed.size() == 1);
  CHECK((came.added[0].number == 2 && came.added[0].name == "relu" && came.added[0].kind == "relu" && came.removed.empty()));
  CHECK((went.removed[0].number == 2 && went.added.empty()));
  CHECK(has(came.layers.at(2), {ChangeOf::wiring, "input is", "'b'", "'relu'", ""}));
  CHECK(came.first_not_equal() == &came.layers[2]);
  CHECK(came.layers[2].certificate.equal());                       // by itself
  after.operations[3].inputs[0] = before.operations[2].inputs[0];  // the relu is read by none
  CHECK(migrated(before, after).first_not_equal() == nullptr);
  CHECK_FALSE(migrated(before, after).equal());
}

TEST_CASE("inputs and outputs of networks are part of them") {
  const Model before = chain({"a", "b", "c", "d"}, 2, 3);
  Model after = before;
  after.outputs.push_back(after.operations[1].outputs[0]);
  const NetworkMigration more = migrated(before, after);
  CHECK_FALSE(more.equal());
  CHECK(more.first_not_equal() == nullptr);
  REQUIRE(more.ends.size() == 1);
  CHECK(more.ends[0] == LayerChange{ChangeOf::wiring, "network outputs", "1", "2", ""});
  after.outputs = {after.operations[1].outputs[0]};
  CHECK(migrated(before, after).ends.at(0) == LayerChange{ChangeOf::wiring, "network output", "'d'", "'b'", ""});
}

TEST_CASE("what only moves codes is the same whatever their scale; what bounds them by a scale is not") {
  const auto pool = [](double scale, Activation activation) {
    ModelBuilder builder("pool");
    const Quantization codes{{scale}, {-128}};
    const auto in = builder.input({"in", ElementType::int8, square, codes});
    return builder.finished(
        {builder.operation(OperationKind::max_pool2d, {in}, {"pool", ElementType::int8, Shape{1, 8, 8, 1}, codes},
                           Pool2dAttributes{.filter = {2, 2}, .stride = {2, 2}, .padding = {}, .bounds = {.activation = activation}})});
  };
  const double next = next_float(0.05);
  CHECK(migrated(pool(0.05, Activation::none), pool(next, Activation::none)).equal());
  CHECK(migrated(pool(0.05, Activation::relu6), pool(next, Activation::relu6)).layers.at(0).certificate.is_open());
  CHECK_FALSE(migrated(pool(0.05, Activation::none), pool(0.06, Activation::none)).equal());
}

TEST_CASE("on data a layer's own difference and the accumulated one are those of running both") {
  const Model before = chain({"a", "b", "c", "d"}, 2, 3);
  Model after = before;
  tensor(after, "w of b").quantization.scales[0] *= 1.003;
  const SpecSheet sheet = find_backend("tflite_double");
  const std::vector<Tensor> every{every_code()};
  const NetworkMigration migration = migrated(before, after, "tflite_double", every);
  const Counted whole = count(before, after, sheet, every);
  REQUIRE(whole.differing > 0);
  REQUIRE(migration.layers.at(3).on_data.has_value());
  CHECK(migration.layers[3].on_data->accumulated.differing == whole.differing);
  CHECK(std::abs(*migration.layers[3].on_data->accumulated.largest_lsb) == whole.largest);
  REQUIRE(migration.layers[3].on_data->same_input.has_value());
  CHECK(migration.layers[3].on_data->same_input->differing == 0);
  CHECK(migration.layers[1].on_data->same_input->differing == migration.layers[1].on_data->accumulated.differing);
  CHECK_FALSE(migration.layers[3].rounded_inputs);
  REQUIRE(migration.outputs.size() == 1);
  CHECK(migration.outputs[0].samples == 1);
}

TEST_CASE("on data, codes of another scale are compared as real values, and the new input is given the old one's values") {
  const Model before = one_weight();
  Model after = before;
  tensor(after, "in").quantization = {{0.06}, {-5}};
  const NetworkMigration migration = migrated(before, after, "tflite_double", {every_code()});
  const MigratedLayer& layer = migration.layers.at(0);
  CHECK(layer.certificate.is_open());
  CHECK(layer.rounded_inputs);
  // The codes of the old values, rounded to the new scale by hand.
  std::vector<std::int8_t> codes(256);
  for (int i = 0; i < 256; ++i) {
    const int fives = (i - 131) * 5, rounded = (fives + (fives < 0 ? -3 : 3)) / 6;  // 0.05 (code - 3) / 0.06, half away
    codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(std::clamp(rounded - 5, -128, 127));
  }
  const SpecSheet sheet = find_backend("tflite_double");
  const Tensor expected = *run(before, sheet.backend, std::vector{every_code()}).tensors.back();
  const Tensor judged = *run(after, sheet.backend, std::vector{Tensor::from<std::int8_t>(square, codes)}).tensors.back();
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < 256; ++i) differing += expected.integer_at(i) != judged.integer_at(i) ? 1 : 0;
  CHECK(layer.on_data->accumulated.differing == differing);
  CHECK(layer.on_data->same_input->differing == differing);
  CHECK(layer.on_data->accumulated.largest_lsb.has_value());
  Tensor twice(ElementType::int8, Shape{2, 1, 16, 16, 1});
  for (std::size_t i = 0; i < 2; ++i) std::ranges::copy(every_code().bytes(), twice.bytes().begin() + static_cast<std::ptrdiff_t>(256 * i));
  const MigratedLayer batch = migrated(before, after, "tflite_double", {twice}).layers.at(0);
  CHECK(batch.on_data->same_input->differing == 2 * differing);
  CHECK(batch.on_data->accumulated.differing == 2 * differing);
  Model coarse = before;
  tensor(coarse, "conv").quantization.scales = {0.12};
  const MigratedLayer real = migrated(before, coarse, "tflite_double", {every_code()}).layers.at(0);
  CHECK_FALSE(real.on_data->accumulated.largest_lsb.has_value());
  CHECK(real.on_data->same_input->metrics.sqnr_db > 20);
  CHECK_FALSE(real.rounded_inputs);
}

TEST_CASE("two versions of a device: the rules that the network reads, and its certificate") {
  const Model model = one_weight();
  const SpecSheet before = find_backend("tflite_double");
  SpecSheet unread = before;
  set_rule(unread.backend, "add.i8.output.chain.1.rounding", "floor");
  SpecSheet after = unread;
  set_rule(after.backend, "conv.i8.output.chain.1.rounding", "floor");
  const DeviceMigration migration = migrate_device(model, before, after, std::vector{every_code()});
  REQUIRE(migration.rules.size() == 2);
  for (const ChangedRule& rule : migration.rules) {
    INFO(rule.path);
    CHECK(rule.layers == (rule.path.starts_with("conv") ? std::vector<std::size_t>{0} : std::vector<std::size_t>{}));
  }
  const Certificate certificate = certify(model, before, after, {});
  CHECK(to_json(migration.certificate) == to_json(certificate));
  CHECK(certificate.layers.at(0).differing > 0);
  REQUIRE(migration.on_data.has_value());
  CHECK(migration.on_data->layers.back().accumulated.differing == certificate.layers[0].differing);
  CHECK(migrate_device(model, before, unread, {}).equal());
  for (const ChangedRule& rule : migrate_device(chain({"a", "b", "c", "d"}, 2, 3), before, after, {}).rules)
    CHECK(rule.layers == (rule.path.starts_with("conv") ? std::vector<std::size_t>{1, 3} : std::vector<std::size_t>{}));
  CHECK(to_text(migration).find("2 rules changed, of which this network reads 1") != std::string::npos);
}

TEST_CASE("the report says by what a layer was matched, what changed, and what that does") {
  const Model before = one_weight();
  Model after = one_weight("other");
  tensor(after, "w").quantization.scales[0] *= 1.01;
  const NetworkMigration migration = migrated(before, after, "tflite_double", {every_code()});
  const std::string text = to_text(migration), json = to_json(migration);
  for (const char* part :
       {"matched by place: 0 'other'", "changed: weights scale 0.7 -> 0.707 (+1%)", "differs in ", "run on an input", "on data: own ",
        "1 layer matched (1 by place), 0 removed, 0 added; 0 equal", "the first that is not equal: 0 'conv'"}) {
    INFO(part << "\n" << text);
    CHECK(text.find(part) != std::string::npos);
  }
  for (const char* part : {R"("format": "lastbit.migration.v1")", R"("matched_by": "place")", R"("new_name": "other")",
                           R"("verdict": "differs")", R"("of": "quantization")", R"("equal": false)"}) {
    INFO(part << "\n" << json);
    CHECK(json.find(part) != std::string::npos);
  }
  CHECK_FALSE(to_text(migrated(before, before)).find("the same network for every input") == std::string::npos);
}

TEST_CASE("a version that the device does not compute is refused, with all that is wrong in either") {
  Model after = one_weight();
  after.operations[0].kind = OperationKind::conv2d;
  tensor(after, "in").type = tensor(after, "conv").type = ElementType::uint8;
  const SpecSheet sheet = find_backend("n2d2_single_shift");
  const Model before = one_weight();
  CHECK_THROWS_WITH(migrate_network({before, sheet}, {after, sheet}, {}),
                    test::contains_text("old network: ") && test::contains_text("new network: "));
}

}  // namespace lastbit
