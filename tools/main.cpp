// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "commit.hpp"
#include "html_option.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/version.hpp"
#include "log.hpp"
#include "memory_option.hpp"
#include "problem.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace lastbit::tool {
namespace {

int fail(const Problems& problems) {
  log_error(problem_text(problems));
  return failed;
}

int fail(const std::string& message) { return fail(Problems{{{ErrorCode::bad_input, "", message}}, {}}); }

/// "0.1.0 (0123abcd)"
std::string version_and_commit() {
  const std::string commit = lastbit_commit;
  return std::string(version()) + (commit.empty() ? "" : " (" + commit + ")");
}

int run(int count, const char* const* words) {
  CommandLine line("lastbit", "Computes what an NPU computes, to the last bit.", version_and_commit(),
                   "Exit status: 0 equal or fine, 1 different, 2 usage, unreadable or unsupported input.");
  for (const auto add : {add_backends, add_demo,    add_describe, add_diff_backends, add_run,    add_verify,     add_layer, add_compare,
                         add_replay,   add_explain, add_extract,  add_fuzz_against,  add_info,   add_gen_golden, add_prove, add_certify,
                         add_matrix,   add_migrate, add_quantize, add_shrink,        add_advise, add_identify,   add_sweep}) {
    add(line);
  }
  remember_command(version_and_commit(), count, words);
  try {
    line.add_to_all(add_log_options);
    add_shell(line);
    add_help(line);
    const Stopwatch stopwatch("all of it");
    const int status = line.run(count, words);
    return std::cout.flush() ? status : fail("standard output cannot be written");
  } catch (const std::bad_alloc&) {
    return fail("not enough memory for the tensors of this input");
  } catch (const Error& error) {
    return fail(all_problems(error));
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

}  // namespace
}  // namespace lastbit::tool

int main(int count, char** arguments) {
  lastbit::tool::keep_standard_output();
  lastbit::tool::keep_freed_memory();
  lastbit::tool::limit_to_free_memory();
  lastbit::set_replacing(lastbit::Replacing::own_kind);
  const lastbit::tool::HarmlessOutput out(std::cout, STDOUT_FILENO), error(std::cerr, STDERR_FILENO);
  lastbit::tool::start_log();
  return lastbit::tool::run(count, arguments);
}
