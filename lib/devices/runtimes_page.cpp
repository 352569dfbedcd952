// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/runtimes.hpp"

namespace lastbit {
namespace {

constexpr const char* head =
    "# Which backend is my CPU, or my chip\n\n"
    "A user knows a runtime, its version and a processor, or a chip; here stands which backend computes the same, and where none does. "
    "`lastbit backends --for \"tflite 2.9 aarch64\"` answers from these tables, in whatever order the words stand; "
    "`lastbit backends --runtimes --markdown` writes this page.\n\n"
    "*equal* rests on what the case names as its source; *nearest* and *no backend* say how the two differ. \"rules to set\" go behind "
    "`--set`. "
    "Where a network's layers need several backends, the first is given as `--backend` and the others as `--keep LAYER=BACKEND`.\n\n"
    "- [Chips](#chips)\n";

std::string anchor(std::string_view title) {
  std::string text;
  for (const char c : title) {
    if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    else if (c == ' ') text += '-';
    else if (c != ',') text += c;
  }
  return text;
}

std::string contents() {
  std::string text;
  std::string_view before;
  for (const RuntimeCase& one : runtime_cases()) {
    if (one.runtime != before) text += "- [" + std::string(one.runtime) + "](#" + anchor(one.runtime) + ")\n";
    before = one.runtime;
  }
  return text;
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string backends_of(const Chip& chip) {
  std::string text;
  for (const std::string_view backend : chip.backends) text += (text.empty() ? "" : ", ") + code(backend);
  return text.empty() ? "no backend" : chip.backends.size() > 1 ? "one of " + text : text;
}

std::string chips_table() {
  std::string text =
      "\n## Chips\n\nA chip with one backend is another name for it in every command: `--backend imx8mp`. Case, `.`, `-` and `_` do not "
      "matter.\n\n| chip | what computes | backend | not certain; what is nearest |\n|---|---|---|---|\n";
  for (const Chip& chip : chips())
    text += "| " + code(chip.name) + " | " + std::string(chip.unit) + " | " + backends_of(chip) + " | " + note_of(chip) + " |\n";
  return text;
}

std::string backend_of(const RuntimeRow& row) {
  if (row.fit == Nearness::none) return "no backend";
  return (row.fit == Nearness::equal ? "equal: " : "nearest: ") + code(row.backend);
}

std::string settings_of(const RuntimeRow& row) {
  std::string text, settings(row.settings);
  while (!settings.empty()) {
    const std::size_t space = settings.find(' ');
    text += (text.empty() ? "" : ", ") + code(settings.substr(0, space));
    settings.erase(0, space == std::string::npos ? space : space + 1);
  }
  return text;
}

std::string section(const RuntimeCase& one) {
  std::string text = "\n**" + std::string(one.machine) + ": " + std::string(one.way) + "**, " + one.versions.text();
  if (one.usual) text += "; the usual case" + (one.usual->text() == one.versions.text() ? "" : " of " + one.usual->text());
  text += "\n\n| operators | backend | rules to set | why |\n|---|---|---|---|\n";
  for (const RuntimeRow& row : one.rows)
    text += "| " + std::string(row.operators) + " | " + backend_of(row) + " | " + settings_of(row) + " | " + why(row) + " |\n";
  text += "\n";
  if (!one.open.empty()) text += "Not certain: " + std::string(one.open) + ". ";
  return text + "Source: " + std::string(one.source) + ".\n";
}

}  // namespace

std::string runtimes_page() {
  std::string text = head + contents() + chips_table();
  std::string_view before;
  for (const RuntimeCase& one : runtime_cases()) {
    if (one.runtime != before) text += "\n## " + std::string(one.runtime) + "\n";
    before = one.runtime;
    text += section(one);
  }
  return text;
}

}  // namespace lastbit
