// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program with subcommands: declaring them, their options and arguments, and running the one that was named. The only file that knows the
// library behind it is command_line.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "declared.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): of the library
class App;
class Option;
}  // namespace CLI

namespace lastbit::tool {

/// As `cmp`.
enum ExitStatus : int { equal = 0, different = 1, failed = 2 };

/// Ends the command with status 2 and the message where the user has made this mistake.
void refuse_if(const char* command, bool mistake, const std::string& message);

/// An option or an argument while it is declared. A value that does not fit is refused with a message that names the option.
class Option {
 public:
  Option(CLI::Option* option, DeclaredValue& value) : option_(option), value_(&value) {}

  Option& required();
  /// What the help calls its value.
  Option& value_name(const std::string& name);
  /// The help tells the value that it has now.
  Option& shows_default();

  Option& within(int low, int high);
  Option& within(std::int64_t low, std::int64_t high);
  Option& within(double low, double high);
  Option& not_negative();
  Option& positive();
  Option& one_of(const std::vector<std::string>& values);
  /// What a shell completes it to; other values are taken too.
  Option& suggests(ValueKind kind, const std::vector<std::string>& words = {});
  Option& ending_in(const std::vector<std::string>& endings);
  /// The reason is asked for where the option is given; empty: it is taken.
  Option& refused_for(std::string (*reason)());

  /// Of a list: it takes so many values.
  Option& takes(int least, int most);
  /// Of a list: given as often as one likes.
  Option& repeatable();
  /// The same, each time with one value: the next word is no more of its values.
  Option& repeatable_one_by_one();
  Option& separated_by(char separator);
  /// Given without a value, it has this one.
  Option& value_or(const std::string& value);

  Option& excludes(const Option& other);
  Option& needs(const Option& other);

 private:
  CLI::Option* option_;
  DeclaredValue* value_;
};

/// A subcommand while it is declared.
class Command {
 public:
  using Names = std::map<std::string, std::string>;
  using Values = std::map<const CLI::Option*, DeclaredValue>;

  Command(CLI::App& app, std::function<int()>& action, Names& renamed, Values& values)
      : app_(&app), action_(&action), renamed_(&renamed), values_(&values) {}

  /// `--name`, `-n,--name`, or `name`, an argument. Value: a text or path, an int, int64, size_t, unsigned or double, an optional int or
  /// int64, or a list of texts.
  template <class Value>
  Option option(const std::string& name, Value& value, const std::string& meaning);
  /// Of one value, which `use` is given as the words are read.
  Option option(const std::string& name, const std::function<void(const std::string&)>& use, const std::string& meaning);
  /// Calls `use` where it is given.
  Option flag(const std::string& name, const std::function<void()>& use, const std::string& meaning);
  Option flag(const std::string& name, bool& value, const std::string& meaning);
  /// Lines below the options in its help: what an option means to this command.
  void note(const std::string& text);
  /// The last lines of its help, in place of the program's.
  void footer(const std::string& text);
  /// An option that was called `former` before; still understood, told nowhere.
  void renamed(const std::string& former, const std::string& name) { (*renamed_)[former] = name; }
  /// Words that no option takes are kept instead of refused; a function that tells them once the words were read.
  [[nodiscard]] std::function<std::vector<std::string>()> keep_unknown();
  /// What it does after its words were read; returns the exit status.
  void runs(std::function<int()> action) { *action_ = std::move(action); }

 private:
  CLI::App* app_;
  std::function<int()>* action_;
  Names* renamed_;
  Values* values_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& title, const std::string& version, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command add(const std::string& name, const std::string& title);
  /// Options that every subcommand declared so far has, behind its own, and that may stand before any.
  void add_to_all(void (*declare)(Command&));
  /// Reads the words and runs the subcommand that they name, or prints help or version. Throws std::exception with a message for the user.
  [[nodiscard]] int run(int count, const char* const* words) const;
  /// What `--help` prints, of a subcommand or, without a name, of the program. Throws as `run` does where there is none of this name.
  [[nodiscard]] std::string help(const std::string& command = {}) const;
  [[nodiscard]] DeclaredProgram declared() const;
  /// Throws std::exception that tells the names that may have been meant.
  void require_command(const std::string& name) const;

 private:
  [[nodiscard]] std::size_t place_of_command(const std::vector<std::string>& words) const;
  void rename(std::span<std::string> words, const std::string& command) const;
  [[nodiscard]] DeclaredValue value_of(const CLI::Option* option) const;

  std::unique_ptr<CLI::App> root_;
  std::string version_;
  std::map<std::string, std::function<int()>> actions_;
  std::map<std::string, Command::Names> renamed_;  ///< of each subcommand: former names of its options
  Command::Values values_;
};

}  // namespace lastbit::tool
