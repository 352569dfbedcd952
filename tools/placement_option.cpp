// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "placement_option.hpp"

#include <algorithm>
#include <filesystem>

#include "backend_option.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/sums_on.hpp"
#include "model_option.hpp"
#include "problem.hpp"

namespace lastbit::tool {
namespace {

struct PlacementWords {
  std::vector<std::string> fallbacks, kept;
  bool allow_float = false;
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

std::vector<Placement> kept_of(const Model& model) {
  std::vector<Placement> placements;
  for (const std::string& text : placement_words().kept) placements.push_back(kept_from(text, model));
  return placements;
}

SpecSheet with_fallback_words(SpecSheet sheet, std::vector<Placement> placements) {
  for (const std::string& name : placement_words().fallbacks) placements.push_back({named_backend(name), {}});
  sheet.backend.elsewhere = Placements(std::move(placements));
  return sheet;
}

/// As a shell takes it for one word.
std::string shell_word(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+@%=,~";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// The command that makes a network of this device, or what to do where there is none.
std::string way_to_codes(const SpecSheet& sheet, const std::string& file) {
  namespace fs = std::filesystem;
  const std::string device = typed_name(sheet);
  if (sheet.quantizer.empty()) return device + " computes codes, and lastbit has no quantiser for it: quantise it with the vendor's tools";
  const std::string output = fs::path(file).stem().string() + "_" + fs::path(device).stem().string() + ".json";
  std::string command = "prepare it: lastbit quantize " + shell_word(file);
  for (const std::string& word : given_model_words()) command += " " + shell_word(word);
  return command + " --backend " + shell_word(device) + " --calibrate DIR -o " + shell_word(output);
}

/// Before the fallbacks are resolved: they say whether float computes every sum.
void refuse_floats(const SpecSheet& sheet, const UsersModel& network) {
  if (!is_refused_for_floats(network.model, sheet.backend)) return;
  const std::string where = is_float_network(network.model) ? "float network" : "--fallback would compute every sum in float";
  throw Error(ErrorCode::bad_input, where, way_to_codes(sheet, network.file) + "; or --allow-float");
}

SpecSheet placed(SpecSheet sheet, const UsersModel& network, std::vector<Placement> placements) {
  sheet = with_fallback_words(std::move(sheet), std::move(placements));
  remember_backend(sheet);
  refuse_floats(sheet, network);
  if (!sheet.backend.elsewhere.empty() && check(network.model, sheet.backend).empty())
    sheet.backend.elsewhere = placements_for(network.model, sheet.backend);
  return sheet;
}

}  // namespace

void add_allow_float_option(Command& command) {
  command.flag("--allow-float", placement_words().allow_float,
               "compute a network of floats although no sum of it is the device's; otherwise it is refused");
}

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
  add_allow_float_option(command);
}

SpecSheet with_placements(SpecSheet sheet, const UsersModel& network) { return placed(std::move(sheet), network, kept_of(network.model)); }

SpecSheet with_fallbacks(SpecSheet sheet, const UsersModel& network) { return placed(std::move(sheet), network, {}); }

Sides placed_sides(const ChosenBackend& a, const ChosenBackend& b, const UsersModel& network) {
  SpecSheet of_a = reported_backend(a.name, a.settings), of_b = reported_backend(b.name, b.settings);
  refuse_floats(with_fallback_words(of_b, kept_of(network.model)), network);
  of_a = with_fallbacks(std::move(of_a), network);
  return {std::move(of_a), with_placements(std::move(of_b), network)};
}

bool is_refused_for_floats(const Model& model, const Backend& backend) {
  return !placement_words().allow_float && computes_no_sum(model, backend);
}

bool is_refused_for_floats(const Model& model, const SpecSheet& sheet) {
  return is_refused_for_floats(model, with_fallback_words(sheet, kept_of(model)).backend);
}

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
