// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a subcommand is. A new one: a file that defines add_<name>, a line below, a line in main.cpp, a line in CMakeLists.txt.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace lastbit::tool {

/// As `cmp`.
enum ExitStatus : int { equal = 0, different = 1, failed = 2 };

/// Its options are declared on `app`; `run` is called after they were parsed and returns the exit status.
struct Subcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

[[nodiscard]] Subcommand add_advise(CLI::App& root);
[[nodiscard]] Subcommand add_backends(CLI::App& root);
[[nodiscard]] Subcommand add_compare(CLI::App& root);
[[nodiscard]] Subcommand add_demo(CLI::App& root);
[[nodiscard]] Subcommand add_describe(CLI::App& root);
[[nodiscard]] Subcommand add_diff_backends(CLI::App& root);
[[nodiscard]] Subcommand add_explain(CLI::App& root);
[[nodiscard]] Subcommand add_identify(CLI::App& root);
[[nodiscard]] Subcommand add_prove(CLI::App& root);
[[nodiscard]] Subcommand add_quantize(CLI::App& root);
[[nodiscard]] Subcommand add_gen_golden(CLI::App& root);
[[nodiscard]] Subcommand add_layer(CLI::App& root);
[[nodiscard]] Subcommand add_run(CLI::App& root);
[[nodiscard]] Subcommand add_shrink(CLI::App& root);
[[nodiscard]] Subcommand add_sweep(CLI::App& root);
[[nodiscard]] Subcommand add_verify(CLI::App& root);

}  // namespace lastbit::tool
