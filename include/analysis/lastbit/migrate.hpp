// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Two versions of a network (another converter, calibration or compiler) on one device, or of a device under one network: which layers are the
// same, what changed in them, what that does for every input, and what on data.
//
// Layers are matched by the name of their output, by their weights, and by their place among layers of the same kind and shapes. Two matched layers
// are compared as certify() compares one layer on two devices: over every accumulator, code or pair of codes. That takes codes that mean the same on
// both sides: of one type and zero point, and of scales so near that each code's value is, to the other side too, nearest to the same code. Where that
// is not so, or the sums are others, nothing is claimed but why.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/certify.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"

namespace lastbit {

/// name: that of the first output. weights: the largest constants are equal. place: the same kind and shapes, in the same order.
enum class PairedBy : std::uint8_t { name, weights, place };
[[nodiscard]] std::string_view name_of(PairedBy match);

/// What a change is a change of. wiring: a tensor is computed by another layer, or is another input. bounds: a fused activation or a clamp.
/// statement: how the file states the operation, and pairs that a runtime merges (Statement, ModelTensor::merged).
enum class ChangeOf : std::uint8_t { wiring, type, shape, quantization, values, bounds, attribute, statement };
[[nodiscard]] std::string_view name_of(ChangeOf what);

/// One thing in which two versions of a network differ.
struct LayerChange {
  ChangeOf of = ChangeOf::attribute;
  std::string what;      ///< "output scale", "weights", "activation"
  std::string from, to;  ///< empty where there are many
  std::string by;        ///< how far: "+0.8%", "3 of 1,152, by at most 2"; empty: from and to say it
  friend bool operator==(const LayerChange&, const LayerChange&) = default;
};

/// A layer of both versions.
struct MigratedLayer {
  std::size_t before = 0, after = 0;  ///< the operation's number in each
  std::string name_before, name_after;
  PairedBy by = PairedBy::name;
  std::vector<LayerChange> changes{};
  LayerCertificate certificate{};  ///< for every input: a is before, b after. same_rules: nothing that the layer computes with changed
  /// On data, b is after: accumulated, and with the same input, the layer's own part.
  std::optional<LayerDifference> on_data{};
  bool rounded_inputs = false;  ///< codes of the inputs mean other values, so the same input is the real values, rounded to the new codes

  /// For every input, and its inputs come from the same layers.
  [[nodiscard]] bool equal() const;
  [[nodiscard]] bool rewired() const;
};

/// A layer of one version alone.
struct LoneLayer {
  std::size_t number = 0;
  std::string name, kind;
};

/// Two versions of a network on one device: which layers are the same, changed, removed, added.
struct NetworkMigration {
  std::string before, after;  ///< the networks
  std::string device;
  std::vector<MigratedLayer> layers{};  ///< in the order of `before`
  std::vector<LoneLayer> removed{}, added{};
  std::vector<LayerChange> ends{};         ///< the networks' inputs, outputs and states; any of them makes two networks
  std::vector<OutputAgreement> outputs{};  ///< on data

  /// The same network for every input: every layer is matched and equal, and so are the ends.
  [[nodiscard]] bool equal() const;
  [[nodiscard]] std::vector<SharedAssumption> assumptions() const;  ///< of all layers
  /// Equal whatever is not known, or the assumptions are accepted.
  [[nodiscard]] bool holds(AssumptionsAre are) const { return equal() && (are == AssumptionsAre::accepted || assumptions().empty()); }
  /// In the order of `before`; null where none differs.
  [[nodiscard]] const MigratedLayer* first_not_equal() const;
};

/// A rule that two versions of a device state otherwise.
struct ChangedRule {
  std::string path, from, to;       ///< empty: that side has no such rule
  std::vector<std::size_t> layers;  ///< numbers of the operations that read it
};

/// Two versions of a device under one network.
struct DeviceMigration {
  std::string model;
  std::string before, after;       ///< the devices
  std::vector<ChangedRule> rules;  ///< all that the two devices state otherwise, whether the network reads them or not
  Certificate certificate;         ///< of the network, a is before
  std::optional<CompareReport> on_data;

  [[nodiscard]] bool equal() const { return certificate.equal(); }
  [[nodiscard]] bool holds(AssumptionsAre are) const { return certificate.holds(are); }
};

/// A version: a network, and the device that computes it.
struct Version {
  const Model& model;
  Device device;
};

/// For migrate().
struct MigrateOptions {
  int threads = 1;
  std::function<void(std::size_t done, std::size_t all)> on_progress{};
};

/// `inputs` as for Emulator::run of the version before, or empty: nothing on data. Where the version after has other codes for an input, it is given the real
/// values. Throws Error where a version cannot be run, or the data do not fit it.
[[nodiscard]] NetworkMigration migrate_network(const Version& before, const Version& after, std::span<const Tensor> inputs,
                                               const MigrateOptions& options = {});
[[nodiscard]] DeviceMigration migrate_device(const Model& model, const Device& before, const Device& after, std::span<const Tensor> inputs,
                                             const MigrateOptions& options = {});

[[nodiscard]] std::string to_text(const NetworkMigration& migration, const LayerView& view = {},
                                  AssumptionsAre assumptions = AssumptionsAre::named);
[[nodiscard]] std::string to_json(const NetworkMigration& migration);
[[nodiscard]] std::string to_text(const DeviceMigration& migration, const LayerView& view = {},
                                  AssumptionsAre assumptions = AssumptionsAre::named);
[[nodiscard]] std::string to_json(const DeviceMigration& migration);

}  // namespace lastbit
