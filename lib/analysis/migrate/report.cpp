// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/certify/layer_report.hpp"
#include "compare/json_number.hpp"
#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/migrate.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

/// "output scale 0.05 -> 0.06 (+20%)"
std::string change_text(const LayerChange& change) {
  if (change.from.empty()) return change.what + ": " + change.by;
  return change.what + " " + change.from + " -> " + change.to + (change.by.empty() ? "" : " (" + change.by + ")");
}

std::string changes_text(const std::vector<LayerChange>& changes) {
  std::string text;
  for (const LayerChange& change : changes) text += (text.empty() ? "" : "; ") + change_text(change);
  return text;
}

std::string apart_text(const TensorDifference& apart) {
  if (apart.differing == 0) return "equal";
  if (!apart.largest_lsb)
    return "cosine " + number_text("%.6f", apart.metrics.cosine) + ", SQNR " + number_text("%.1f", apart.metrics.sqnr_db) + " dB";
  return with_commas(apart.differing) + " of " + with_commas(apart.values) + " differ, at most " +
         number_text("%+.0f", static_cast<double>(*apart.largest_lsb)) + " LSB";
}

std::string data_text(const MigratedLayer& migrated) {
  const LayerDifference& layer = *migrated.on_data;
  const bool is_equal = layer.accumulated.differing == 0 && (!layer.same_input || layer.same_input->differing == 0);
  if (is_equal) return "on data: equal";
  std::string own = layer.same_input ? "own " + apart_text(*layer.same_input) : "";
  if (migrated.rounded_inputs) own += " on inputs rounded to its codes";
  return "on data: " + own + (own.empty() ? "" : "; ") + "accumulated " + apart_text(layer.accumulated);
}

std::string verdict_of(const MigratedLayer& layer) {
  const LayerCertificate& certificate = layer.certificate;
  if (certificate.is_open()) return "not decided: " + certificate.open;
  if (certificate.by == DecidedBy::same_rules && certificate.assumptions.empty())
    return layer.changes.empty() ? "equal: nothing changed" : "equal: nothing that it computes with changed";
  return verdict_text(certificate);
}

std::string layer_text(const MigratedLayer& layer, const LayerView& view) {
  const std::size_t width = name_width(view, 24);
  const std::string place = right(std::to_string(layer.before), 3) + " " + left(shortened(layer.name_before, width - 1), width) +
                            left(layer.certificate.kind.substr(0, 17), 18);
  std::string text = wrapped(place + verdict_of(layer), 6);
  const auto add = [&](const std::string& line) { text += wrapped("      " + line, 6); };
  if (layer.by != PairedBy::name || layer.after != layer.before)
    add("matched by " + std::string(name_of(layer.by)) + ": " + std::to_string(layer.after) + " '" + shortened(layer.name_after, 50) + "'");
  if (!layer.changes.empty()) add("changed: " + changes_text(layer.changes));
  text += shown_text(layer.certificate);
  if (layer.on_data) add(data_text(layer));
  return text;
}

std::string lone_text(const std::string& what, const std::vector<LoneLayer>& layers) {
  std::string text;
  for (const LoneLayer& layer : layers)
    text += "  " + what + ": " + std::to_string(layer.number) + " '" + shortened(layer.name, 50) + "' " + layer.kind + "\n";
  return text;
}

std::string matched_text(const NetworkMigration& migration) {
  std::string text;
  for (const PairedBy by : {PairedBy::name, PairedBy::weights, PairedBy::place}) {
    const auto count = std::ranges::count(migration.layers, by, &MigratedLayer::by);
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " by " + std::string(name_of(by));
  }
  return count_of(std::ssize(migration.layers), "layer") + " matched" + (text.empty() ? "" : " (" + text + ")") + ", " +
         std::to_string(migration.removed.size()) + " removed, " + std::to_string(migration.added.size()) + " added";
}

std::string verdict_of(const NetworkMigration& migration, AssumptionsAre are) {
  const std::vector<SharedAssumption> assumptions = migration.assumptions();
  if (migration.holds(are)) {
    const std::string accepted = assumptions.empty() ? "" : ", " + count_of(std::ssize(assumptions), "assumption") + " accepted";
    return wrapped("the same network for every input" + accepted + ": " + matched_text(migration));
  }
  if (migration.equal()) return wrapped(matched_text(migration)) + "the same network for every input " + only_if(assumptions) + "\n";
  std::ptrdiff_t equal = 0, open = 0;
  for (const MigratedLayer& layer : migration.layers) {
    equal += layer.certificate.equal() ? 1 : 0;
    open += layer.certificate.is_open() ? 1 : 0;
  }
  std::string text = matched_text(migration) + "; " + std::to_string(equal) + " equal for every input, " +
                     std::to_string(std::ssize(migration.layers) - equal - open) + " can differ, " + std::to_string(open) + " not decided";
  if (const MigratedLayer* const first = migration.first_not_equal())
    text += "; the first that is not equal: " + std::to_string(first->before) + " '" + shortened(first->name_before, 50) + "'";
  return wrapped(text);
}

std::string rule_text(const ChangedRule& rule) {
  const auto or_none = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
  return wrapped(
      "  " + rule.path + ": " + or_none(rule.from) + " -> " + or_none(rule.to) + " (" + count_of(std::ssize(rule.layers), "layer") + ")",
      4);
}

JsonValue json_of(const std::vector<LayerChange>& changes) {
  JsonValue list = JsonValue::array();
  for (const LayerChange& change : changes)
    list.push_back({{"of", name_of(change.of)}, {"what", change.what}, {"old", change.from}, {"new", change.to}, {"by", change.by}});
  return list;
}

JsonValue json_of(const TensorDifference& apart) {
  JsonValue json{{"values", apart.values}, {"differing", apart.differing}};
  json["largest_lsb"] = apart.largest_lsb ? JsonValue(*apart.largest_lsb) : JsonValue();
  json["cosine"] = json_number(apart.metrics.cosine);
  json["sqnr_db"] = json_number(apart.metrics.sqnr_db);
  return json;
}

JsonValue json_of(const MigratedLayer& layer) {
  JsonValue json = json_of(layer.certificate);
  json["new_number"] = layer.after;
  json["new_name"] = layer.name_after;
  json["matched_by"] = name_of(layer.by);
  json["changes"] = json_of(layer.changes);
  if (!layer.on_data) return json;
  json["on_data"] = JsonValue{{"accumulated", json_of(layer.on_data->accumulated)}};
  if (layer.on_data->same_input) json["on_data"]["own"] = json_of(*layer.on_data->same_input);
  json["on_data"]["rounded_inputs"] = layer.rounded_inputs;
  return json;
}

JsonValue json_of(const std::vector<LoneLayer>& layers) {
  JsonValue list = JsonValue::array();
  for (const LoneLayer& layer : layers) list.push_back({{"number", layer.number}, {"name", layer.name}, {"kind", layer.kind}});
  return list;
}

ViewedLayer viewed(const MigratedLayer& layer) {
  ViewedLayer one = viewed(layer.certificate);
  one.number = layer.before;
  one.name = layer.name_before;
  return one;
}

}  // namespace

std::string to_text(const NetworkMigration& migration, const LayerView& view, AssumptionsAre assumptions) {
  std::string text = "a: " + migration.before + "\nb: " + migration.after + "\non " + migration.device +
                     ", each layer for every input that its types and clamps allow\n\n";
  std::vector<ViewedLayer> layers;
  for (const MigratedLayer& layer : migration.layers) layers.push_back(viewed(layer));
  const std::vector<std::size_t> rows = shown(view, layers);
  for (const std::size_t row : rows) text += layer_text(migration.layers[row], view);
  text += shown_line(rows.size(), layers.size());
  text += "\n" + lone_text("removed", migration.removed) + lone_text("added", migration.added);
  for (const LayerChange& change : migration.ends) text += wrapped("  " + change_text(change));
  for (const OutputAgreement& output : migration.outputs)
    text += "on data: of '" + shortened(output.name, 40) + "' the largest value is in the same place in " + with_commas(output.same_top) +
            " of " + with_commas(output.samples) + " samples\n";
  return text + to_text(migration.assumptions()) + verdict_of(migration, assumptions);
}

std::string to_json(const NetworkMigration& migration) {
  JsonValue json{{"format", "lastbit.migration.v1"},
                 {"old", migration.before},
                 {"new", migration.after},
                 {"device", migration.device},
                 {"equal", migration.holds(AssumptionsAre::named)},
                 {"assumptions", json_of(migration.assumptions())},
                 {"layers", JsonValue::array()},
                 {"removed", json_of(migration.removed)},
                 {"added", json_of(migration.added)},
                 {"ends", json_of(migration.ends)}};
  for (const MigratedLayer& layer : migration.layers) json["layers"].push_back(json_of(layer));
  if (migration.outputs.empty()) return json.text(1) + "\n";
  json["outputs"] = JsonValue::array();
  for (const OutputAgreement& output : migration.outputs)
    json["outputs"].push_back({{"name", output.name}, {"samples", output.samples}, {"same_top", output.same_top}});
  return json.text(1) + "\n";
}

std::string to_text(const DeviceMigration& migration, const LayerView& view, AssumptionsAre assumptions) {
  const auto read = std::ranges::count_if(migration.rules, [](const ChangedRule& rule) { return !rule.layers.empty(); });
  std::string text = wrapped(migration.before + " to " + migration.after + ": " + count_of(std::ssize(migration.rules), "rule") +
                             " changed, of which this network reads " + std::to_string(read));
  for (const ChangedRule& rule : migration.rules)
    if (!rule.layers.empty()) text += rule_text(rule);
  text += "\n" + to_text(migration.certificate, view, assumptions);
  if (migration.on_data) text += "\non data:\n" + to_text(*migration.on_data, Detail::summary, view);
  return text;
}

std::string to_json(const DeviceMigration& migration) {
  JsonValue json{{"format", "lastbit.device_migration.v1"},
                 {"model", migration.model},
                 {"old", migration.before},
                 {"new", migration.after},
                 {"equal", migration.holds(AssumptionsAre::named)},
                 {"rules", JsonValue::array()},
                 {"certificate", JsonValue::parse(to_json(migration.certificate))}};
  for (const ChangedRule& rule : migration.rules)
    json["rules"].push_back({{"rule", rule.path}, {"old", rule.from}, {"new", rule.to}, {"layers", JsonValue(rule.layers)}});
  if (migration.on_data) json["on_data"] = JsonValue::parse(to_json(*migration.on_data));
  return json.text(1) + "\n";
}

}  // namespace lastbit
