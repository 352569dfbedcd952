// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/fingerprint.hpp"

#include <algorithm>
#include <bit>

#include "analysis/certify/certifier.hpp"
#include "analysis/certify/every_code.hpp"
#include "compare/report_layout.hpp"
#include "engine/parallel.hpp"
#include "formats/json_model.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/rules.hpp"
#include "model/checksum.hpp"

namespace lastbit {
namespace {

void add_shape(Checksum& sum, const ModelTensor& tensor) {
  sum.add(std::string(name_of(tensor.type)));
  sum.add(tensor.shape.text());
}

/// What every way of looking at the layer has in common.
void add_operation(Checksum& sum, const LayerOnBoth& layer) {
  const Operation& operation = layer.operation();
  sum.add(std::string(name_of(operation.kind)));
  sum.add(attributes_to_json(operation.kind, operation.attributes).dump());
  for (const auto* const list : {&operation.inputs, &operation.outputs}) {
    sum.add(std::ssize(*list));
    for (const std::int32_t tensor : *list) {
      sum.add(tensor);
      if (tensor != absent_tensor) add_shape(sum, layer.a.model().tensor(tensor));
    }
  }
}

void add_constants(Checksum& sum, const LayerOnBoth& layer) {
  for (const std::int32_t input : layer.operation().inputs) {
    if (input == absent_tensor || !layer.a.model().tensor(input).constant) continue;
    sum.add(layer.a.model().tensor(input).constant->bytes());
  }
}

void add_staircase(Checksum& sum, const Staircase& staircase) {
  sum.add(staircase.accumulators.min);
  sum.add(staircase.accumulators.max);
  sum.add(std::ssize(staircase.steps));
  for (const StaircaseStep& step : staircase.steps) {
    sum.add(step.first);
    sum.add(step.output);
  }
}

/// False where a staircase cannot be listed.
bool add_sums(Checksum& sum, const SharedSums& sums) {
  if (!sums.open.empty() || !sums.exact) return false;
  if (sums.add_terms) sums.add_terms(sum);
  std::vector<std::string> of_columns(sums.columns.size());
  for_each_part(std::ssize(of_columns), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      const SharedSums::Column& column = sums.columns[i];
      const auto steps = sums.a.empty() ? Staircase{column.accumulators, {}} : staircase(sums.a, column.a, column.accumulators);
      Checksum one;
      if (steps) add_staircase(one, *steps);
      if (steps) of_columns[i] = one.text();
    }
  });
  for (const std::string& column : of_columns) {
    if (column.empty()) return false;
    sum.add(column);
  }
  return true;
}

/// False where the codes cannot be gone through.
bool add_codes(Checksum& sum, const LayerOnBoth& layer, DecidedBy& by) {
  if (layer.is_real()) return false;
  const std::optional<EveryCode> cases = compare_every_code(layer);
  if (!cases || !cases->open.empty()) return false;
  by = cases->by;
  add_constants(sum, layer);
  for (const std::int64_t output : cases->a) sum.add(output);
  return true;
}

void add_rules_below(Checksum& sum, const std::vector<std::string>& prefixes, const Backend& backend) {
  for (const RuleText& rule : list_rules(backend)) {
    if (!std::ranges::any_of(prefixes, [&](const std::string& prefix) { return covers(prefix, rule.path); })) continue;
    sum.add(rule.path);
    sum.add(rule.value);
  }
}

/// Real numbers are converted by the device's rules.
void add_rules(Checksum& sum, const LayerOnBoth& layer) {
  add_rules_below(sum, prefixes_of(layer.a), in_force(layer.a));
  if (layer.is_real()) {
    add_rules_below(sum, {"domain", "golden_range"}, layer.a.backend());
    add_rules_below(sum, {"quantize", "dequantize"}, layer.a.device.backend);
  }
  sum.add(std::string(name_of(layer.operation().stated)));
  add_constants(sum, layer);
  for (const auto* const list : {&layer.operation().inputs, &layer.operation().outputs}) {
    for (const std::int32_t tensor : *list) {
      if (tensor == absent_tensor) continue;
      const Quantization& quantization = layer.a.model().tensor(tensor).quantization;
      for (const double scale : quantization.scales) sum.add(std::bit_cast<std::int64_t>(scale));
      for (const std::int64_t zero_point : quantization.zero_points) sum.add(zero_point);
    }
  }
}

LayerFingerprint of_layer(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
  LayerFingerprint one{layer.index, layer_name(layer.a.model(), layer.index), std::string(name_of(layer.operation().kind)), {}, {}};
  Checksum sum;
  add_operation(sum, layer);
  Checksum listed = sum;
  if (sums && add_sums(listed, *sums)) {
    one.by = DecidedBy::accumulators;
  } else if (listed = sum; sums || !add_codes(listed, layer, one.by)) {
    one.by = DecidedBy::same_rules;
    add_rules(listed = sum, layer);
  }
  listed.add(std::string(name_of(one.by)));
  one.checksum = listed.text();
  return one;
}

std::string_view made_of(DecidedBy by) {
  switch (by) {
    case DecidedBy::accumulators: return "sums and staircases";
    case DecidedBy::codes: return "every code";
    case DecidedBy::pairs: return "every pair of codes";
    case DecidedBy::window_sums: return "every sum";
    case DecidedBy::same_rules:
    case DecidedBy::nothing: break;
  }
  return "rules";
}

}  // namespace

Fingerprint fingerprint(const Model& model, const Device& sheet, const FingerprintOptions& options) {
  Fingerprint found{.model = model.name, .backend = sheet.name, .layers = {}, .checksum = {}};
  const CertifyOptions request{.threads = options.threads, .on_progress = options.on_progress};
  Checksum all;
  with_threads(options.threads, [&] {
    Certifier(model, sheet, sheet, {}, request).each([&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      all.add(found.layers.emplace_back(of_layer(layer, sums)).checksum);
    });
  });
  for (const auto* const list : {&model.inputs, &model.outputs})
    for (const std::int32_t tensor : *list) all.add(tensor);
  for (const State& state : model.states) {
    all.add(state.before);
    all.add(state.after);
  }
  found.checksum = all.text();
  return found;
}

std::string to_text(const Fingerprint& fingerprint) {
  std::string text;
  for (const LayerFingerprint& layer : fingerprint.layers)
    text += layer.checksum + right(std::to_string(layer.operation), 5) + " " + left(shortened(layer.name, 23), 24) +
            left(layer.kind.substr(0, 17), 18) + std::string(made_of(layer.by)) + "\n";
  return text + fingerprint.checksum + "  " + fingerprint.model + " on " + fingerprint.backend + "\n";
}

std::string to_json(const Fingerprint& fingerprint) {
  JsonValue json{{"format", "lastbit.fingerprint.v1"},
                 {"model", fingerprint.model},
                 {"backend", fingerprint.backend},
                 {"checksum", fingerprint.checksum},
                 {"layers", JsonValue::array()}};
  for (const LayerFingerprint& layer : fingerprint.layers)
    json["layers"].push_back({{"number", layer.operation},
                              {"name", layer.name},
                              {"kind", layer.kind},
                              {"made_of", made_of(layer.by)},
                              {"checksum", layer.checksum}});
  return json.text(1) + "\n";
}

}  // namespace lastbit
