// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a vendor's tool is told to leave off its device.
#include <algorithm>

#include "lastbit/advise.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/registry.hpp"

namespace lastbit {
namespace {

struct Chosen {
  std::string choice;
  std::vector<std::size_t> operations;
};

Chosen chosen_of(const AdviseReport& report) {
  if (report.float16 && report.halves) return {"what has to stay in float32", report.halves->kept.kept};
  Chosen chosen{"the device alone", {}};
  if (!report.consequences.empty()) chosen = {report.consequences.back().choice, report.consequences.back().operations};
  for (const std::size_t operation : report.only_on_a)
    if (std::ranges::find(chosen.operations, operation) == chosen.operations.end()) chosen.operations.push_back(operation);
  std::ranges::sort(chosen.operations);
  return chosen;
}

std::string devices_with_lists() {
  std::string names;
  for (const SpecSheet& sheet : builtin_backends())
    if (sheet.layer_list != LayerList::none) names += (names.empty() ? "" : ", ") + sheet.name;
  return names;
}

/// A name ends where the file's own separator, a quote or a line begins.
void require_plain(const std::string& name, LayerList kind) {
  const std::string forbidden = kind == LayerList::keep_dtype ? "\n\r" : ";\"\\\n\r";
  const bool is_comment = name.starts_with('#') || name.starts_with("OpType::");
  if (name.find_first_of(forbidden) == std::string::npos && !(kind == LayerList::keep_dtype && is_comment)) return;
  throw Error(ErrorCode::bad_input, "operation '" + printable(name) + "'",
              "its name cannot stand in the list that the vendor's tool reads");
}

}  // namespace

LayerListFile layer_list(const AdviseReport& report, const Device& device) {
  if (device.layer_list == LayerList::none)
    throw Error(ErrorCode::bad_input, "backend " + device.name,
                "no tool of its vendor is known that reads a list of layers; one is written for: " + devices_with_lists());
  const auto [choice, operations] = chosen_of(report);
  LayerListFile file{.option = {}, .choice = choice, .layers = operations.size(), .text = "# lastbit: layers kept off the device\n"};
  std::string joined;
  for (const std::size_t operation : operations) {
    const std::string& name = report.own_names[operation];
    require_plain(name, device.layer_list);
    joined += (joined.empty() ? "" : device.layer_list == LayerList::keep_dtype ? "\n" : ";") + name;
  }
  if (device.layer_list == LayerList::keep_dtype) {
    file.option = "atc --keep_dtype=FILE";
    if (!joined.empty()) file.text += joined + "\n";
  } else {
    file.option = "calibration_parameters of hb_mapper's YAML";
    file.text += "calibration_parameters:\n  run_on_cpu: \"" + joined + "\"\n";
  }
  return file;
}

}  // namespace lastbit
