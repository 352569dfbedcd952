// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a float network to a device: what calibration saw, and the vendors' own rules that turn it into a model of the device.
//
//   float model + samples ──calibrate──▶ Calibration ──Quantizer::quantize──▶ Model for the device
//
// A quantiser is one vendor's procedure (thresholds, scales, corrections, limits of the device). It keeps the names of the tensors, so that
// every tensor can be compared with its float original.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {

/// Counts of a tensor's values in equal bins over [min, max] of the tensor; the last bin includes max.
struct Histogram {
  double min = 0;
  double max = 0;
  std::vector<std::int64_t> counts;
};

/// What the values of one float tensor were over all samples; of a constant, what they are. Only finite values are counted.
struct TensorStatistics {
  double min = 0;
  double max = 0;
  std::int64_t values = 0;      ///< 0: nothing is known of the tensor
  Histogram histogram;          ///< of the signed values
  Histogram magnitudes;         ///< of the absolute values, over [0, max |value|]
  std::int64_t non_finite = 0;  ///< infinite or NaN values, which nothing else counts

  [[nodiscard]] double largest_magnitude() const { return -min > max ? -min : max; }
};

/// By tensor index of the float model.
struct Calibration {
  std::vector<TensorStatistics> tensors;
};

/// Options by name; a quantiser lists those that it takes.
using QuantizerOptions = std::map<std::string, std::string, std::less<>>;

/// An option of a quantiser, as `--list-options` shows it.
struct QuantizerOption {
  std::string name;
  std::string default_value;
  std::vector<std::string> values;  ///< allowed; empty: any text, a number or a list, as `meaning` says
  std::string meaning;
};

/// The network that a quantiser starts from. A quantised model is dequantised; quantize, dequantize, requantize and cast disappear, since
/// they are the identity there; operations that no output or state depends on disappear, as do tensors that no operation reads or writes, and the name of
/// an unread tensor in ONNX's layout goes to its NHWC companion; tensors without a name of their own get one; every constant has one reader: what
/// several operations share is copied ("<name> of <operation>"). A division by a constant is a multiplication by its
/// inverse, rounded to float32: devices multiply. Throws Error for operations on blocks of codes, which have no float form.
[[nodiscard]] Model float_network(const Model& model);

class RangeChoices;

/// What a quantiser works from. `model` is as float_network() makes it.
struct QuantizationRequest {
  const Model& model;
  const Backend& backend;
  const Calibration& calibration;
  QuantizerOptions options;  ///< complete: defaults filled in, names and values checked
  /// Inputs of the calibration, one list per sample, for procedures that choose by the result they reach. None: all ranges are given.
  std::span<const std::vector<Tensor>> samples;
  RangeChoices& ranges;  ///< asked for every range before calibration is, and told what was chosen (lib/toolchains/ranges/choices.hpp)

  [[nodiscard]] const std::string& option(std::string_view name) const { return options.find(name)->second; }
  [[nodiscard]] const TensorStatistics& statistics(std::int32_t tensor) const {
    return calibration.tensors[static_cast<std::size_t>(tensor)];
  }
};

/// What a quantiser makes of a float network.
struct QuantizedNetwork {
  Model model;
  std::vector<std::string> notes;  ///< what the procedure decided and a user should know, one line each
};

/// What the vendor's own compiler is known to make of a network, other than the network means.
struct OtherCompilation {
  Model model;         ///< tensors of the quantised one keep their places
  std::string what;    ///< a clause: who reads what otherwise
  std::string option;  ///< of the quantiser, with the value that makes it so: "behind_concat=as_it_lies"
};

/// A vendor's way from a float network to a model of its device.
struct Quantizer {
  std::string name;
  std::string title;
  std::vector<QuantizerOption> options;
  int histogram_bins = 2048;  ///< bins that the procedure is defined on
  /// Throws Error with one diagnostic per operation that the device cannot do, naming the limit.
  QuantizedNetwork (*quantize)(const QuantizationRequest& request) = nullptr;
  /// Of a model that the quantiser made; nothing where the compiler does as it says.
  std::optional<OtherCompilation> (*compiled)(const Model& quantized) = nullptr;
};

/// The other model of a network for a device: as its vendor's compiler makes it where the model says what the network means, and what the
/// network means where the model is as the compiler makes it. Nothing where no compiler is known to do otherwise.
[[nodiscard]] std::optional<OtherCompilation> compiled_otherwise(const Model& quantized, const Device& sheet);

/// Every quantiser, in the order in which they are listed. A spec sheet names its own (SpecSheet::quantizer).
[[nodiscard]] const std::vector<Quantizer>& quantizers();
/// Throws Error(bad_input) listing the names known.
[[nodiscard]] const Quantizer& find_quantizer(std::string_view name);

/// Runs a float32 model over the samples and gathers statistics of every tensor: a first pass for the ranges, a second for the histograms.
/// One sample is in memory at a time for each thread. Throws Error where the model is not float32, or an input or constant is not finite.
[[nodiscard]] Calibration calibrate(const Model& model, std::span<const std::vector<Tensor>> samples, int histogram_bins, int threads = 1);

/// One tensor of the quantised model beside its float original, over the calibration samples.
struct TensorQuality {
  std::string name;
  std::string operation;    ///< the kind that writes it, "input", "state" or "constant"
  double min = 0, max = 0;  ///< of the float original
  Quantization quantization;
  std::string type;              ///< element type in the quantised model
  std::int64_t values = 0;       ///< over all samples
  std::int64_t levels_used = 0;  ///< distinct codes seen; 0 for float types
  double clipped_share = 0;  ///< of the values, those at the lowest or highest code whose original lies beyond it by more than half a step
  double cosine = 1;         ///< quantised network against float network; NaN where the tensor has no counterpart of as many values
  double sqnr_db = 0;        ///< likewise
  /// How far sqnr_db lies below the lowest of what the operation reads, or below 6.02 bits + 1.76, which is what a type of that width holds at
  /// best, if that is less; of an input, a state and constants of at most 16 bits: below what their values keep in codes of that type at the scale
  /// that just holds them (noise of a uniform step); 0 for other constants.
  double lost_db = 0;
  Events events{};  ///< of the operation that writes it
};

/// What quantisation lost, tensor by tensor, over the samples.
struct QuantizationReport {
  std::string backend;
  std::string quantizer;
  std::vector<TensorQuality> tensors;  ///< in the order of computation, the inputs first, constants before the operation that reads them
  std::vector<std::string> notes;
  QuantizerOptions options;  ///< as completed
  std::int64_t samples = 0;
  std::vector<OutputAgreement> outputs;  ///< of the quantised network with the float network, sample by sample
  std::vector<Assumption> assumptions;   ///< what the device's arithmetic rests on without evidence
};

/// A model of the device, and what was lost on the way.
struct QuantizationResult {
  Model model;
  QuantizationReport report;
};

/// The whole way: options checked and completed, calibration, the sheet's quantiser, check() on the backend, and the quality of every tensor.
/// Of a quantised model, float_network() is taken, and its samples may be quantised too. A sample is one tensor per input, of its shape.
/// Throws Error for an unknown option, a sheet without quantiser, or what the device cannot do.
[[nodiscard]] QuantizationResult quantize(const Model& model, const Device& sheet, std::span<const std::vector<Tensor>> samples,
                                          const QuantizerOptions& options = {}, int threads = 1);

[[nodiscard]] std::string to_text(const QuantizationReport& report, const LayerView& view = {});
[[nodiscard]] std::string to_json(const QuantizationReport& report);

}  // namespace lastbit
