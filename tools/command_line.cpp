// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"

namespace lastbit::tool {
namespace {

/// All words that nothing takes, with the options that may have been meant. Those of the program stand before its command.
std::vector<Diagnostic> unexpected_words(const CLI::App& app) {
  const bool is_program = app.get_parent() == nullptr;
  const std::string where = is_program ? "" : app.get_name(), place = is_program ? " before the command" : "";
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  std::vector<Diagnostic> problems;
  for (const std::string& word : app.remaining()) {
    const bool is_option = word.starts_with('-');
    if (!is_option && !problems.empty()) continue;  // the value of an unknown option
    const std::string meant = is_option ? did_you_mean(word.substr(0, word.find('=')), known) : std::string();
    problems.push_back(
        {ErrorCode::bad_input, where, (is_option ? "unknown option '" : "unexpected argument '") + word + "'" + place + meant});
  }
  problems.back().message += "; lastbit " + (is_program ? "" : where + " ") + "--help lists the options";
  return problems;
}

/// With the unknown ones, of which one may be the missing one misspelt.
std::vector<Diagnostic> missing_options(const CLI::App& command) {
  std::vector<Diagnostic> problems;
  for (const CLI::App* app : {command.get_parent(), &command})
    if (!app->get_allow_extras() && app->remaining_size() > 0) std::ranges::move(unexpected_words(*app), std::back_inserter(problems));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string type = option->get_type_name(), name = option->get_positional() ? type.substr(0, type.find(':')) : option->get_name();
    problems.push_back({ErrorCode::bad_input, command.get_name(),
                        (name == "TEXT" ? option->get_name(true) : name) + " is needed: " + option->get_description()});
  }
  return problems;
}

/// Without what CLI11 adds to say what is checked: "INT:INT in [1 - 20]".
std::string value_name_of(const CLI::Option& option, const DeclaredValue& value) {
  if (value.kind == ValueKind::none) return {};
  const std::string type = option.get_type_name();
  std::string name = type.substr(0, type.find(':'));
  if (name != "TEXT") return name;
  if (option.get_positional()) return option.get_name(true);
  std::string words;
  if (value.kind == ValueKind::choice)
    for (const std::string& word : value.words) words += (words.empty() ? "" : "|") + word;
  return words.empty() ? name : words;
}

DeclaredOption declared_option(const CLI::Option& option, const DeclaredValue& value) {
  DeclaredOption result{.meaning = option.get_description(), .value = value, .value_name = value_name_of(option, value)};
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  if (value.kind == ValueKind::none) return result;
  result.is_required = option.get_required();
  result.may_lack_value = option.get_expected_min() == 0;
  result.is_repeatable = option.get_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  if (!result.may_lack_value) result.default_value = option.get_default_str();
  return result;
}

template <class Value>
constexpr bool is_number = std::is_arithmetic_v<Value>;
template <class Value>
constexpr bool is_number<std::optional<Value>> = std::is_arithmetic_v<Value>;

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::within(int low, int high) { return within(std::int64_t{low}, std::int64_t{high}); }

Option& Option::within(std::int64_t low, std::int64_t high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option& Option::within(double low, double high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option& Option::not_negative() {
  option_->check([](const std::string& text) { return text.starts_with('-') ? "'" + text + "' is below 0" : std::string(); });
  return *this;
}

Option& Option::positive() {
  option_->check(
      [](const std::string& text) { return std::strtod(text.c_str(), nullptr) > 0 ? std::string() : "'" + text + "' is not above 0"; });
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return suggests(ValueKind::choice, values);
}

Option& Option::suggests(ValueKind kind, const std::vector<std::string>& words) {
  value_->kind = kind;
  value_->words = words;
  return *this;
}

Option& Option::ending_in(const std::vector<std::string>& endings) {
  option_->check([endings](const std::string& text) {
    const bool is_known = std::ranges::any_of(endings, [&](const std::string& ending) { return text.ends_with(ending); });
    std::string known;
    for (const std::string& ending : endings) known += (known.empty() ? "" : " or ") + ending;
    return is_known ? std::string() : "'" + text + "' does not end in " + known;
  });
  return *this;
}

Option& Option::refused_for(std::string (*reason)()) {
  option_->check([reason](const std::string&) { return reason(); });
  return *this;
}

Option& Option::takes(int least, int most) {
  option_->expected(least, most);
  return *this;
}

Option& Option::repeatable() {
  option_->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option& Option::repeatable_one_by_one() {
  option_->allow_extra_args(false);
  return repeatable();
}

Option& Option::separated_by(char separator) {
  option_->delimiter(separator);
  value_->separator = separator;
  return *this;
}

Option& Option::value_or(const std::string& value) {
  option_->expected(0, 1)->default_str(value);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

template <class Value>
Option Command::option(const std::string& name, Value& value, const std::string& meaning) {
  CLI::Option* const option = app_->add_option(name, value, meaning);
  DeclaredValue& declared = (*values_)[option];
  declared.kind = is_number<Value> ? ValueKind::number : ValueKind::file;
  return {option, declared};
}

template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, std::filesystem::path&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::option(const std::string&, int&, const std::string&);
template Option Command::option(const std::string&, std::int64_t&, const std::string&);
template Option Command::option(const std::string&, std::size_t&, const std::string&);
template Option Command::option(const std::string&, unsigned&, const std::string&);
template Option Command::option(const std::string&, double&, const std::string&);
template Option Command::option(const std::string&, std::optional<int>&, const std::string&);
template Option Command::option(const std::string&, std::optional<std::int64_t>&, const std::string&);

Option Command::option(const std::string& name, const std::function<void(const std::string&)>& use, const std::string& meaning) {
  CLI::Option* const option = app_->add_option_function<std::string>(name, use, meaning);
  DeclaredValue& declared = (*values_)[option];
  declared.kind = ValueKind::file;
  return {option, declared};
}

Option Command::flag(const std::string& name, bool& value, const std::string& meaning) {
  CLI::Option* const option = app_->add_flag(name, value, meaning);
  return {option, (*values_)[option]};
}

Option Command::flag(const std::string& name, const std::function<void()>& use, const std::string& meaning) {
  CLI::Option* const option = app_->add_flag_callback(name, use, meaning);
  return {option, (*values_)[option]};
}

void Command::note(const std::string& text) { app_->footer(text + "\n" + app_->get_footer()); }

void Command::footer(const std::string& text) {
  std::string lines = app_->get_footer();
  const std::string programs = app_->get_parent()->get_footer();
  if (lines.ends_with(programs)) lines.resize(lines.size() - programs.size());
  app_->footer(lines + text);
}

std::function<std::vector<std::string>()> Command::keep_unknown() {
  app_->allow_extras();
  return [app = app_] { return app->remaining(); };
}

CommandLine::CommandLine(const std::string& name, const std::string& title, const std::string& version, const std::string& footer)
    : root_(std::make_unique<CLI::App>(title, name)), version_(version) {
  root_->set_version_flag("--version", version);
  root_->require_subcommand(1);
  root_->footer(footer);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add(const std::string& name, const std::string& title) {
  return {*root_->add_subcommand(name, title), actions_[name], renamed_[name], values_};
}

void CommandLine::add_to_all(void (*declare)(Command&)) {
  std::function<int()> no_action;
  Command::Names no_names;
  Command program(*root_, no_action, no_names, values_);
  declare(program);
  for (CLI::App* app : root_->get_subcommands({})) {
    Command command(*app, actions_[app->get_name()], renamed_[app->get_name()], values_);
    declare(command);
  }
}

/// Behind options of the program; at the end where one of them is unknown, since it may have a value.
std::size_t CommandLine::place_of_command(const std::vector<std::string>& words) const {
  std::size_t place = 1;
  while (place < words.size() && words[place].starts_with('-')) {
    const CLI::Option* const option = root_->get_option_no_throw(words[place].substr(0, words[place].find('=')));
    if (option == nullptr) return words.size();
    const bool has_value = value_of(option).kind != ValueKind::none && words[place].find('=') == std::string::npos;
    place += has_value ? 2 : 1;
  }
  return std::min(place, words.size());
}

/// With the names of today for former ones.
void CommandLine::rename(std::span<std::string> words, const std::string& command) const {
  const auto names = renamed_.find(command);
  if (names == renamed_.end()) return;
  for (std::string& word : words) {
    const std::size_t end = std::min(word.find('='), word.size());
    const auto former = names->second.find(word.substr(0, end));
    if (former != names->second.end()) word = former->second + word.substr(end);
  }
}

DeclaredValue CommandLine::value_of(const CLI::Option* option) const {
  const auto value = values_.find(option);
  return value == values_.end() ? DeclaredValue() : value->second;
}

void CommandLine::require_command(const std::string& name) const {
  if (actions_.contains(name)) return;
  std::vector<std::string> known;
  for (const auto& [each, action] : actions_) known.push_back(each);
  throw std::invalid_argument("unknown subcommand '" + name + "'" + did_you_mean(name, known) + "; " + root_->get_name() +
                              " --help lists them");
}

std::string CommandLine::help(const std::string& command) const {
  if (!command.empty()) require_command(command);
  const CLI::App* const app = command.empty() ? root_.get() : root_->get_subcommand(command);
  const std::string name = root_->get_name() + (command.empty() ? "" : " " + command);
  return app->get_formatter()->make_help(app, name, CLI::AppFormatMode::Normal);
}

DeclaredProgram CommandLine::declared() const {
  const auto options_of = [&](const CLI::App& app) {
    std::vector<DeclaredOption> options;
    for (const CLI::Option* option : app.get_options())
      if (option->nonpositional()) options.push_back(declared_option(*option, value_of(option)));
    return options;
  };
  const auto arguments_of = [&](const CLI::App& app) {
    std::vector<DeclaredOption> arguments;
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional()) continue;
      arguments.push_back(declared_option(*option, value_of(option)));
      arguments.back().names.clear();  // it may also be given as an option
    }
    return arguments;
  };
  DeclaredProgram program{root_->get_name(), root_->get_description(), version_, root_->get_footer(), options_of(*root_), {}};
  for (const CLI::App* app : root_->get_subcommands({}))
    program.commands.push_back({app->get_name(), app->get_description(), app->get_footer(), options_of(*app), arguments_of(*app)});
  return program;
}

int CommandLine::run(int count, const char* const* given) const {
  std::vector<std::string> words(given, given + count);
  if (const std::size_t place = place_of_command(words); place < words.size()) {
    require_command(words[place]);
    rename(std::span(words).subspan(place + 1), words[place]);
  }
  try {
    root_->parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));  // it takes them from behind
  } catch (const CLI::Success& help) {
    return root_->exit(help);
  } catch (const CLI::ExtrasError& error) {
    throw Error(unexpected_words(root_->remaining_size() > 0 ? *root_ : *root_->get_subcommands().front()));
  } catch (const CLI::RequiredError& error) {
    if (!root_->get_subcommands().empty()) throw Error(missing_options(*root_->get_subcommands().front()));
    if (root_->remaining_size() > 0) throw Error(unexpected_words(*root_));
    throw;
  }
  return actions_.at(root_->get_subcommands().front()->get_name())();
}

void refuse_if(const char* command, bool mistake, const std::string& message) {
  if (mistake) throw Error(ErrorCode::bad_input, command, message);
}

}  // namespace lastbit::tool
