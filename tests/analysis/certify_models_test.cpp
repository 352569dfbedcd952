// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Certificates of recorded networks: the counts of ResNet-8 are those of a brute force over every accumulator, made with another program.
#include <array>
#include <vector>

#include "lastbit/certify.hpp"
#include "lastbit/fingerprint.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/scratch.hpp"

using namespace lastbit;

namespace {

struct Expected {
  std::size_t layer;
  std::int64_t accumulators, double_single, double_v8, single_v8, equal_channels;  ///< of single against V8
};

/// Layers that can differ, and on how many accumulators and pairs of codes they do.
struct Count {
  std::int64_t layers = 0, accumulators = 0, of_accumulators = 0, pairs = 0;

  bool operator==(const Count&) const = default;
};

Count count_of(const Certificate& certificate) {
  Count found;
  for (const LayerCertificate& layer : certificate.layers) {
    found.layers += layer.differing > 0 ? 1 : 0;
    (layer.by == DecidedBy::accumulators ? found.accumulators : found.pairs) += layer.by == DecidedBy::codes ? 0 : layer.differing;
    found.of_accumulators += layer.by == DecidedBy::accumulators ? layer.cases : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("certify counts what a brute force over the accumulators of ResNet-8 counts") {
  const auto directory = test::models_directory();
  if (!directory) return;
  const Model model = read_model(*directory / "ic_resnet8_int8" / "model.tflite");
  const auto compare = [&](const char* a, const char* b) { return certify(model, find_backend(a), find_backend(b), {}, {.threads = 2}); };
  const Certificate double_single = compare("tflite_double", "tflite_single"), double_v8 = compare("tflite_double", "vipnano_v8"),
                    single_v8 = compare("tflite_single", "vipnano_v8");
  constexpr std::array expected{Expected{0, 5'320'336, 2'407, 2'404, 3, 13}, Expected{1, 18'755'776, 3'132, 3'131, 3, 13},
                                Expected{14, 5'058'955, 1'760, 1'760, 0, 10}};
  for (const Expected& layer : expected) {
    INFO("layer " << layer.layer);
    CHECK(double_single.layers.at(layer.layer).cases == layer.accumulators);
    CHECK(double_single.layers.at(layer.layer).differing == layer.double_single);
    CHECK(double_v8.layers.at(layer.layer).differing == layer.double_v8);
    CHECK(single_v8.layers.at(layer.layer).differing == layer.single_v8);
    CHECK(single_v8.layers.at(layer.layer).equal_channels() == layer.equal_channels);
    CHECK(double_v8.layers.at(layer.layer).largest == 1);
  }
  CHECK(compare("tflite_double", "tflite_builtin_double").equal());
  const test::Scratch folder;
  write_text_file(folder.path() / "c.json", to_json(double_v8));
  const CertificateCheck check =
      check_certificate(folder.path() / "c.json", model, find_backend("tflite_double"), find_backend("vipnano_v8"), {}, {.threads = 2});
  CHECK(check.holds());
  CHECK(check.cases > 620'000'000);
  CHECK(fingerprint(model, find_backend("tflite_double")).checksum == fingerprint(model, find_backend("tflite_builtin_double")).checksum);
}

TEST_CASE("the figures of docs/stories/harmless-upgrade.md") {
  const auto directory = test::models_directory();
  if (!directory) return;
  const Model model = read_model(*directory / "mobilenet_v2_224_int8" / "model.tflite");
  const auto counted = [&](const Model& network, const char* a, const char* b) {
    return count_of(certify(network, find_backend(a), find_backend(b), {}, {.threads = 2}));
  };
  constexpr std::int64_t all = 20'156'143'033;
  CHECK(counted(model, "tflite_builtin_single", "xnnpack") == Count{55, 3'865, all, 7});
  CHECK(counted(model, "tflite_double", "tflite_single") == Count{54, 1'585'561, all, 170});  // 170 sums of the mean
  CHECK(counted(model, "tflite_single", "vipnano_v8") == Count{58, 1'843, all, 29'683});
  CHECK(counted(model, "vipnano_v8", "vipnano_v7") == Count{62, 793'675, all, 3'863});
  const Tensor recorded = read_npy(*directory / "mobilenet_v2_224_int8" / "input.npy");  // one sample, with a dimension for samples
  const std::vector<std::vector<Tensor>> picture{
      {Tensor::from<std::int8_t>(model.tensor(model.inputs[0]).shape, recorded.values<std::int8_t>())}};
  const auto quantized = [&](const char* backend) { return quantize(model, find_backend(backend), picture).model; };
  CHECK(certify(quantized("n2d2_single_shift"), find_backend("n2d2_single_shift"), find_backend("n2d2_fixed_mult16"), {}).equal());
  CHECK(counted(quantized("n2d2_fixed_mult16"), "n2d2_fixed_mult16", "n2d2_fixed_mult32") == Count{1, 0, 14'618'264'591, 0});
}
