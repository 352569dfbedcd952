// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>

#include "subcommand.hpp"

namespace lastbit::tool {

void add_help(CommandLine& line) {
  Command command = line.add("help", "print what --help prints, of the program or of a command");
  const auto name = std::make_shared<std::string>();
  command.option("command", *name, "the command; without it the program").suggests(ValueKind::command);
  command.footer("Exit status: 0 printed, 2 usage.");
  command.runs([name, &line] {
    std::cout << line.help(*name);
    return equal;
  });
}

}  // namespace lastbit::tool
