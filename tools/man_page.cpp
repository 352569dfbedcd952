// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <sstream>

#include "shell_text.hpp"

namespace lastbit::tool {
namespace {

/// Text that groff is to print as it stands.
std::string man_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') result += "\\(rs";
    else if (c == '-') result += "\\-";
    else if (c == '\'') result += "\\(aq";
    else if (c == '`') result += "\\(ga";
    else if (c == '^') result += "\\(ha";
    else if (c == '~') result += "\\(ti";
    else result += c;
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

/// The lines of a footer: one ends a paragraph where it ends a sentence.
std::string man_paragraphs(const std::string& footer) {
  std::string text;
  bool begins = false;  // behind a heading a paragraph begins by itself
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    text += (begins ? ".PP\n" : "") + man_text(line) + "\n";
    begins = line.ends_with('.');
  }
  return text;
}

std::string man_option(const DeclaredOption& option) {
  std::string names, value = man_text(option.value_name);
  for (const std::string& name : option.names) names += (names.empty() ? "\\fB" : "\\fR, \\fB") + man_text(name);
  if (option.names.empty()) return ".TP\n\\fI" + value + "\\fR\n" + man_text(option.meaning) + "\n";
  if (!value.empty()) value = option.may_lack_value ? " [\\fI" + value + "\\fR]" : " \\fI" + value + "\\fR";
  std::string text = ".TP\n" + names + "\\fR" + value + "\n" + man_text(option.meaning);
  if (option.is_required) text += " (required)";
  if (!option.default_value.empty()) text += " (default: " + man_text(option.default_value) + ")";
  return text + "\n";
}

std::string man_head(const DeclaredProgram& program, const std::string& page, const std::string& title) {
  std::string upper = page;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return ".\\\" Written by `" + program.name + " shell man`.\n.TH " + man_text(upper) + " 1 \"\" \"" + program.name + " " +
         man_text(program.version.substr(0, program.version.find(' '))) + "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n" + man_text(page) +
         " \\- " + man_text(title) + "\n.SH SYNOPSIS\n";
}

/// Without what the page says of the exit status, which is a section of its own.
std::string man_notes(const std::string& footer) {
  const std::size_t status = footer.find("Exit status: ");
  const std::string notes = man_paragraphs(footer.substr(0, status));
  std::string text = notes.empty() ? "" : ".SH NOTES\n" + notes;
  if (status != std::string::npos) text += ".SH EXIT STATUS\n" + man_paragraphs(footer.substr(status + 13));
  return text;
}

}  // namespace

std::string man_page(const DeclaredProgram& program) {
  const std::string name = man_text(program.name);
  std::string text = man_head(program, program.name, program.title) + "\\fB" + name +
                     "\\fR [\\fIOPTION\\fR]... \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.br\n\\fB" + name +
                     " help\\fR [\\fICOMMAND\\fR]\n.SH COMMANDS\n";
  for (const DeclaredCommand& command : program.commands)
    text += ".TP\n\\fB" + man_text(command.name) + "\\fR\n" + man_text(command.title) + "\n";
  text += ".SH OPTIONS\n";
  for (const DeclaredOption& option : program.options) text += man_option(option);
  text += man_notes(program.footer) + ".SH SEE ALSO\n";
  for (const DeclaredCommand& command : program.commands)
    text += ".BR " + man_text(program.name + "-" + command.name) + " (1)" + (&command == &program.commands.back() ? "\n" : ",\n");
  return text;
}

std::string man_page(const DeclaredProgram& program, const DeclaredCommand& command) {
  std::string text = man_head(program, program.name + "-" + command.name, command.title) + "\\fB" +
                     man_text(program.name + " " + command.name) + "\\fR [\\fIOPTION\\fR]...";
  for (const DeclaredOption& argument : command.arguments) {
    const std::string name = "\\fI" + man_text(argument.value_name) + "\\fR" + (argument.is_repeatable ? "..." : "");
    text += argument.is_required ? " " + name : " [" + name + "]";
  }
  text += "\n";
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const DeclaredOption& argument : command.arguments) text += man_option(argument);
  text += ".SH OPTIONS\n";
  for (const DeclaredOption& option : command.options) text += man_option(option);
  return text + man_notes(command.footer) + ".SH SEE ALSO\n.BR " + man_text(program.name) + " (1)\n";
}

}  // namespace lastbit::tool
