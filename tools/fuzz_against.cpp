// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/fuzz_against.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "external_command.hpp"
#include "lastbit/error.hpp"
#include "memory_option.hpp"
#include "progress.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

using Clock = std::chrono::steady_clock;

namespace fs = std::filesystem;

struct FuzzAgainstArguments {
  std::string backend, format, output;
  std::vector<std::string> settings, operations, command;
  std::int64_t seed = 1, models = 100, runs = 1, max_cases = 20;
  double timeout = 60, max_time = 0;
  bool keep = false, json = false;
};

volatile std::sig_atomic_t fuzzing_ends = 0;

/// A second signal ends the process at once.
void end_on_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    std::signal(signal, [](int seen) {
      fuzzing_ends = 1;
      std::signal(seen, SIG_DFL);
    });
  }
}

[[noreturn]] void refuse(const std::string& where, const std::string& reason) { throw Error(ErrorCode::bad_input, where, reason); }

/// A folder of this process's own in the place for such folders, gone afterwards.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "lastbit_fuzz_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(ErrorCode::unreadable_file, name, "cannot be created");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string replaced(std::string word, const std::string& name, const std::string& value) {
  for (std::size_t at = word.find(name); at != std::string::npos; at = word.find(name, at + value.size()))
    word.replace(at, name.size(), value);
  return word;
}

/// A word with {input} becomes one word per input.
std::vector<std::string> words_for(const std::vector<std::string>& command, const FuzzFiles& files) {
  std::vector<std::string> words;
  for (const std::string& each : command) {
    std::string word = replaced(each, "{model}", files.model.string());
    word = replaced(replaced(word, "{inputs}", files.input_folder.string()), "{outputs}", files.output_folder.string());
    word = replaced(word, "{output}", files.output.string());
    if (word.find("{input}") == std::string::npos) words.push_back(word);
    else
      for (const fs::path& input : files.inputs) words.push_back(replaced(word, "{input}", input.string()));
  }
  return words;
}

void require_places(const std::vector<std::string>& command) {
  const auto has = [&](const char* name) {
    return std::any_of(command.begin(), command.end(), [&](const std::string& word) { return word.find(name) != std::string::npos; });
  };
  if (!has("{model}")) refuse("the command", "no {model} in it: the place of the model's file");
  if (!has("{input}") && !has("{inputs}"))
    refuse("the command", "no {input} in it, nor {inputs}: the files of the inputs, or their folder");
  if (!has("{output}") && !has("{outputs}"))
    refuse("the command", "no {output} in it, nor {outputs}: the .npy file to be written, or a folder for it");
}

std::vector<OperationKind> operations_from(const std::vector<std::string>& names, FuzzFormat format) {
  const std::vector<OperationKind> known = fuzzed_operations(format);
  std::vector<OperationKind> kinds;
  for (const std::string& name : names) {
    const auto kind = operation_kind_from(name);
    if (kind && std::find(known.begin(), known.end(), *kind) != known.end()) {
      kinds.push_back(*kind);
      continue;
    }
    refuse("--operations " + name, "not in random ." + std::string(name_of(format)) + " models; docs/fuzz-against.md lists what is");
  }
  return kinds;
}

/// What is there already stays as it is.
void require_new_folder(const std::string& folder) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !(fs::is_directory(folder, ignored) && fs::is_empty(folder, ignored)))
    refuse("--output " + folder, "it is there, and no empty folder");
}

FuzzOptions options_from(const FuzzAgainstArguments& options, const SpecSheet& sheet) {
  FuzzOptions fuzz;
  fuzz.format = options.format.empty() ? usual_format(sheet.backend) : *fuzz_format_from(options.format);
  fuzz.operations = operations_from(options.operations, fuzz.format);
  fuzz.seed = static_cast<std::uint64_t>(options.seed);
  fuzz.models = options.models;
  fuzz.samples = options.runs;
  fuzz.cases = options.output;
  fuzz.keep = options.keep;
  fuzz.most_cases = options.max_cases;
  for (const std::string& word : options.command) fuzz.source += (fuzz.source.empty() ? "" : " ") + word;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.max_time));
  fuzz.stop = [end, limited = options.max_time > 0] { return fuzzing_ends != 0 || (limited && Clock::now() > end); };
  return fuzz;
}

int run(const FuzzAgainstArguments& options) {
  const SpecSheet sheet = reported_backend(options.backend, options.settings);
  require_places(options.command);
  if (options.keep && options.output.empty()) refuse("--keep-files", "--output DIR is needed: the files are kept in DIR/models");
  if (!options.output.empty()) require_new_folder(options.output);
  FuzzOptions fuzz = options_from(options, sheet);
  const ScratchFolder scratch;
  fuzz.scratch = options.keep ? fs::absolute(options.output) / "models" : scratch.path();
  Progress progress("fuzz-against");
  fuzz.on_progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  end_on_signals();
  const FuzzReport report = fuzz_against(sheet, fuzz, [&](const FuzzFiles& files) -> std::string {
    const CommandResult result = run_command(words_for(options.command, files), options.timeout, [] { return fuzzing_ends != 0; });
    return result.succeeded() ? std::string() : result.failure(options.timeout);
  });
  progress.clear();
  std::cout << (options.json ? to_json(report) : to_text(report));
  if (!options.json && !report.differences.empty() && options.output.empty())
    std::cout << "--output DIR shrinks them and writes them as cases\n";
  if (report.too_few())
    refuse("fuzz-against", std::to_string(report.refused_here + report.refused_there) + " of " + std::to_string(report.models) +
                               " models were refused: that says nothing about equality");
  return report.differences.empty() ? equal : different;
}

}  // namespace

void add_fuzz_against(CommandLine& line) {
  Command command = line.add("fuzz-against", "compare a backend with any other program on random models");
  const auto options = std::make_shared<FuzzAgainstArguments>();
  add_backend_option(command, options->backend).required();
  add_set_option(command, options->settings);
  command.option("--format", options->format, "of the random models; by default what the backend's runtime reads")
      .one_of({"tflite", "onnx"});
  command.option("--operations", options->operations, "make random models of these alone")
      .value_name("A,B,…")
      .repeatable_one_by_one()
      .separated_by(',');
  command.option("--seed", options->seed, "of the random numbers").not_negative().shows_default();
  command.option("--models", options->models, "make so many random models").positive().shows_default();
  command.option("--runs", options->runs, "run every model so often, on other random inputs").positive().shows_default();
  command.option("--max-time", options->max_time, "seconds, after which what has been found so far is told; 0: no limit")
      .value_name("SECONDS")
      .not_negative()
      .shows_default();
  command.option("--timeout", options->timeout, "seconds that one run of the other program may take")
      .value_name("SECONDS")
      .positive()
      .shows_default();
  add_output_option(command, options->output, "DIR");
  command.option("--max-cases", options->max_cases, "differing models beyond so many are counted, not shrunk")
      .not_negative()
      .shows_default();
  command.flag("--keep-files", options->keep, "keep the files of every run, in DIR/models");
  add_memory_option(command);
  add_json_option(command, options->json);
  command.option("command", options->command, "behind --: the other program and its arguments").value_name("CMD").required();
  command.note(
      "In the command {model} becomes the model's file; a word with {input} one word per input, each a .npy file ({inputs}: the folder of "
      "all);\n"
      "{output} the .npy file to be written ({outputs}: a folder for it). --output: what differs, shrunk, as one case each in DIR/1, "
      "DIR/2, ….");
  command.footer("Exit status: 0 every value equal, 1 some differ, 2 error, or too few models that both sides run.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
