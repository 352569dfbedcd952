// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The subcommands. A new one: a file that defines add_<name>, a line below, a line in main.cpp, a line in CMakeLists.txt.
#pragma once

#include "command_line.hpp"

namespace lastbit::tool {

void add_advise(CommandLine& line);
void add_backends(CommandLine& line);
void add_certify(CommandLine& line);
void add_compare(CommandLine& line);
void add_demo(CommandLine& line);
void add_describe(CommandLine& line);
void add_diff_backends(CommandLine& line);
void add_explain(CommandLine& line);
void add_extract(CommandLine& line);
void add_fuzz_against(CommandLine& line);
void add_identify(CommandLine& line);
void add_help(CommandLine& line);
void add_info(CommandLine& line);
void add_migrate(CommandLine& line);
void add_prove(CommandLine& line);
void add_quantize(CommandLine& line);
void add_gen_golden(CommandLine& line);
void add_layer(CommandLine& line);
void add_matrix(CommandLine& line);
void add_replay(CommandLine& line);
void add_run(CommandLine& line);
void add_shell(CommandLine& line);
void add_shrink(CommandLine& line);
void add_sweep(CommandLine& line);
void add_verify(CommandLine& line);

}  // namespace lastbit::tool
