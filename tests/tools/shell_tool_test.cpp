// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit help` and `lastbit shell`: the shells themselves are asked what they complete, and man whether it likes its pages.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

using Words = std::vector<std::string>;

std::string output(const Shell& shell, const std::string& words) {
  INFO(words);
  CHECK(shell.status(words) == 0);
  return shell.text("out");
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

/// As the help lists them.
Words commands(const Shell& shell) {
  const std::string help = output(shell, "--help");
  Words names;
  for (const std::string& line : lines_of(help.substr(help.find("Subcommands:"))))
    if (line.starts_with("  ") && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

/// Every name of every option, as the help lists them: "-o" and "--output" of "-o,--output DIR".
Words options(const Shell& shell, const std::string& command) {
  Words names;
  for (const std::string& line : lines_of(output(shell, command + " --help"))) {
    if (!line.starts_with("  -")) continue;
    std::istringstream list(line.substr(2, line.find(' ', 2) - 2));
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  }
  return names;
}

Words backends() {
  Words names;
  for (const SpecSheet& sheet : builtin_backends()) names.push_back(sheet.name);
  return names;
}

/// In the shell's folder.
int status_of(const Shell& shell, const std::string& command) {
  const std::string line = "cd " + shell.file("").string() + " && HOME=. timeout 60 " + command + " >out 2>err </dev/null";
  return WEXITSTATUS(std::system(line.c_str()));  // NOLINT(cert-env33-c): a test of shells
}

/// Says so where there is none.
bool has(const Shell& shell, const std::string& program) {
  if (status_of(shell, "sh -c 'command -v " + program + "'") == 0) return true;
  std::cout << "skipped: no " << program << " here\n";
  return false;
}

std::string text_between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t first = text.find(begin);
  REQUIRE(first != std::string::npos);
  return text.substr(first, text.find(end, first) - first);
}

/// Surrounded by what ends a name.
bool mentions(const std::string& text, const std::string& name) {
  const std::string of_names = "-abcdefghijklmnopqrstuvwxyz";
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || of_names.find(text[at - 1]) == std::string::npos) &&
        (end == text.size() || of_names.find(text[end]) == std::string::npos))
      return true;
  }
  return false;
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
  return text;
}

/// What is completed after some words, the last of which is begun or empty.
struct Question {
  Words words;
  Words answers;
};

std::vector<Question> questions() {
  return {
      {{"comp"}, {"compare"}},
      {{"--log-level", "inf"}, {"info"}},
      {{"--color", "always", "comp"}, {"compare"}},
      {{"-v", "--log-level", "info", "run", "--col"}, {"--color"}},
      {{"--color", "always", "-q", "describe", "vip"}, {"vipnano_v7", "vipnano_v8"}},
      {{"help", "ex"}, {"explain", "extract"}},
      {{"shell", ""}, {"bash", "fish", "man", "zsh"}},
      {{"shell", "man", "pro"}, {"prove"}},
      {{"demo", "gna"}, {"gna-concat"}},
      {{"run", "--col"}, {"--color"}},
      {{"run", "model.json", "--color", ""}, {"always", "auto", "never"}},
      {{"run", "model.json", "--channels", ""}, {"bgr", "gray", "rgb"}},
      {{"run", "--quiet", "--log-level", "w"}, {"warning"}},
      {{"layer", "conv2d", "--layout", "nh"}, {"nhwc"}},
      {{"describe", "vip"}, {"vipnano_v7", "vipnano_v8"}},
      {{"diff-backends", "gna2", "vip"}, {"vipnano_v7", "vipnano_v8"}},
      {{"run", "--backend", "vip"}, {"vipnano_v7", "vipnano_v8"}},
      {{"compare", "--a", "float", "--b", "vip"}, {"vipnano_v7", "vipnano_v8"}},
      {{"run", "--threads", ""}, {}},
  };
}

std::string joined(const Words& words, const std::string& quote) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quote + word + quote;
  return text;
}

void check_answers(const Shell& shell, const Question& question, Words answers) {
  INFO(joined(question.words, ""));
  INFO(shell.text("err"));
  for (std::string& answer : answers) answer = answer.substr(0, answer.find('\t'));  // fish: and what it means
  std::ranges::sort(answers);
  CHECK(answers == question.answers);
}

}  // namespace

TEST_CASE("help prints what --help prints") {
  const Shell shell;
  CHECK(output(shell, "help") == output(shell, "--help"));
  for (const std::string& command : commands(shell)) {
    INFO(command);
    CHECK(output(shell, "help " + command) == output(shell, command + " --help"));
  }
}

TEST_CASE("every command and every option stands in the three scripts and on its page") {
  const Shell shell;
  const std::string bash = output(shell, "shell bash"), zsh = output(shell, "shell zsh"), fish = output(shell, "shell fish");
  const std::string main_page = without(output(shell, "shell man"), "\\");
  const Words all = commands(shell);
  REQUIRE(all.size() >= 25);
  for (const std::string& command : all) {
    INFO(command);
    const std::string of_bash = text_between(bash, "    " + command + ")\n", ";;\n    "),
                      of_zsh = text_between(zsh, "    " + command + ")\n", ";;");
    const std::string page = without(output(shell, "shell man " + command), "\\");
    CHECK(mentions(text_between(fish, "at -f -a " + command + " ", "\n"), command));
    CHECK(mentions(text_between(zsh, "local -a commands=(", "\n  )"), command));
    CHECK(mentions(text_between(bash, "local commands=", "\n"), command));
    CHECK_THAT(main_page, test::contains_text("\nfB" + command + "fR\n"));
    CHECK_THAT(main_page, test::contains_text(".BR lastbit-" + command + " (1)"));
    std::string of_fish;
    for (const std::string& line : lines_of(fish))
      if (line.find("'__lastbit_at " + command + "'") != std::string::npos) of_fish += line + "\n";
    const Words names = options(shell, command);
    REQUIRE(names.size() >= 2);
    for (const std::string& name : names) {
      INFO(name);
      CHECK(mentions(of_bash, name));
      CHECK(mentions(of_zsh, name));
      CHECK_THAT(page, test::contains_text("fB" + name + "fR"));
      CHECK_THAT(of_fish, test::contains_text((name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1)) + " "));
    }
  }
}

TEST_CASE("bash completes commands, options, choices and backends") {
  const Shell shell;
  if (!has(shell, "bash")) return;
  shell.write("lastbit.bash", output(shell, "shell bash"));
  shell.write("ask.bash",
              "source ./lastbit.bash\n"
              "COMP_WORDS=(lastbit \"$@\") COMP_CWORD=$# COMP_LINE=\"lastbit $*\" COMP_POINT=${#COMP_LINE}\n"
              "[[ $(complete -p lastbit) == *'-F _lastbit lastbit' ]] || exit 1\n"
              "_lastbit lastbit \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
              "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  std::vector<Question> all = questions();
  Words everything = backends(), listed;
  std::ranges::sort(everything);
  all.push_back({{"run", "--backend", ""}, everything});
  for (const std::string& name : everything)
    if (name.starts_with("vip")) listed.push_back("gna2," + name);
  all.push_back({{"sweep", "model.json", "--backend", "gna2,vip"}, listed});
  all.push_back({{"run", "--channels", "=", "g"}, {"gray"}});  // bash takes words apart at =
  all.push_back({{"run", "--backend", "=", "float", "--input", "x", "=", "y.npy", "--col"}, {"--color"}});
  all.push_back({{"run", "--channels", "gray", "mod"}, {}});  // files, by bash itself
  for (const Question& question : all) {
    CHECK(status_of(shell, "bash --norc ask.bash " + joined(question.words, "'")) == 0);
    check_answers(shell, question, lines_of(shell.text("out")));
  }
}

TEST_CASE("zsh completes commands, options, choices and backends") {
  const Shell shell;
  if (!has(shell, "zsh")) return;
  shell.write("_lastbit", output(shell, "shell zsh"));
  // A terminal of its own, in which Tab is typed; what is offered goes to a file.
  shell.write("ask.zsh", R"(zmodload zsh/zpty && zpty asked zsh -f -i || exit 3
zpty -w asked 'PROMPT= fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; comppostfuncs=(exit)'
zpty -w asked 'compadd() {
  [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] && { builtin compadd "$@"; return }
  local -a hits
  builtin compadd -A hits "$@"
  print -rl -- $hits >>answers
  builtin compadd "$@"
}'
zpty -w -n asked "lastbit $*"$'\t'
while zpty -r asked line; do :; done
)");
  std::vector<Question> all = questions();
  all.push_back({{"sweep", "model.json", "--backend", "gna2,vip"}, {"vipnano_v7", "vipnano_v8"}});
  all.push_back({{"run", "--backend=vip"}, {"vipnano_v7", "vipnano_v8"}});
  for (const Question& question : all) {
    shell.write("answers", "");
    const int status = status_of(shell, "zsh -f ask.zsh '" + joined(question.words, "") + "'");
    if (status == 3) {
      std::cout << "skipped: no terminal for zsh here\n";
      return;
    }
    CHECK(status == 0);
    check_answers(shell, question, lines_of(shell.text("answers")));
  }
}

TEST_CASE("fish completes commands, options, choices and backends") {
  const Shell shell;
  if (!has(shell, "fish")) return;
  shell.write("lastbit.fish", output(shell, "shell fish"));
  std::vector<Question> all = questions();
  all.push_back({{"sweep", "model.json", "--backend", "gna2,vip"}, {"gna2,vipnano_v7", "gna2,vipnano_v8"}});
  for (const Question& question : all) {
    CHECK(status_of(shell, "fish --no-config -c \"source lastbit.fish; complete -C 'lastbit " + joined(question.words, "") + "'\"") == 0);
    check_answers(shell, question, lines_of(shell.text("out")));
    CHECK(shell.text("err").empty());
  }
}

TEST_CASE("man and groff set the pages without a warning") {
  const Shell shell;
  Words all{""};
  for (const std::string& command : commands(shell)) all.push_back(command);
  Words setters;
  if (has(shell, "groff")) setters.emplace_back("groff -man -ww -K utf8 -T utf8");
  if (has(shell, "man")) setters.emplace_back("man --warnings -E UTF-8 -l -Z");
  for (const std::string& command : all) {
    INFO(command);
    shell.write("page.1", output(shell, "shell man " + command));
    for (const std::string& set : setters) {
      CHECK(status_of(shell, "env LC_ALL=C.UTF-8 " + set + " page.1") == 0);
      CHECK(shell.text("err").empty());
      CHECK(shell.text("out").size() > 500);
    }
  }
}
