// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Networks on devices, by one include and one call:
//
//   const Trace trace = run("model.tflite", "imx8mp", inputs);
//   const CompareReport report = compare("model.tflite", "tflite_double", "imx8mp", inputs);
//   std::cout << to_text(report) << to_text(explain(model, "tflite_double", "imx8mp", inputs));
//   std::cout << to_text(certify(model, "tflite_double", "imx8mp"));
//
// A network is a Model or the path of its file, a device whatever a Device is made of (device.hpp): a name, a chip, a backend file, a SpecSheet,
// a Backend. The options are those of the functions that are called here, each of which has a header of its own. One layer on arrays, without a
// network, is lastbit/core.hpp.
#pragma once

#include <concepts>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lastbit/advise.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/chips.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/fingerprint.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/matrix.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/shrink.hpp"

namespace lastbit {

/// A network for one call: a Model, which is not copied, or a file, which is read.
class Network {
 public:
  Network(const Model& model) : model_(&model) {}  // NOLINT(google-explicit-constructor): a model is a network
  /// Throws Error, naming the file, as read_model() does.
  Network(const std::filesystem::path& file)  // NOLINT(google-explicit-constructor): so is its file
      : read_(std::make_shared<const Model>(read_model(file))), model_(read_.get()) {}
  template <std::convertible_to<std::string_view> Name>
  Network(const Name& file) : Network(std::filesystem::path(std::string_view(file))) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Model& model() const { return *model_; }

 private:
  std::shared_ptr<const Model> read_;
  const Model* model_;
};

/// What keeps a device from running a network; empty: it can.
[[nodiscard]] inline std::vector<Diagnostic> check(const Network& network, const Device& device) { return check(network.model(), device); }
/// Every output, or every tensor where the options say so.
[[nodiscard]] inline Trace run(const Network& network, const Device& device, std::span<const Tensor> inputs,
                               const RunOptions& options = {}) {
  return run(network.model(), device, inputs, options);
}
/// Where b differs from a on these inputs, layer by layer: compare_backends().
[[nodiscard]] inline CompareReport compare(const Network& network, const Device& a, const Device& b, std::span<const Tensor> inputs,
                                           const CompareOptions& options = {}) {
  return compare_backends(network.model(), a, b, inputs, options);
}
/// By which rule: explain_network().
[[nodiscard]] inline ExplainReport explain(const Network& network, const Device& a, const Device& b, std::span<const Tensor> inputs,
                                           const ExplainOptions& options = {}) {
  return explain_network(network.model(), inputs, a, b, options);
}
/// Whether they are equal for every input; `inputs` are read where the options bound them by data.
[[nodiscard]] inline Certificate certify(const Network& network, const Device& a, const Device& b, std::span<const Tensor> inputs = {},
                                         const CertifyOptions& options = {}) {
  return certify(network.model(), a, b, inputs, options);
}
/// Whether a sum can leave its accumulator.
[[nodiscard]] inline ProveReport prove(const Network& network, const Device& device, std::span<const Tensor> inputs = {},
                                       const ProveOptions& options = {}) {
  return prove(network.model(), device, inputs, options);
}
/// The smallest case in which they differ: shrink().
[[nodiscard]] inline std::optional<ShrunkCase> shrink(const Network& network, const Device& a, const Device& b,
                                                      std::span<const Tensor> inputs, const ShrinkOptions& options = {}) {
  return shrink(network.model(), inputs, a, b, options);
}
/// What to do about a difference: advise().
[[nodiscard]] inline AdviseReport advise(const Network& network, const Device& a, const Device& b,
                                         std::span<const std::vector<Tensor>> samples, const AdviseOptions& options = {}) {
  return advise(network.model(), a, b, samples, options);
}
/// Every pair of devices.
[[nodiscard]] inline Matrix matrix(const Network& network, const Devices& devices, std::span<const Tensor> inputs = {},
                                   const MatrixOptions& options = {}) {
  return matrix(network.model(), devices, inputs, options);
}
/// A float network made ready for the device, by its vendor's procedure.
[[nodiscard]] inline QuantizationResult quantize(const Network& network, const Device& device, std::span<const std::vector<Tensor>> samples,
                                                 const QuantizerOptions& options = {}, int threads = 1) {
  return quantize(network.model(), device, samples, options, threads);
}
/// What a device computes of a network, as a text that is equal where all it computes is.
[[nodiscard]] inline Fingerprint fingerprint(const Network& network, const Device& device, const FingerprintOptions& options = {}) {
  return fingerprint(network.model(), device, options);
}
/// The rules of the device that a dump is of: identify() of all its layers.
[[nodiscard]] inline Identification identify(const Network& network, const NamedTrace& dump, const IdentifyOptions& options = {}) {
  std::vector<SkippedPair> skipped;
  Identification found = identify(pairs_of(network.model(), dump, &skipped), options);
  found.skipped.insert(found.skipped.end(), skipped.begin(), skipped.end());
  return found;
}

}  // namespace lastbit
