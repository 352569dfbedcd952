// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Several backends on one network, each against each: which layers are equal for every input, and of the others how often their outputs differ. That is
// counted over everything that can go in (certify.hpp), expected for what is likely to go in, and, where there are data, measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/certify.hpp"
#include "lastbit/device.hpp"
#include "lastbit/layer_view.hpp"

namespace lastbit {

/// A layer of two backends, each given the same codes. Shares are of outputs, from 0 to 1.
struct LayerShares {
  std::size_t operation = 0;  ///< position in the model
  std::string name, kind;
  std::int64_t outputs = 0;  ///< of one sample
  DecidedBy by = DecidedBy::nothing;
  std::string open;                              ///< why it is not decided; empty: it is
  std::int64_t cases = 0, differing = 0;         ///< as in a certificate
  std::optional<double> by_ranges;               ///< expected where every code is as likely as any other and independent of those beside it
  std::optional<double> by_data;                 ///< expected where accumulators, or codes, are spread as on the data
  std::optional<double> measured;                ///< on the data, both sides fed with a's tensors
  std::vector<BackendAssumption> assumptions{};  ///< as in a certificate

  [[nodiscard]] bool equal() const { return open.empty() && differing == 0; }
};

/// Two backends on a network: what share of their outputs is expected to differ, layer by layer.
struct PairShares {
  std::size_t a = 0, b = 0;  ///< of Matrix::backends
  std::vector<LayerShares> layers;

  [[nodiscard]] bool equal() const;  ///< by the rules as both backends have them
  [[nodiscard]] std::vector<SharedAssumption> assumptions() const;
  /// Equal whatever is not known, or the assumptions are accepted.
  [[nodiscard]] bool holds(AssumptionsAre are) const { return equal() && (are == AssumptionsAre::accepted || assumptions().empty()); }
  [[nodiscard]] std::int64_t open() const;       ///< layers that are not decided
  [[nodiscard]] std::int64_t differing() const;  ///< layers that can differ
  /// Over all outputs of decided layers, what is expected on the data, or without data by the ranges.
  [[nodiscard]] double expected() const;
};

/// Every pair of backends on a network.
struct Matrix {
  std::string model;
  std::int64_t samples = 0;
  std::vector<std::string> backends;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< backends that do not run the network, and why
  std::vector<PairShares> pairs;                              ///< every a < b, in order

  [[nodiscard]] const PairShares& pair(std::size_t a, std::size_t b) const;
  /// Every pair holds.
  [[nodiscard]] bool holds(AssumptionsAre are) const;
  /// Of the pairs that are equal.
  [[nodiscard]] std::vector<SharedAssumption> assumptions() const;
};

/// For matrix().
struct MatrixOptions {
  int threads = 1;
  std::function<void(std::size_t done, std::size_t all)> on_progress{};
};

/// `inputs` as for Emulator::run, or empty. Throws Error where fewer than two backends run the model.
[[nodiscard]] Matrix matrix(const Model& model, const Devices& backends, std::span<const Tensor> inputs, const MatrixOptions& options = {});

/// Above the diagonal how many layers can differ, below it the share of outputs that is expected to.
[[nodiscard]] std::string to_text(const Matrix& matrix, AssumptionsAre assumptions = AssumptionsAre::named);
/// Layer by layer. A view orders by the share of outputs that differ; there is no difference in LSB to order by.
[[nodiscard]] std::string to_text(const Matrix& matrix, const PairShares& pair, const LayerView& view = {});
[[nodiscard]] std::string to_csv(const Matrix& matrix);
[[nodiscard]] std::string to_json(const Matrix& matrix);

}  // namespace lastbit
