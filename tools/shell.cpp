// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "shell_text.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct ShellArguments {
  std::string shell, command;
};

std::string text_for(const ShellArguments& options, const CommandLine& line) {
  const DeclaredProgram program = line.declared();
  std::vector<std::string> backends;
  for (const SpecSheet& sheet : builtin_backends()) backends.push_back(sheet.name);
  if (options.shell != "man" && !options.command.empty())
    throw Error(ErrorCode::bad_input, "shell", "only man has a page for each command: unexpected argument '" + options.command + "'");
  if (options.shell == "bash") return bash_completion(program, backends);
  if (options.shell == "zsh") return zsh_completion(program, backends);
  if (options.shell == "fish") return fish_completion(program, backends);
  if (options.command.empty()) return man_page(program);
  line.require_command(options.command);
  return man_page(program, *std::ranges::find(program.commands, options.command, &DeclaredCommand::name));
}

}  // namespace

void add_shell(CommandLine& line) {
  Command command = line.add("shell", "print what completes this command line in bash, zsh or fish, or its man pages");
  const auto options = std::make_shared<ShellArguments>();
  command.option("shell", options->shell, "bash, zsh, fish; or man, and a command whose page it is")
      .required()
      .one_of({"bash", "zsh", "fish", "man"});
  command.option("command", options->command, "of man: a command; without it the page of the program").suggests(ValueKind::command);
  command.note("bash: source <(lastbit shell bash). fish: lastbit shell fish | source. An installed lastbit has all of it in its place.");
  command.footer("Exit status: 0 printed, 2 usage.");
  command.runs([options, &line] {
    std::cout << text_for(*options, line);
    return equal;
  });
}

}  // namespace lastbit::tool
