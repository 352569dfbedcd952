// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "dump_option.hpp"

#include "common_options.hpp"
#include "lastbit/error.hpp"
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

NamedTrace read_given_dump(const std::string& folder, const Model& model) {
  DumpOptions options{.layout = dump_words().layout};
  if (!dump_words().names.empty()) options.names = read_dump_names(dump_words().names);
  const Stopwatch stopwatch("read " + folder);
  return read_dump(folder, model, options);
}

}  // namespace lastbit::tool
