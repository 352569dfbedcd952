// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/migrate/every_input.hpp"

#include <algorithm>

#include "analysis/certify/both_sides.hpp"
#include "analysis/certify/certifier.hpp"
#include "analysis/certify/layer_assumptions.hpp"
#include "analysis/prove/ranges.hpp"
#include "engine/parallel.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

/// The change that keeps the two from having the same inputs, shapes and way of counting; null where there is none. A changed scale, bias or bound does not.
const LayerChange* first_undecidable(const std::vector<LayerChange>& changes, OperationKind kind) {
  const bool is_function = kind == OperationKind::leaky_relu || kind == OperationKind::elu;  // its attribute is no geometry
  const auto stops = [&](const LayerChange& change) {
    return change.of == ChangeOf::type || change.of == ChangeOf::shape || (change.of == ChangeOf::attribute && !is_function) ||
           change.of == ChangeOf::statement;
  };
  const auto found = std::ranges::find_if(changes, stops);
  return found == changes.end() ? nullptr : &*found;
}

/// Walks over matched layers; what their tensors can hold goes from layer to layer on each side.
class Decider {
 public:
  Decider(const RunnableVersion& before, const RunnableVersion& after)
      : before_(before),
        after_(after),
        ranges_before_(ranges_by_type(before.emulator.model())),
        ranges_after_(ranges_by_type(after.emulator.model())) {}

  void decide(MigratedLayer& layer) {
    const LayerOnBoth both{layer.before, side(before_, layer.before), side(after_, layer.after), ranges_before_, ranges_after_};
    const std::string reason = undecidable(both, layer);
    if (!reason.empty()) {
      layer.certificate = named(both);
      layer.certificate.open = reason;
      return;
    }
    share_inputs(both);
    const std::optional<SharedSums> sums = shared_sums_of(both);
    const bool moves = only_moves_codes(both);
    layer.certificate = moves ? named(both) : certified(both, sums);
    if (moves) layer.certificate.by = DecidedBy::same_rules;
    else if (!layer.certificate.is_open()) layer.certificate.assumptions = assumed_.of(both);
    if (layer.certificate.shown) layer.certificate.shown->cause.clear();  // of rules, of which none changed
    if (is_on_codes(both)) spread(both, sums);
  }

 private:
  static LayerSide side(const RunnableVersion& version, std::size_t operation) {
    const Placement* const placement = version.emulator.placement(operation);
    return {version.emulator, version.emulator.model().operations[operation], placement != nullptr ? placement->sheet : version.sheet,
            version.sheet};
  }

  static LayerCertificate named(const LayerOnBoth& layer) {
    return {.operation = layer.index,
            .name = layer_name(layer.a.model(), layer.index),
            .kind = std::string(name_of(layer.operation().kind)),
            .open = {},
            .channels = {},
            .shown = {},
            .assumptions = {}};
  }

  static bool mean_the_same_on(const LayerOnBoth& layer, std::int32_t a, std::int32_t b) {
    if (a == absent_tensor || b == absent_tensor) return a == b;
    const ModelTensor &of_a = layer.a.model().tensor(a), &of_b = layer.b.model().tensor(b);
    return of_a.constant.has_value() || mean_the_same(of_a.type, of_a.quantization, of_b.type, of_b.quantization);
  }

  static std::string undecidable(const LayerOnBoth& layer, const MigratedLayer& migrated) {
    const Operation &a = layer.a.operation, &b = layer.b.operation;
    const auto is_own = [](const LayerChange& change) { return change.of != ChangeOf::wiring; };
    if (!is_on_codes(layer) && std::ranges::any_of(migrated.changes, is_own)) return "it is computed in real numbers";
    if (const LayerChange* const change = first_undecidable(migrated.changes, a.kind)) return "its " + change->what + " is another one";
    const auto same = [&](std::int32_t x, std::int32_t y) { return mean_the_same_on(layer, x, y); };
    if (!std::ranges::equal(a.inputs, b.inputs, same)) return "the codes of its input stand for other values";
    if (!std::ranges::equal(a.outputs, b.outputs, same)) return "the codes of its output stand for other values";
    const auto has_values = [](const LayerChange& change) { return change.of == ChangeOf::values; };
    const bool sums_tell = is_conv_layer(a.kind) && is_on_codes(layer);  // whether what it computes with is other
    if (!sums_tell && std::ranges::any_of(migrated.changes, has_values)) return "its constants are other ones";
    return "";
  }

  /// Picks codes and changes none, on both sides: their scale does not matter.
  static bool only_moves_codes(const LayerOnBoth& layer) {
    const auto moves = [](const LayerSide& side) {
      const Operation& operation = side.operation;
      const Pool2dAttributes* const pool = std::get_if<Pool2dAttributes>(&operation.attributes);
      const bool picks =
          is_movement(operation.kind) || (operation.kind == OperationKind::max_pool2d && pool != nullptr && pool->bounds == OutputBounds{});
      const ModelTensor& input = side.model().tensor(operation.inputs[0]);
      return picks && side.backend().domain == Domain::integer && is_integer(input.type) &&
             std::ranges::all_of(operation.outputs, [&](std::int32_t output) {
               return output == absent_tensor || side.model().tensor(output).quantization == input.quantization;
             });
    };
    return moves(layer.a) && moves(layer.b);
  }

  /// Both sides are given what an input can hold on either.
  void share_inputs(const LayerOnBoth& layer) {
    for (std::size_t i = 0; i < layer.a.operation.inputs.size(); ++i) {
      const std::int32_t a = layer.a.operation.inputs[i], b = layer.b.operation.inputs[i];
      if (a == absent_tensor || layer.a.model().tensor(a).constant) continue;
      IntegerRange &of_a = ranges_before_[static_cast<std::size_t>(a)], &of_b = ranges_after_[static_cast<std::size_t>(b)];
      of_a = of_b = {std::min(of_a.min, of_b.min), std::max(of_a.max, of_b.max)};
    }
  }

  void spread(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
    const auto [a, b] = ranges_behind(layer, sums);
    put_range(layer.a.operation, a, ranges_before_);
    put_range(layer.b.operation, b, ranges_after_);
  }

  const RunnableVersion &before_, &after_;
  TensorRanges ranges_before_, ranges_after_;
  LayerAssumptions assumed_;
};

}  // namespace

void decide_for_every_input(const RunnableVersion& before, const RunnableVersion& after, std::vector<MigratedLayer>& layers,
                            const MigrateOptions& options) {
  Decider decider(before, after);
  with_threads(options.threads, [&] {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (options.on_progress) options.on_progress(i, layers.size());
      decider.decide(layers[i]);
    }
  });
}

}  // namespace lastbit
