// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "analysis/certify/layer_report.hpp"
#include "compare/report_layout.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {

std::string with_commas(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

namespace {

std::string_view cases_word(DecidedBy by) {
  switch (by) {
    case DecidedBy::accumulators: return "accumulators";
    case DecidedBy::codes: return "codes";
    case DecidedBy::pairs: return "pairs of codes";
    case DecidedBy::window_sums: return "sums";
    case DecidedBy::same_rules:
    case DecidedBy::nothing: break;
  }
  return "";
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g%%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

}  // namespace

std::string verdict_text(const LayerCertificate& layer) {
  if (layer.is_open()) return "open: " + layer.open;
  const std::string condition =
      layer.assumptions.empty() ? "" : ", if " + names_text(layer.assumptions) + (layer.assumptions.size() == 1 ? " is so" : " are so");
  if (layer.by == DecidedBy::same_rules) return "equal: the same rules" + condition;
  const std::string cases = with_commas(layer.cases) + " " + std::string(cases_word(layer.by));
  if (layer.equal()) return "equal in " + cases + condition;
  std::string text = "differs in " + with_commas(layer.differing) + " of " + cases + " (" + share_text(layer.differing, layer.cases) +
                     "), at most " + std::to_string(layer.largest) + " LSB";
  if (layer.channels.size() > 1)
    text += "; " + std::to_string(layer.equal_channels()) + " of " + std::to_string(layer.channels.size()) + " channels equal";
  return text;
}

std::string shown_text(const LayerCertificate& layer) {
  if (layer.differing == 0) return "";
  if (!layer.shown) return "      no input was found that reaches one of them\n";
  const ShownDifference& shown = *layer.shown;
  return wrapped("      run on an input that shows it: output " + std::to_string(shown.index) + " is " + std::to_string(shown.a) +
                     " against " + std::to_string(shown.b) + (shown.cause.empty() ? "" : "; " + shown.cause),
                 6);
}

namespace {

std::string bound_text(const TensorBound& bound) {
  if (!bound.lsb) return "no bound";
  if (*bound.lsb == 0) return "the same";
  std::string text = "at most " + std::to_string(*bound.lsb) + " LSB apart";
  if (bound.by == BoundBy::intervals) text += " (by intervals)";
  if (bound.by == BoundBy::type) text += " (all that its type holds)";
  return text;
}

/// Said of layers whose inputs can differ already; in front of them it is what the layer does by itself.
std::string network_bound_text(const LayerCertificate& layer) {
  return layer.in_network.by == BoundBy::exact ? "" : "; in the network: " + bound_text(layer.in_network);
}

std::string layer_text(const LayerCertificate& layer, bool in_network, const LayerView& view) {
  const std::size_t width = name_width(view, 24);
  const std::string place =
      right(std::to_string(layer.operation), 3) + " " + left(shortened(layer.name, width - 1), width) + left(layer.kind.substr(0, 17), 18);
  return wrapped(place + verdict_text(layer) + (in_network ? network_bound_text(layer) : ""), 6) + shown_text(layer);
}

std::string equal_text(const Certificate& certificate, const std::string& inputs, AssumptionsAre are) {
  const std::vector<SharedAssumption> assumptions = certificate.assumptions();
  const std::string both = certificate.a + " and " + certificate.b + " compute the same network";
  if (assumptions.empty()) return "equal for " + inputs + ": " + both + "\n";
  if (are == AssumptionsAre::accepted)
    return wrapped("equal for " + inputs + ", " + count_of(std::ssize(assumptions), "assumption") + " accepted: " + both);
  return "equal for " + inputs + " " + only_if(assumptions) + "\n";
}

std::string network_text(const Certificate& certificate, AssumptionsAre assumptions) {
  const std::string inputs = certificate.range == InputRange::type ? "every input" : "every input within the range of the data";
  if (certificate.equal()) return equal_text(certificate, inputs, assumptions);
  std::int64_t differing = 0;
  for (const LayerCertificate& layer : certificate.layers) differing += !layer.is_open() && !layer.equal() ? 1 : 0;
  const auto count = static_cast<std::int64_t>(certificate.layers.size());
  std::string text = std::to_string(count - differing - certificate.open()) + " of " + std::to_string(count) + " layers equal for " +
                     inputs + ", " + std::to_string(differing) + " can differ, " + std::to_string(certificate.open()) + " open";
  const auto first = std::ranges::find_if_not(certificate.layers, &LayerCertificate::equal);
  text = wrapped(text + "; the first that is not equal: " + std::to_string(first->operation) + " '" + shortened(first->name, 50) + "'");
  for (const auto& [name, bound] : certificate.outputs)
    text += wrapped("output '" + shortened(name, 50) + "', with all differences together: " + bound_text(bound));
  return text;
}

/// "0*37 -128 127*3": codes in order, a run of equal ones once.
std::string codes_text(const Tensor& tensor) {
  std::string text;
  for (std::int64_t at = 0, end = 0; at < tensor.element_count(); at = end) {
    while (end < tensor.element_count() && tensor.integer_at(end) == tensor.integer_at(at)) ++end;
    text += (text.empty() ? "" : " ") + std::to_string(tensor.integer_at(at)) + (end - at > 1 ? "*" + std::to_string(end - at) : "");
  }
  return text;
}

JsonValue json_of(const TensorBound& bound) {
  return {{"lsb", bound.lsb ? JsonValue(*bound.lsb) : JsonValue()}, {"by", name_of(bound.by)}};
}

}  // namespace

JsonValue json_of(const LayerCertificate& layer) {
  JsonValue json{{"number", layer.operation}, {"name", layer.name}, {"kind", layer.kind}, {"decided_by", name_of(layer.by)}};
  json["verdict"] = layer.is_open() ? "open" : !layer.equal() ? "differs" : layer.assumptions.empty() ? "equal" : std::string(equal_if);
  if (layer.is_open()) json["why"] = layer.open;
  json.update({{"cases", layer.cases}, {"differing", layer.differing}, {"largest_lsb", layer.largest}});
  JsonValue channels = JsonValue::array();
  for (const CertifiedChannel& channel : layer.channels)
    channels.push_back({{"lowest", channel.accumulators.min},
                        {"highest", channel.accumulators.max},
                        {"differing", channel.differing},
                        {"largest_lsb", channel.largest}});
  if (!layer.channels.empty()) json["channels"] = std::move(channels);
  if (layer.shown) {
    JsonValue inputs = JsonValue::array();
    for (const Tensor& input : layer.shown->inputs) inputs.push_back(codes_text(input));
    json["shown"] = JsonValue{{"inputs", std::move(inputs)},
                              {"index", layer.shown->index},
                              {"a", layer.shown->a},
                              {"b", layer.shown->b},
                              {"cause", layer.shown->cause}};
  }
  json["assumptions"] = json_of(layer.assumptions);
  return json;
}

ViewedLayer viewed(const LayerCertificate& layer) {
  const bool counted = !layer.is_open() && layer.cases > 0;
  const double share = counted           ? static_cast<double>(layer.differing) / static_cast<double>(layer.cases)
                       : layer.is_open() ? std::nan("")
                                         : 0;
  return {layer.operation, layer.name, share, layer.is_open() ? share : static_cast<double>(layer.largest), share};
}

std::string to_text(const Certificate& certificate, const LayerView& view, AssumptionsAre assumptions) {
  std::string text =
      certificate.model + ": " + certificate.a + " against " + certificate.b + ", each layer for every input " +
      (certificate.range == InputRange::type ? "that its types and clamps allow" : "between the least and the largest of the data") +
      "\n\n";
  std::vector<ViewedLayer> layers;
  for (const LayerCertificate& layer : certificate.layers) layers.push_back(viewed(layer));
  const std::vector<std::size_t> rows = shown(view, layers);
  for (const std::size_t row : rows) text += layer_text(certificate.layers[row], !certificate.outputs.empty(), view);
  return text + shown_line(rows.size(), layers.size()) + "\n" + to_text(certificate.assumptions()) + network_text(certificate, assumptions);
}

std::string to_text(const CertificateCheck& check) {
  if (!check.holds()) {
    constexpr std::size_t most = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, check.wrong.size()); ++i) text += wrapped(check.wrong[i]);
    if (check.wrong.size() > most) text += "… and " + with_commas(std::ssize(check.wrong) - static_cast<std::int64_t>(most)) + " more\n";
    return text + "the certificate does not hold: wrong in " + count_of(std::ssize(check.wrong), "statement") + "\n";
  }
  std::string text = "the certificate holds: " + count_of(static_cast<std::int64_t>(check.layers), "layer") + ", " +
                     (check.only ? *check.only + " alone, " : "") + with_commas(check.cases) + " cases computed one by one";
  if (check.by_steps > 0) text += ", " + with_commas(check.by_steps) + " more at both ends of every step";
  return wrapped(text) + to_text(check.assumptions);
}

std::string to_json(const Certificate& certificate) {
  JsonValue json{{"format", certificate_format},
                 {"lastbit", certificate.version},
                 {"model", std::filesystem::path(certificate.model).filename().string()},
                 {"model_checksum", certificate.model_checksum},
                 {"a", {{"name", certificate.a}, {"rules", certificate.rules_a}}},
                 {"b", {{"name", certificate.b}, {"rules", certificate.rules_b}}}};
  if (!certificate.elsewhere.empty()) json["elsewhere"] = certificate.elsewhere;
  json["input_range"] = certificate.range == InputRange::type ? "type" : "data";
  if (!certificate.data.empty()) json["data"] = certificate.data;
  json.update({{"layer", certificate.only ? JsonValue(*certificate.only) : JsonValue()},
               {"equal", certificate.holds(AssumptionsAre::named)},
               {"assumptions", json_of(certificate.assumptions())},
               {"open", certificate.open()},
               {"layers", JsonValue::array()},
               {"outputs", JsonValue::array()}});
  for (const LayerCertificate& layer : certificate.layers) {
    JsonValue one = json_of(layer);
    if (!certificate.only) one["in_network"] = json_of(layer.in_network);
    json["layers"].push_back(std::move(one));
  }
  for (const auto& [name, bound] : certificate.outputs) {
    JsonValue output{{"name", name}};
    output.update(json_of(bound));
    json["outputs"].push_back(std::move(output));
  }
  return json.text(1) + "\n";
}

}  // namespace lastbit
