// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/tolerance.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "compare/report_fields.hpp"
#include "formats/file.hpp"
#include "formats/json.hpp"
#include "lastbit/nearest.hpp"

namespace lastbit {
namespace {

/// '*': any text, '?': any letter. Only the last '*' is ever tried again, further on: that is enough, and never takes more than their product.
bool fits(std::string_view pattern, std::string_view text) {
  std::size_t at = 0, star = std::string_view::npos, resumed = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') star = at++, resumed = i;
    else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[i])) ++at, ++i;
    else if (star != std::string_view::npos) at = star + 1, i = ++resumed;
    else return false;
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool is_it(const std::string& layer, const std::optional<std::size_t>& number, std::string_view name) {
  return layer == name || (number && layer == std::to_string(*number));
}

double number_between(const JsonView& json, double low, double high) {
  const double value = json.number();
  if (value < low || value > high) json.fail("must be from " + number_text("%g", low) + " to " + number_text("%g", high));
  return value;
}

Tolerance tolerance_from(const JsonView& json) {
  json.only({"max_lsb", "max_share", "min_cosine"});
  Tolerance tolerance;
  if (const auto lsb = json.find("max_lsb")) {
    tolerance.max_lsb = lsb->integer();
    if (*tolerance.max_lsb < 0) lsb->fail("must not be negative");
  }
  if (const auto share = json.find("max_share"))
    tolerance.max_share = share->value().is_string() ? share_from(share->text(), share->where()) : number_between(*share, 0, 1);
  if (const auto cosine = json.find("min_cosine")) tolerance.min_cosine = number_between(*cosine, -1, 1);
  return tolerance;
}

/// Enough digits to tell it from the limit.
std::string share_text(double share, double limit) {
  for (const char* format : {"%.3g%%", "%.6g%%"})
    if (number_text(format, 100 * share) != number_text(format, 100 * limit)) return number_text(format, 100 * share);
  return number_text("%.17g%%", 100 * share);
}

}  // namespace

Tolerance Tolerances::of(const std::optional<std::size_t>& number, std::string_view name) const {
  const OfLayer* best = nullptr;
  for (const OfLayer& each : layers) {
    if (is_it(each.layer, number, name)) {
      best = &each;
      break;
    }
    if (fits(each.layer, name) && (best == nullptr || each.layer.size() > best->layer.size())) best = &each;
  }
  Tolerance result = all;
  if (best == nullptr) return result;
  if (best->tolerance.max_lsb) result.max_lsb = best->tolerance.max_lsb;
  if (best->tolerance.max_share) result.max_share = best->tolerance.max_share;
  if (best->tolerance.min_cosine) result.min_cosine = best->tolerance.min_cosine;
  return result;
}

double share_from(const std::string& text, const std::string& where) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const bool percent = end != last && *end == '%' && end + 1 == last;
  if (percent) value /= 100;
  if (error != std::errc() || (end != last && !percent) || !(value >= 0 && value <= 1))
    throw Error(ErrorCode::bad_input, where, "'" + text + "' is no share: a number from 0 to 1, or from 0% to 100%");
  return value;
}

Tolerances read_tolerances(const std::filesystem::path& file) {
  const Json json = parse_json(read_text_file(file), file.string());
  const JsonView view(json, file.string());
  view.only({"default", "layers"});
  Tolerances tolerances;
  if (const auto all = view.find("default")) tolerances.all = tolerance_from(*all);
  if (const auto layers = view.find("layers")) {
    if (!layers->value().is_object()) layers->fail("must be an object");
    for (const auto& [name, value] : layers->value().items()) tolerances.layers.push_back({name, tolerance_from((*layers)[name])});
  }
  if (!tolerances.given()) view.fail("states no tolerance");
  return tolerances;
}

std::string excess(const TensorDifference& difference, const Tolerance& tolerance) {
  if (difference.differing == 0) return {};
  std::string text;
  const auto add = [&](const std::string& what, const std::string& allowed) {
    text += (text.empty() ? "" : "; ") + what + ", allowed " + allowed;
  };
  const bool counts_lsb = tolerance.max_lsb.has_value() && difference.largest_lsb.has_value();
  if (!counts_lsb && !tolerance.max_share && !tolerance.min_cosine)
    add(share_text(difference.share(), 0) + " of the values differ", "none");
  const auto is_beyond = [](std::int64_t lsb, std::int64_t limit) { return lsb > limit || lsb < -limit; };
  if (counts_lsb && is_beyond(difference.largest_lsb.value_or(0), tolerance.max_lsb.value_or(0)))
    add((difference.largest_lsb.value_or(0) > 0 ? "+" : "") + std::to_string(difference.largest_lsb.value_or(0)) + " LSB",
        std::to_string(tolerance.max_lsb.value_or(0)));
  if (const double limit = tolerance.max_share.value_or(1); difference.share() > limit)
    add(share_text(difference.share(), limit) + " of the values differ", number_text("%.6g%%", 100 * limit));
  if (const double limit = tolerance.min_cosine.value_or(-2); tolerance.min_cosine && !(difference.metrics.cosine >= limit))
    add("cosine " + number_text("%.9g", difference.metrics.cosine), "at least " + number_text("%.9g", limit));
  return text;
}

void require_layers(const Tolerances& tolerances, std::span<const NamedLayer> layers) {
  std::vector<std::string_view> names;
  for (const NamedLayer& layer : layers) names.push_back(layer.name);
  std::vector<Diagnostic> unknown;
  for (const Tolerances::OfLayer& each : tolerances.layers) {
    const auto is_meant = [&](const NamedLayer& layer) {
      return is_it(each.layer, layer.number, layer.name) || fits(each.layer, layer.name);
    };
    if (std::ranges::none_of(layers, is_meant))
      unknown.push_back({ErrorCode::bad_input, "tolerances", "no layer is called '" + each.layer + "'" + did_you_mean(each.layer, names)});
  }
  if (!unknown.empty()) throw Error(std::move(unknown));
}

ToleranceVerdict judge(const CompareReport& report, const Tolerances& tolerances) {
  std::vector<NamedLayer> layers;
  for (const LayerDifference& layer : report.layers) layers.push_back({layer.number, layer.name});
  require_layers(tolerances, layers);
  ToleranceVerdict verdict;
  for (const LayerDifference& layer : report.layers) {
    const std::string reason = excess(layer.accumulated, tolerances.of(layer.number, layer.name));
    if (!reason.empty()) verdict.outside.push_back({layer.number, layer.name, reason});
    else if (layer.accumulated.differing > 0) ++verdict.within;
  }
  return verdict;
}

}  // namespace lastbit
