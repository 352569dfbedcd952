// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "problem.hpp"

#include <algorithm>

#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"
#include "model_option.hpp"
#include "placement_option.hpp"

namespace lastbit::tool {
namespace {

struct Subjects {
  std::string model;
  std::vector<SpecSheet> backends;
};

Subjects& subjects() {
  static Subjects all;
  return all;
}

bool is_of_a_backend(const Error& error) {
  return std::ranges::any_of(error.diagnostics(), [](const Diagnostic& each) { return each.code == ErrorCode::unsupported_operation; });
}

/// Of a network that the command made of its model.
std::vector<Diagnostic> with_backend(std::vector<Diagnostic> problems) {
  if (subjects().backends.size() != 1) return problems;
  for (Diagnostic& each : problems) each.where = subjects().backends[0].name + (each.where.empty() ? "" : ": " + each.where);
  return problems;
}

/// What the same backend computes beside float, if that is all, and not nothing.
bool does_with_float(const Model& model, Backend backend) {
  backend.elsewhere = Placements({{find_backend("float"), {}}});
  return check(model, backend).empty() && !is_refused_for_floats(model, backend);
}

}  // namespace

Model read_users_model(const std::string& file) {
  subjects().model = file;
  return read_given_model(file);
}

void remember_backend(const SpecSheet& sheet) {
  std::vector<SpecSheet>& backends = subjects().backends;
  std::erase_if(backends, [&](const SpecSheet& other) { return other.name == sheet.name; });
  backends.push_back(sheet);
}

Problems all_problems(const Error& error) {
  if (!is_of_a_backend(error)) return {error.diagnostics(), {}};
  if (subjects().model.empty()) return {with_backend(error.diagnostics()), {}};
  Problems problems;
  try {
    const Model model = read_given_model(subjects().model);
    for (const SpecSheet& sheet : subjects().backends) {
      std::vector<Diagnostic> found = check(model, sheet.backend);
      if (!found.empty())
        problems.hint = "lastbit describe " + sheet.name + " says what it computes" +
                        (does_with_float(model, sheet.backend) ? ", --fallback float computes the rest" : "");
      for (Diagnostic& each : found) {
        each.where = sheet.name + (each.where.empty() ? "" : ": " + each.where);
        problems.all.push_back(std::move(each));
      }
    }
  } catch (const std::exception&) {
    return {error.diagnostics(), {}};  // the model is gone, or memory
  }
  if (problems.all.empty()) return {with_backend(error.diagnostics()), {}};
  return problems;
}

}  // namespace lastbit::tool
