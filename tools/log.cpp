// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>

#include "lastbit/emulator.hpp"
#include "lastbit/version.hpp"
#include "terminal.hpp"

namespace lastbit::tool {
namespace {

void log(spdlog::level::level_enum level, const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');  // the logger ends its lines itself
  spdlog::log(level, "{}", text.substr(0, end + 1));
}

void set_level(const std::string& name) {
  spdlog::set_level(spdlog::level::from_str(name));
  spdlog::debug("lastbit {}, on the path {}", version(), host_path());
}

}  // namespace

void start_log() {
  const auto logger = std::make_shared<spdlog::logger>("lastbit", std::make_shared<spdlog::sinks::ostream_sink_mt>(std::cerr, true));
  logger->set_pattern("%v");
  spdlog::set_default_logger(logger);
}

void add_log_options(Command& command) {
  command.flag(
      "-v,--verbose", [] { set_level("debug"); },
      "say on standard error what is read, which path of the host computes, and how long each stage takes");
  command.flag(
      "-q,--quiet", [] { set_level("error"); }, "say nothing on standard error but why it fails");
  command
      .option(
          "--log-level", [](const std::string& name) { set_level(name); }, "say on standard error what is of this level or above")
      .one_of({"debug", "info", "warning", "error", "off"})
      .value_name("LEVEL");
  command.option("--color", color_choice(), "colour what is equal, differs or is assumed: on a terminal, or always, or never")
      .one_of({"auto", "always", "never"})
      .shows_default();
}

void log_error(const std::string& text) { log(spdlog::level::err, text); }
void log_warning(const std::string& text) { log(spdlog::level::warn, text); }
void log_note(const std::string& text) { log(spdlog::level::info, text); }
void log_detail(const std::string& text) { log(spdlog::level::debug, text); }

Stopwatch::~Stopwatch() {
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start_;
  spdlog::debug("{}: {:.1f} ms", stage_, taken.count());
}

}  // namespace lastbit::tool
