// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The options that several commands have: declared here alone, so that one thing has one name and one meaning everywhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "lastbit/verdict_assumptions.hpp"

namespace lastbit::tool {

/// `model`, the first argument, and how it is read: add_model_options.
Option add_model(Command& command, std::string& model, const std::string& name = "model");
/// `--model`, where it is not the first argument.
Option add_named_model(Command& command, std::string& model);
/// `-o,--output`: where the command writes what it makes.
Option add_output_option(Command& command, std::string& output, const std::string& value_name);
/// `--check`: what --output wrote before.
Option add_check_option(Command& command, std::string& written, const std::string& value_name);
Option add_plot_option(Command& command, std::filesystem::path& file);
/// `--input-range`: of what a proof is asked to hold.
Option add_input_range_option(Command& command, std::string& range);
/// `--layer`, of a network: see operation_called (one_operation.hpp).
Option add_layer_option(Command& command, std::string& layer);
/// `--accept-assumptions`, of a command whose verdict can rest on some.
Option add_accept_assumptions_option(Command& command, AssumptionsAre& assumptions);
Option add_trace_option(Command& command, std::string& folder);
Option add_golden_option(Command& command, bool& golden);
Option add_samples_option(Command& command, std::int64_t& samples);
/// Sets `threads` to what the machine has.
Option add_threads_option(Command& command, int& threads);
Option add_top_option(Command& command, std::size_t& top);
/// `--json`, a flag.
Option add_json_option(Command& command, bool& json);
/// `--csv` or `--json`, of a command that can print or write both.
Option add_report_option(Command& command, const std::string& name, std::string& file);

}  // namespace lastbit::tool
