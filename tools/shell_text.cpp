// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "shell_text.hpp"

#include <cstddef>
#include <map>
#include <string_view>

namespace lastbit::tool {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string with_escapes(const std::string& text, std::string_view special, const std::string& escape) {
  std::string result;
  for (const char c : text) result += (special.find(c) == std::string_view::npos ? "" : escape) + c;
  return result;
}

/// Between '…' of bash and zsh.
std::string single_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// As a text with templates: every @name@ is replaced.
std::string substituted(std::string text, const std::string& name, const std::string& value) {
  const std::string mark = "@" + name + "@";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
    text.replace(at, mark.size(), value);
  return text;
}

Words command_names(const DeclaredProgram& program) {
  Words names;
  for (const DeclaredCommand& command : program.commands) names.push_back(command.name);
  return names;
}

Words option_names(const std::vector<DeclaredOption>& options) {
  Words names;
  for (const DeclaredOption& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// bash

/// Sets `kind`, and `words`, of a value.
std::string bash_value(const DeclaredValue& value) {
  switch (value.kind) {
    case ValueKind::none: return "kind=none";
    case ValueKind::file: return "kind=files";
    case ValueKind::number: return "kind=number";
    case ValueKind::choice: return "kind=choice words=" + single_quoted(joined(value.words, " "));
    case ValueKind::word: return "kind=word words=" + single_quoted(joined(value.words, " "));
    case ValueKind::backend: return value.separator == ',' ? "kind=list words=$backends" : "kind=word words=$backends";
    case ValueKind::command: return "kind=choice words=$commands";
  }
  return {};
}

std::string bash_command(const DeclaredCommand& command) {
  std::map<std::string, Words> places;  // of each kind of value: the options, and the numbers of the arguments
  const auto add = [&](const DeclaredValue& value, const Words& names) {
    if (value.kind == ValueKind::none) return;
    Words& all = places[bash_value(value)];
    all.insert(all.end(), names.begin(), names.end());
  };
  for (const DeclaredOption& option : command.options) add(option.value, option.names);
  for (std::size_t i = 0; i < command.arguments.size(); ++i)
    add(command.arguments[i].value, {command.arguments[i].is_repeatable ? "[0-9]*" : std::to_string(i + 1)});
  std::string text = "    " + command.name + ")\n      options=" + single_quoted(joined(option_names(command.options), " ")) + "\n";
  if (places.empty()) return text + "      ;;\n";
  text += "      case $2 in\n";
  for (const auto& [value, names] : places) text += "        " + joined(names, " | ") + ") " + value + " ;;\n";
  return text + "      esac\n      ;;\n";
}

const char* const bash_script = R"text(# bash completion of @name@, written by `@name@ shell bash`.
# shellcheck shell=bash disable=SC2207 # no word has a space

# Of a command ($1; '': before it): its options, and the kind of what follows one of them, or of its argument of some number ($2).
_@name@_value() {
  kind=none words='' options=''
  case $1 in
@cases@  esac
}

_@name@() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' waiting='' argument=1 before='' last i word kind words options
  local commands=@commands@
  local backends=@backends@
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then # the word behind it belongs to the one before
      if ((++i < COMP_CWORD)); then waiting=''; else waiting=${waiting:-$last}; fi
    elif [[ $word == -?* ]]; then
      _@name@_value "$command" "$word"
      waiting=$word
      [[ $kind == none ]] && waiting=''
    elif [[ -n $waiting ]]; then
      last=$waiting waiting=''
    elif [[ -z $command ]]; then
      command=$word
    else
      last=$argument
      ((++argument))
    fi
  done
  [[ $current == = ]] && current=''
  _@name@_value "$command" "${waiting:-$argument}"
  [[ $current == -* ]] && kind=choice words=$options
  [[ $kind == list && $current == *,* ]] && before=${current%,*}, current=${current##*,}
  case $kind in
    choice | word | list) COMPREPLY=($(compgen -P "$before" -W "$words" -- "$current")) ;;
  esac
  # What is left are files, by -o default.
  case $kind in
    choice | number | none) compopt +o default 2>/dev/null ;;
  esac
}

complete -o default -F _@name@ @name@
)text";

// zsh

/// Between [ and ], or between colons, of an argument of _arguments.
std::string zsh_text(const std::string& text) { return with_escapes(text, "\\[]:", "\\"); }

std::string zsh_action(const DeclaredValue& value) {
  switch (value.kind) {
    case ValueKind::none: return {};
    case ValueKind::file: return "_files";
    case ValueKind::number: return " ";
    case ValueKind::choice: return "(" + joined(value.words, " ") + ")";
    case ValueKind::word: return "_alternative \"words:word:(" + joined(value.words, " ") + ")\" \"files:file:_files\"";
    case ValueKind::backend: return value.separator == ',' ? "_@name@_backend_list" : "_@name@_backend";
    case ValueKind::command: return "_@name@_command";
  }
  return {};
}

std::string zsh_option(const DeclaredOption& option) {
  const bool is_flag = option.value.kind == ValueKind::none;
  const bool ends_all = option.names.back() == "--help" || option.names.back() == "--version";
  Words names;
  for (const std::string& name : option.names) names.push_back(name + (is_flag ? "" : name.starts_with("--") ? "=" : "+"));
  std::string others = ends_all ? "(- *)" : option.is_repeatable ? "*" : names.size() > 1 ? "(" + joined(option.names, " ") + ")" : "";
  std::string rest = "[" + zsh_text(option.meaning) + "]";
  if (!is_flag) rest += std::string(option.may_lack_value ? "::" : ":") + zsh_text(option.value_name) + ":" + zsh_action(option.value);
  if (names.size() == 1) return single_quoted(others + names[0] + rest);
  return single_quoted(others) + "{" + joined(names, ",") + "}" + single_quoted(rest);
}

std::string zsh_argument(const DeclaredOption& argument, std::size_t number) {
  const std::string place = argument.is_repeatable ? "*" : std::to_string(number);
  return single_quoted(place + (argument.is_required || argument.is_repeatable ? ":" : "::") + zsh_text(argument.value_name) + ":" +
                       zsh_action(argument.value));
}

std::string zsh_command(const DeclaredCommand& command) {
  std::string text = "    " + command.name + ")\n      _arguments -s";
  for (const DeclaredOption& option : command.options) text += " \\\n        " + zsh_option(option);
  for (std::size_t i = 0; i < command.arguments.size(); ++i) text += " \\\n        " + zsh_argument(command.arguments[i], i + 1);
  return text + "\n      ;;\n";
}

const char* const zsh_script = R"text(#compdef @name@
# zsh completion of @name@, written by `@name@ shell zsh`.

_@name@_command() {
  local -a commands=(
@commands@  )
  _describe command commands
}

_@name@_backend() {
  local -a backends=(@backends@)
  _alternative "backends:backend:($backends)" 'files:file:_files -g "*.json"'
}

_@name@_backend_list() {
  local -a backends=(@backends@)
  _sequence compadd - $backends
}

_@name@() {
  local curcontext=$curcontext state state_descr line
  typeset -A opt_args
  _arguments -C -A '-*'@options@ '1:command:_@name@_command' '*::argument:->argument' && return 0
  [[ $state == argument ]] || return 1
  case $line[1] in
@cases@  esac
}

if [[ $funcstack[1] == _@name@ ]]; then
  _@name@ "$@"
else
  compdef _@name@ @name@
fi
)text";

// fish

std::string fish_quoted(const std::string& text) { return "'" + with_escapes(text, "\\'", "\\") + "'"; }

std::string fish_value(const DeclaredValue& value) {
  switch (value.kind) {
    case ValueKind::none: return "";
    case ValueKind::file: return " -F";
    case ValueKind::number: return " -f";
    case ValueKind::choice: return " -f -a " + fish_quoted(joined(value.words, " "));
    case ValueKind::word: return " -F -a " + fish_quoted(joined(value.words, " "));
    case ValueKind::backend: return value.separator == ',' ? " -f -a '(__@name@_list)'" : " -F -a \"$__@name@_backends\"";
    case ValueKind::command: return " -f -a \"$__@name@_commands\"";
  }
  return {};
}

std::string fish_option(const DeclaredOption& option) {
  std::string text;
  for (const std::string& name : option.names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.value.kind != ValueKind::none && !option.may_lack_value) text += " -r";
  return text + fish_value(option.value) + " -d " + fish_quoted(option.meaning);
}

std::string fish_command(const DeclaredCommand& command) {
  const auto line = [&](const std::string& condition, const std::string& rest) {
    return "complete -c @name@ -n '__@name@_at " + command.name + condition + "'" + rest + "\n";
  };
  std::string text = "complete -c @name@ -n __@name@_at -f -a " + command.name + " -d " + fish_quoted(command.title) + "\n";
  for (const DeclaredOption& option : command.options) text += line("", fish_option(option));
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const ValueKind first = command.arguments[0].value.kind, last = command.arguments.back().value.kind;
    text += line(first == last ? "" : " " + std::to_string(i + 1), fish_value(command.arguments[i].value));
  }
  if (command.arguments.empty()) text += line("", " -f");
  return text;
}

const char* const fish_script = R"text(# fish completion of @name@, written by `@name@ shell fish`.

set -g __@name@_commands @commands@
set -g __@name@_backends @backends@

# Whether the words before the cursor begin with this command, or with none; and whether its argument of this number is next.
function __@name@_at
    set -l words (commandline -opc)
    set -e words[1]
    while string match -q -- '-*' "$words[1]"
        contains -- $words[1] @valued@; and set -e words[1]
        set -e words[1]
    end
    test "$words[1]" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    test (count (string match -v -- '-*' $words)) -eq $argv[2]
end

# The backends behind those that the word lists already.
function __@name@_list
    set -l before (string replace -r '^--[^=]*=' '' -- (commandline -ct) | string replace -r '[^,]*$' '')
    printf '%s\n' $before$__@name@_backends
end

@options@@cases@)text";

}  // namespace

std::string bash_completion(const DeclaredProgram& program, const std::vector<std::string>& backends) {
  std::string cases = bash_command({"''", "", "", program.options, {{.value = {ValueKind::command}}}});
  for (const DeclaredCommand& command : program.commands) cases += bash_command(command);
  std::string text = substituted(bash_script, "cases", cases);
  text = substituted(text, "commands", single_quoted(joined(command_names(program), " ")));
  text = substituted(text, "backends", single_quoted(joined(backends, " ")));
  return substituted(text, "name", program.name);
}

std::string zsh_completion(const DeclaredProgram& program, const std::vector<std::string>& backends) {
  std::string cases, options, commands;
  for (const DeclaredCommand& command : program.commands) {
    cases += zsh_command(command);
    commands += "    " + single_quoted(with_escapes(command.name, ":", "\\") + ":" + command.title) + "\n";
  }
  for (const DeclaredOption& option : program.options) options += " " + zsh_option(option);
  std::string text = substituted(zsh_script, "cases", cases);
  text = substituted(text, "commands", commands);
  text = substituted(text, "backends", joined(backends, " "));
  text = substituted(text, "options", options);
  return substituted(text, "name", program.name);
}

std::string fish_completion(const DeclaredProgram& program, const std::vector<std::string>& backends) {
  std::string cases, options;
  Words valued;
  for (const DeclaredCommand& command : program.commands) cases += fish_command(command);
  for (const DeclaredOption& option : program.options) {
    options += "complete -c @name@ -n __@name@_at" + fish_option(option) + "\n";
    if (option.value.kind != ValueKind::none) valued.insert(valued.end(), option.names.begin(), option.names.end());
  }
  std::string text = substituted(fish_script, "cases", cases);
  text = substituted(text, "commands", joined(command_names(program), " "));
  text = substituted(text, "backends", joined(backends, " "));
  text = substituted(text, "options", options);
  text = substituted(text, "valued", joined(valued, " "));
  return substituted(text, "name", program.name);
}

}  // namespace lastbit::tool
