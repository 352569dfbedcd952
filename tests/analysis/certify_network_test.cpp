// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What differences become behind the layer that makes them, certificates that are checked again, and fingerprints: against all inputs of small layers.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>

#include "lastbit/certify.hpp"
#include "lastbit/error.hpp"
#include "lastbit/fingerprint.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/testing.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"
#include "support/small_layers.hpp"

namespace lastbit {
namespace {

using namespace test;

const Shape plane{1, 16, 16, 1};

std::int32_t add_convolution(ModelBuilder& builder, std::mt19937& random, std::int32_t in, const std::string& name, double low,
                             double high) {
  const double in_scale = builder.model.tensor(in).quantization.scale(), weight = static_cast<float>(scale_between(random, 0.5, 2));
  const auto w = builder.constant<std::int8_t>(name + ".w", Shape{1, 1, 1, 1}, {1}, {{weight}, {0}});
  const auto b =
      builder.constant<std::int32_t>(name + ".b", Shape{1}, {static_cast<std::int32_t>(random() % 201) - 100}, {{in_scale * weight}, {0}});
  return builder.operation(OperationKind::conv2d, {in, w, b}, {name, ElementType::int8, plane, of_data(random, low, high)});
}

/// Two convolutions of one weight, one behind the other.
Model two_layers(std::mt19937& random) {
  ModelBuilder builder("two layers");
  const auto in = builder.input({"in", ElementType::int8, plane, of_data(random, 0.02, 0.1)});
  const auto first = add_convolution(builder, random, in, "first", 0.2, 0.6);
  return builder.finished({add_convolution(builder, random, first, "second", 0.3, 2)});
}

std::vector<std::int64_t> outputs_of(const Model& model, const SpecSheet& sheet, std::size_t operation, const Tensor& input) {
  const Emulator emulator(model, sheet.backend);
  const std::array<const Tensor*, 3> inputs{&input, nullptr, nullptr};
  const Tensor output = emulator.run_operation(operation, inputs).front();
  std::vector<std::int64_t> codes;
  for (std::int64_t i = 0; i < output.element_count(); ++i) codes.push_back(output.integer_at(i));
  return codes;
}

/// Over all pairs of codes that are at most `apart` apart.
std::int64_t furthest(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::int64_t apart) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < std::ssize(a); ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, i - apart); j <= std::min<std::int64_t>(std::ssize(b) - 1, i + apart); ++j)
      most = std::max(most, std::abs(a[static_cast<std::size_t>(i)] - b[static_cast<std::size_t>(j)]));
  return most;
}

SpecSheet floored(const char* name) {
  SpecSheet sheet = find_backend(name);
  set_rule(sheet.backend, "conv.i8.output.chain.2.rounding", "floor");
  return sheet;
}

}  // namespace

TEST_CASE("a bound behind two layers is what all pairs of codes give, and no input goes beyond it") {
  std::mt19937 random(21);
  const Tensor every = Tensor::from<std::int8_t>(plane, every_code());
  int larger = 0;
  for (int i = 0; i < 30; ++i) {
    const Model model = two_layers(random);
    const SpecSheet a = find_backend("tflite_double"), b = i % 2 == 0 ? find_backend("vipnano_v8") : floored("tflite_double");
    const Certificate certificate = certify(model, a, b, {});
    const LayerCertificate &first = certificate.layers.at(0), &second = certificate.layers.at(1);
    INFO("network " << i);
    CHECK(first.in_network.by == BoundBy::exact);
    REQUIRE(first.in_network.lsb == furthest(outputs_of(model, a, 0, every), outputs_of(model, b, 0, every), 0));
    const std::int64_t expected = furthest(outputs_of(model, a, 1, every), outputs_of(model, b, 1, every), *first.in_network.lsb);
    REQUIRE(second.in_network.lsb == expected);
    CHECK(second.in_network.by == (*first.in_network.lsb == 0 ? BoundBy::exact : BoundBy::intervals));
    CHECK(certificate.outputs.at(0).second.lsb == expected);
    const std::vector<Tensor> inputs{every};
    const Tensor of_a = *run(model, a.backend, inputs).tensors[static_cast<std::size_t>(model.outputs[0])];
    const Tensor of_b = *run(model, b.backend, inputs).tensors[static_cast<std::size_t>(model.outputs[0])];
    for (std::int64_t at = 0; at < of_a.element_count(); ++at) CHECK(std::abs(of_a.integer_at(at) - of_b.integer_at(at)) <= expected);
    larger += expected > second.largest ? 1 : 0;
  }
  CHECK(larger > 3);
}

TEST_CASE("of a sum of two tensors every pair within both bounds is looked at; a constant does not move") {
  std::mt19937 random(22);
  for (int i = 0; i < 6; ++i) {
    ModelBuilder builder("sum");
    const bool with_constant = i % 2 == 1;
    const auto in = builder.input({"in", ElementType::int8, plane, of_data(random, 0.02, 0.1)});
    const auto moved = add_convolution(builder, random, in, "moved", 0.2, 0.6);
    const Quantization other = of_data(random, 0.02, 0.1);
    const auto fixed = with_constant ? builder.constant<std::int8_t>("fixed", Shape{1, 1, 1, 1}, {17}, other)
                                     : builder.input({"fixed", ElementType::int8, plane, other});
    const std::vector<std::int32_t> inputs = i % 3 == 0 ? std::vector{fixed, moved} : std::vector{moved, fixed};
    const Model model =
        builder.finished({builder.operation(OperationKind::add, inputs, {"out", ElementType::int8, plane, of_data(random, 0.1, 0.4)})});
    const SpecSheet a = find_backend("tflite_double"), b = floored("tflite_double");
    const Certificate certificate = certify(model, a, b, {});
    const std::int64_t apart = *certificate.layers.at(0).in_network.lsb;
    INFO("network " << i);
    REQUIRE(apart == 1);
    // The sum is the same on both sides: brute force over its operand that moves and the code beside it.
    const Emulator emulator(model, a.backend);
    std::int64_t most = 0;
    const Tensor every = Tensor::from<std::int8_t>(plane, every_code());
    for (int beside = with_constant ? 127 : -128; beside < 128; ++beside) {
      const Tensor same = Tensor::from<std::int8_t>(plane, std::vector<std::int8_t>(256, static_cast<std::int8_t>(beside)));
      const Tensor* const fixed_values = with_constant ? nullptr : &same;
      const std::array<const Tensor*, 2> given = i % 3 == 0 ? std::array{fixed_values, &every} : std::array{&every, fixed_values};
      const Tensor sums = emulator.run_operation(1, given).front();
      for (std::int64_t at = 1; at < 256; ++at) most = std::max(most, std::abs(sums.integer_at(at) - sums.integer_at(at - 1)));
    }
    CHECK(certificate.layers.at(1).by == DecidedBy::same_rules);
    CHECK(certificate.layers.at(1).in_network.lsb == most);
  }
}

TEST_CASE("what only moves codes moves the bound; what has no exact way is bounded by its type") {
  std::mt19937 random(23);
  ModelBuilder builder("moves");
  const auto in = builder.input({"in", ElementType::int8, plane, of_data(random, 0.02, 0.1)});
  const auto moved = add_convolution(builder, random, in, "conv", 0.2, 0.6);
  const Quantization codes = builder.model.tensor(moved).quantization;
  const auto flat = builder.operation(OperationKind::reshape, {moved}, {"flat", ElementType::int8, Shape{1, 256}, codes});
  const auto out = builder.operation(OperationKind::softmax, {flat}, {"soft", ElementType::int8, Shape{1, 256}, {{1.0 / 256}, {-128}}});
  const Model model = builder.finished({out});
  const Certificate certificate = certify(model, find_backend("tflite_double"), floored("tflite_double"), {});
  CHECK(certificate.layers.at(1).in_network.lsb == certificate.layers.at(0).in_network.lsb);
  CHECK(certificate.layers.at(1).in_network.by == BoundBy::intervals);
  CHECK(certificate.layers.at(2).in_network.lsb == 255);
  CHECK(certificate.layers.at(2).in_network.by == BoundBy::type);
  CHECK(to_text(certificate).find("output 'soft', with all differences together: at most 255 LSB apart (all that its type") !=
        std::string::npos);
}

TEST_CASE("a certificate is gone through again without staircases, and every number that was changed is found") {
  const Scratch folder;
  std::mt19937 random(24);
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  for (const Model& model : {two_layers(random), sum_of_two(OperationKind::add, random), sum_of_two(OperationKind::mul, random)}) {
    INFO(model.name);
    const std::filesystem::path file = folder.path() / "certificate.json";
    const auto checked = [&](const std::string& text) {
      write_text_file(file, text);
      return check_certificate(file, model, a, b, {});
    };
    const std::string json = to_json(certify(model, a, b, {}));
    const CertificateCheck check = checked(json);
    CHECK(check.holds());
    CHECK(check.layers == model.operations.size());
    CHECK(check.cases >= 65536 / 256);
    for (const char* key : {"\"differing\": ", "\"cases\": ", "\"largest_lsb\": "}) {
      std::string changed = json;
      changed.insert(changed.find(key) + std::string(key).size(), "1");
      CHECK_FALSE(checked(changed).holds());
    }
    std::string other = json;
    other.replace(other.find("\"verdict\": \"differs\""), 20, "\"verdict\": \"equal\"");
    CHECK_FALSE(checked(other).holds());
    write_text_file(file, json);
    CHECK_THROWS_WITH(check_certificate(file, model, a, floored("vipnano_v8"), {}), contains_text("the checksum of the rules of side b"));
    CHECK_THROWS_WITH(check_certificate(file, one_weight(random), a, b, {}), contains_text("the model's checksum"));
  }
  write_text_file(folder.path() / "no.json", R"({"format": "lastbit.golden.v1"})");
  CHECK_THROWS_WITH(check_certificate(folder.path() / "no.json", one_weight(random), a, b, {}),
                    contains_text("is not lastbit.certificate.v2"));
}

TEST_CASE("a convolution has one fingerprint on two devices if and only if they are equal on it for every input") {
  std::mt19937 random(25);
  int equal = 0, differing = 0;
  for (int i = 0; i < 60; ++i) {
    const Model model = one_weight(random);
    const SpecSheet a = find_backend("tflite_double"), b = find_backend(i % 2 == 0 ? "vipnano_v8" : "tflite_single");
    const Fingerprint of_a = fingerprint(model, a), of_b = fingerprint(model, b);
    CHECK(of_a.layers.at(0).by == DecidedBy::accumulators);
    const bool same = certify(model, a, b, {}).equal();
    INFO("layer " << i);
    CHECK((of_a.checksum == of_b.checksum) == same);
    CHECK(static_cast<bool>(testing::equal_for_every_input(model, a, b)) == same);
    ++(same ? equal : differing);
  }
  CHECK(equal >= 5);
  CHECK(differing >= 5);
}

TEST_CASE("a fingerprint sees weights, wiring and the rules of what cannot be listed, and not a scale that changes no code") {
  std::mt19937 random(26);
  const SpecSheet sheet = find_backend("tflite_double");
  const Model model = two_layers(random);
  const std::string expected = fingerprint(model, sheet).checksum;
  CHECK(fingerprint(model, sheet, {.threads = 2}).checksum == expected);
  Model other = model;
  other.tensors[static_cast<std::size_t>(model.operations[1].inputs[1])].constant = Tensor::from<std::int8_t>(Shape{1, 1, 1, 1}, {4});
  CHECK(fingerprint(other, sheet).checksum != expected);
  other = model;
  double& scale = other.tensors[static_cast<std::size_t>(model.operations[1].outputs[0])].quantization.scales[0];
  scale *= 1 + 1e-13;
  CHECK(fingerprint(other, sheet).checksum == expected);
  scale *= 1.1;
  CHECK(fingerprint(other, sheet).checksum != expected);
  SpecSheet changed = sheet;
  set_rule(changed.backend, "average_pool.output.chain.0.rounding", "floor");
  CHECK(fingerprint(model, changed).checksum == expected);
  ModelBuilder builder("softmax");
  const auto in = builder.input({"in", ElementType::int8, Shape{1, 4}, {{0.1}, {0}}});
  const Model softmax =
      builder.finished({builder.operation(OperationKind::softmax, {in}, {"out", ElementType::int8, Shape{1, 4}, {{1.0 / 256}, {-128}}})});
  CHECK(fingerprint(softmax, sheet).layers.at(0).by == DecidedBy::same_rules);
  CHECK(fingerprint(softmax, sheet).checksum != fingerprint(softmax, find_backend("vipnano_v8")).checksum);
}

}  // namespace lastbit
