// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "placement_option.hpp"

#include <algorithm>

#include "backend_option.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/one_operation.hpp"
#include "problem.hpp"

namespace lastbit::tool {
namespace {

struct PlacementWords {
  std::vector<std::string> fallbacks, kept;
};
PlacementWords& placement_words() {
  static PlacementWords words;
  return words;
}

/// Layers by their names, numbers or ends of names; a name may hold a comma.
std::vector<std::string> layers_in(const std::string& list, const Model& model, const std::string& where) {
  std::vector<std::string> layers;
  std::string name;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    name += list.substr(at, comma - at);
    at = comma + 1;
    try {
      layers.push_back(layer_name(model, operation_called(model, name, where)));
      name.clear();
    } catch (const Error&) {
      if (at > list.size()) throw;
      name += ',';
    }
  }
  return layers;
}

Placement kept_from(const std::string& text, const Model& model) {
  const std::string where = "--keep " + text;
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error(ErrorCode::bad_input, where, "must be layers and a backend, such as softmax,12=float");
  return {named_backend(text.substr(equals + 1)), layers_in(text.substr(0, equals), model, where)};
}

std::vector<std::string> lines_of(const Model& model, std::initializer_list<const SpecSheet*> sheets) {
  std::vector<std::string> lines;
  for (const SpecSheet* const sheet : sheets) {
    for (std::string& line : computed_elsewhere(model, *sheet)) lines.push_back(std::move(line));
  }
  return lines;
}

SpecSheet placed(SpecSheet sheet, const Model& model, std::vector<Placement> placements) {
  for (const std::string& name : placement_words().fallbacks) placements.push_back({named_backend(name), {}});
  sheet.backend.elsewhere = Placements(std::move(placements));
  remember_backend(sheet);
  if (!sheet.backend.elsewhere.empty() && check(model, sheet.backend).empty())
    sheet.backend.elsewhere = placements_for(model, sheet.backend);
  return sheet;
}

}  // namespace

void add_placement_options(Command& command) {
  command
      .option("--fallback", placement_words().fallbacks,
              "compute what the device lacks on this backend, as a board's CPU does; of several the first that has it (repeatable)")
      .value_name("BACKEND")
      .suggests(ValueKind::backend)
      .repeatable();
  command
      .option("--keep", placement_words().kept,
              "compute these layers on this backend instead of the device, such as softmax,12=float (repeatable)")
      .value_name("LAYER,…=BACKEND")
      .repeatable_one_by_one();
}

SpecSheet with_placements(SpecSheet sheet, const Model& model) {
  std::vector<Placement> placements;
  for (const std::string& text : placement_words().kept) placements.push_back(kept_from(text, model));
  return placed(std::move(sheet), model, std::move(placements));
}

SpecSheet with_fallbacks(SpecSheet sheet, const Model& model) { return placed(std::move(sheet), model, {}); }

std::string placement_text(const Model& model, std::initializer_list<const SpecSheet*> sheets) {
  std::string text;
  for (const std::string& line : lines_of(model, sheets)) text += line + "\n";
  return text;
}

std::string json_with_placements(const std::string& report, const Model& model, std::initializer_list<const SpecSheet*> sheets) {
  const std::vector<std::string> lines = lines_of(model, sheets);
  if (lines.empty()) return report;
  JsonValue json = JsonValue::parse(report);
  json["elsewhere"] = lines;
  return json.text(2) + "\n";
}

}  // namespace lastbit::tool
