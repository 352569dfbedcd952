// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a program declares, as plain data: for what is made of it beside the help, such as completion in shells and man pages.
#pragma once

#include <string>
#include <vector>

namespace lastbit::tool {

enum class ValueKind {
  none,  ///< a flag takes no value
  file,  ///< or any other text
  number,
  choice,   ///< one of DeclaredValue::words and nothing else
  word,     ///< one of DeclaredValue::words or another text
  backend,  ///< a built-in one or a file
  command,  ///< a subcommand of this program
};

struct DeclaredValue {
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words{};
  char separator = '\0';  ///< of a list in one word
};

/// An option, or an argument, which has no names.
struct DeclaredOption {
  std::vector<std::string> names{};  ///< "-o", "--output"
  std::string meaning{};
  DeclaredValue value{};
  std::string value_name{};     ///< as the help says it
  std::string default_value{};  ///< where the help tells it
  bool is_required = false;
  bool is_repeatable = false;  ///< takes several values, or is given several times
  bool may_lack_value = false;
};

struct DeclaredCommand {
  std::string name, title, footer;
  std::vector<DeclaredOption> options{}, arguments{};
};

struct DeclaredProgram {
  std::string name, title, version, footer;
  std::vector<DeclaredOption> options{};
  std::vector<DeclaredCommand> commands{};
};

}  // namespace lastbit::tool
