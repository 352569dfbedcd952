// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Certificates of recorded networks: the counts of ResNet-8 are those of a brute force over every accumulator, made with another program.
#include <array>

#include "lastbit/certify.hpp"
#include "lastbit/fingerprint.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/output.hpp"
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
