// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "dump_option.hpp"

#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/printable.hpp"
#include "log.hpp"

namespace lastbit::tool {
namespace {

struct DumpWords {
  std::string names, layout;
};
DumpWords& dump_words() {
  static DumpWords words;
  return words;
}

const char* const dump_meaning =
    "what a device computed: a folder of files or a .npz, named after tensors or their index (tensor_012.npy), or as its tools do";

void add_reading_options(Command& command) {
  command
      .option("--names", dump_words().names,
              "whose the files of a dump are, where their names do not tell: a table of lines \"file,tensor\"")
      .value_name("MAP.csv");
  command.option("--layout", dump_words().layout, layout_meaning).value_name("LAYOUT");
}

}  // namespace

void add_dump_options(Command& command, std::string& dump) {
  command.option("--dump", dump, dump_meaning).value_name("DIR|FILE.npz");
  add_reading_options(command);
}

void add_dump_options(Command& command, std::vector<std::string>& dumps) {
  command.option("--dump", dumps, dump_meaning).value_name("DIR|FILE");
  add_reading_options(command);
}

Option add_require_option(Command& command, std::string& required) {
  return command.option("--require", required, "how many of the network's tensors the dump must hold: all of them, its outputs, or a share")
      .value_name("all|outputs|N%");
}

namespace {

/// For files that were matched by their values alone: a table that says so by name, to look through and to keep.
void write_names(const NamedTrace& dump) {
  std::string table = "file,tensor\n";
  for (const MatchedByValue& each : dump.by_value) table += each.file + "," + std::to_string(each.index) + "\n";
  try {
    write_text_file("names.csv", table);
    log_note("names.csv: whose " + count_of(std::ssize(dump.by_value), "file") +
             " of the dump are by their values; look it through, and say --names names.csv");
  } catch (const Error& error) {
    log_warning("the table of what was matched by values is not written: " + std::string(error.what()));
  }
}

}  // namespace

NamedTrace read_given_dump(const std::string& folder, const Model& model, std::span<const Tensor> inputs) {
  DumpOptions options{.layout = dump_words().layout, .names = {}, .inputs = inputs};
  if (!dump_words().names.empty()) options.names = read_dump_names(dump_words().names);
  const Stopwatch stopwatch("read " + folder);
  NamedTrace dump = read_dump(folder, model, options);
  if (!dump.by_value.empty()) write_names(dump);
  return dump;
}

}  // namespace lastbit::tool
