// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether two backends compute the same of a network for every input, layer by layer, without data. Behind its sums a channel is a staircase
// (staircase.hpp), and how far its accumulators reach is proven (prove.hpp); an operation on codes has so many codes, or pairs of them. What all of
// them come to on both sides is the answer; nothing is sampled, and what cannot be decided so is said to be open.
//
// A layer is judged by itself: for every input that its range allows, both sides given the same. A network is equal where every layer is; where one is not,
// `in_network` bounds what all differences together can become.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/layer_view.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/staircase.hpp"
#include "lastbit/verdict_assumptions.hpp"

namespace lastbit {

/// What was gone through. same_rules: nothing had to be, both sides read the same rules with the same values. accumulators: every one of every channel, as
/// staircases. codes: every code of the input, of each input of a concatenation. pairs: every pair of codes of two inputs. window_sums: every sum
/// that a mean can have. nothing: the layer is open.
enum class DecidedBy : std::uint8_t { same_rules, accumulators, codes, pairs, window_sums, nothing };
[[nodiscard]] std::string_view name_of(DecidedBy decision);

/// How it is known how far the two sides can be apart in a tensor when both are given the same inputs of the network. exact: what goes into the layer is the
/// same on both sides, so that what it does by itself is all. intervals: inputs may differ by any amounts within their own bounds, which no real input
/// need bring about at once. type: the outputs may be any two numbers of the type. nothing: real numbers, or more than 16 bits.
enum class BoundBy : std::uint8_t { exact, intervals, type, nothing };
[[nodiscard]] std::string_view name_of(BoundBy bound);

/// How far apart two sides can be in a tensor, over all inputs, in LSB.
struct TensorBound {
  std::optional<std::int64_t> lsb;  ///< at most so far apart; absent where there is no bound
  BoundBy by = BoundBy::nothing;
};

/// One channel, or of a pool all windows of one count.
struct CertifiedChannel {
  IntegerRange accumulators;  ///< that it can have; of sums that leave an accumulator that wraps, as they are before
  std::int64_t differing = 0;
  std::int64_t largest = 0;  ///< magnitude of the difference, in LSB
};

/// An input of the layer that was run on both sides, and an output that differs.
struct ShownDifference {
  std::vector<Tensor> inputs;  ///< one for each data input of the operation
  std::int64_t index = 0;
  std::int64_t a = 0, b = 0;
  std::string cause;  ///< what explain() attributes it to: "1 first rounding"
};

/// Whether two backends compute the same in one layer, for every input that its types and clamps allow.
struct LayerCertificate {
  std::size_t operation = 0;  ///< position in the model
  std::string name{};         ///< layer_name()
  std::string kind{};
  DecidedBy by = DecidedBy::nothing;
  std::string open{};                        ///< why it is not decided; empty: it is
  std::int64_t cases = 0;                    ///< accumulators, codes, pairs, sums
  std::int64_t differing = 0;                ///< of them
  std::int64_t largest = 0;                  ///< magnitude of the difference, in LSB
  std::vector<CertifiedChannel> channels{};  ///< of `accumulators`
  TensorBound in_network{};                  ///< of its outputs, with all that happens in front of it
  /// Absent where nothing differs, and where no input was found that reaches one of the accumulators that do.
  std::optional<ShownDifference> shown{};
  std::vector<BackendAssumption> assumptions{};  ///< of both sides, that the answer rests on; of an open layer none

  [[nodiscard]] bool is_open() const { return !open.empty(); }
  /// By the rules as both backends have them.
  [[nodiscard]] bool equal() const { return !is_open() && differing == 0; }
  [[nodiscard]] std::int64_t equal_channels() const;
};

/// The answer of certify() for a network: layer by layer, and its outputs with all differences together.
struct Certificate {
  std::string model, a, b;
  InputRange range = InputRange::type;
  std::string version;                                       ///< of the library
  std::string model_checksum;                                ///< as in recordings
  std::string rules_a, rules_b;                              ///< checksums of all rules of both sides
  std::vector<std::string> elsewhere{};                      ///< computed_elsewhere() of both sides
  std::string data{};                                        ///< InputRange::data: checksum of the inputs
  std::optional<std::size_t> only{};                         ///< the operation that alone was asked for
  std::vector<LayerCertificate> layers;                      ///< in order
  std::vector<std::pair<std::string, TensorBound>> outputs;  ///< of the model; none where one layer alone was asked for
  [[nodiscard]] bool equal() const;                          ///< by the rules: every layer is, and there is one
  /// Equal whatever is not known: no layer rests on an assumption, or they are accepted.
  [[nodiscard]] bool holds(AssumptionsAre are) const { return equal() && (are == AssumptionsAre::accepted || assumptions().empty()); }
  [[nodiscard]] std::vector<SharedAssumption> assumptions() const;  ///< of all layers
  [[nodiscard]] std::int64_t open() const;                          ///< layers
};

/// For certify(): which inputs count, and which layer.
struct CertifyOptions {
  InputRange range = InputRange::type;
  std::optional<std::string> layer{};  ///< only this one: an operation's number or name, or that of its output
  int threads = 1;
  std::function<void(std::size_t done, std::size_t all)> on_progress{};
  std::string called{};  ///< what reports call the network, a path for one; empty: its own name
};

/// `inputs` as for Emulator::run, or empty for InputRange::type. Throws Error where a backend cannot run the model.
[[nodiscard]] Certificate certify(const Model& model, const Device& a, const Device& b, std::span<const Tensor> inputs,
                                  const CertifyOptions& options = {});

/// A certificate derived again and compared, statement by statement. What is counted comes from another route than certify()'s: of the accumulators every
/// single one, by the code that runs networks and without staircases, as long as they are no more than 2^30 together, beyond that those at both ends of
/// every step; of codes, pairs and sums every one, by the definition and without executors where the operation ends in a chain of stages. Examples
/// are run, and bounds follow from all that is in front of them.
struct CertificateCheck {
  std::size_t layers = 0;                     ///< of the certificate
  std::optional<std::string> only;            ///< the layer that it is about alone
  std::int64_t cases = 0;                     ///< computed on both sides, one by one
  std::int64_t by_steps = 0;                  ///< further accumulators, of which those at both ends of every step were computed
  std::vector<std::string> wrong;             ///< what does not hold, a line each
  std::vector<SharedAssumption> assumptions;  ///< that what it states rests on
  [[nodiscard]] bool holds() const { return wrong.empty(); }
};

/// `file` holds what to_json() gave, in this version's form or that of lastbit.certificate.v1. The range of the options is not read, the certificate says
/// which; a layer of the options must be that of the certificate. Throws Error where the file is no certificate, or one of another model, other rules or
/// other data, and as certify() does.
[[nodiscard]] CertificateCheck check_certificate(const std::filesystem::path& file, const Model& model, const Device& a, const Device& b,
                                                 std::span<const Tensor> inputs, const CertifyOptions& options = {});
[[nodiscard]] std::string to_text(const CertificateCheck& check);

[[nodiscard]] std::string to_text(const Certificate& certificate, const LayerView& view = {},
                                  AssumptionsAre assumptions = AssumptionsAre::named);
[[nodiscard]] std::string to_json(const Certificate& certificate);

}  // namespace lastbit
