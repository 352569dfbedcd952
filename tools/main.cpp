// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <vector>

#include "lastbit/version.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

/// One line, whatever the message holds.
int fail(std::string message) {
  while (message.ends_with('\n')) message.pop_back();
  for (char& c : message) c = c == '\n' || c == '\r' ? ' ' : c;
  std::cerr << "lastbit: " << message << "\n";
  return failed;
}

int run(int count, const char* const* arguments) {
  CLI::App root{"Computes what an NPU computes, to the last bit.", "lastbit"};
  root.set_version_flag("--version", std::string(version()));
  root.require_subcommand(1);
  root.footer("Exit status: 0 equal or fine, 1 different, 2 usage, unreadable or unsupported input.");
  const std::vector<Subcommand> subcommands{add_backends(root), add_demo(root),       add_describe(root), add_diff_backends(root),
                                            add_run(root),      add_verify(root),     add_layer(root),    add_compare(root),
                                            add_explain(root),  add_gen_golden(root), add_prove(root),    add_quantize(root),
                                            add_shrink(root),   add_advise(root),     add_identify(root), add_sweep(root)};
  try {
    const std::string first = count > 1 ? arguments[1] : "-";
    const auto is_named_first = [&](const Subcommand& subcommand) { return subcommand.app->get_name() == first; };
    if (!first.starts_with('-') && std::ranges::none_of(subcommands, is_named_first)) {
      return fail("unknown subcommand '" + first + "'; lastbit --help lists them");
    }
    root.parse(count, arguments);
    for (const Subcommand& subcommand : subcommands) {
      if (subcommand.app->parsed()) return subcommand.run();
    }
  } catch (const CLI::Success& help) {
    return root.exit(help);
  } catch (const std::bad_alloc&) {
    return fail("not enough memory for the tensors of this input");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  return failed;
}

}  // namespace
}  // namespace lastbit::tool

int main(int count, char** arguments) { return lastbit::tool::run(count, arguments); }
