// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "common_options.hpp"

#include <algorithm>
#include <thread>

#include "model_option.hpp"
#include "plot.hpp"
#include "sweep_ranks.hpp"

namespace lastbit::tool {
namespace {

const char* const model_meaning = "a model (.tflite, .onnx or JSON)";
const char* const json_meaning = "print JSON";

}  // namespace

Option add_model(Command& command, std::string& model, const std::string& name) {
  add_model_options(command);
  return command.option(name, model, model_meaning);
}

Option add_named_model(Command& command, std::string& model) { return command.option("--model", model, model_meaning).value_name("MODEL"); }

Option add_output_option(Command& command, std::string& output, const std::string& value_name) {
  return command.option("-o,--output", output, "write what the command makes there").value_name(value_name);
}

Option add_input_range_option(Command& command, std::string& range) {
  return command
      .option("--input-range", range, "what the layers' inputs can be: all that their types and clamps allow, or what --input shows")
      .one_of({"type", "data"})
      .shows_default();
}

Option add_check_option(Command& command, std::string& written, const std::string& value_name) {
  return command.option("--check", written, "compare the model and the backends of today with what --output wrote").value_name(value_name);
}

Option add_plot_option(Command& command, std::filesystem::path& file) {
  Option option =
      command.option("--plot", file, "draw the figures there (needs gnuplot)").ending_in({".svg", ".png"}).value_name("FILE.svg|png");
  return launched_processes() > 1 ? option : option.refused_for(why_no_plot);  // of several processes one draws, which may be elsewhere
}

Option add_layer_option(Command& command, std::string& layer) {
  return command.option("--layer", layer, "only this one: its number, or the name of the operation or of its output").value_name("LAYER");
}

Option add_accept_assumptions_option(Command& command, AssumptionsAre& assumptions) {
  return command.flag(
      "--accept-assumptions", [&assumptions] { assumptions = AssumptionsAre::accepted; },
      "take what is equal only if assumptions hold for equal; they are named all the same");
}

Option add_trace_option(Command& command, std::string& folder) {
  return command.option("--trace", folder, "write a folder: one .npy per tensor, and trace.json with names, quantisation and events")
      .value_name("DIR");
}

Option add_golden_option(Command& command, bool& golden) {
  return command.flag("--golden", golden, "compute the float path too: how far every side is from it");
}

Option add_samples_option(Command& command, std::int64_t& samples) {
  return command.option("--samples", samples, "take so many samples at most; 0: all").not_negative();
}

Option add_threads_option(Command& command, int& threads) {
  constexpr unsigned most = 1024;
  threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, most));
  return command
      .option("--threads", threads, "share the work among so many threads, by default as many as the machine has; never changes a bit")
      .within(1, int{most});
}

Option add_top_option(Command& command, std::size_t& top) {
  return command.option("--top", top, "show so many").within(0, 100000).shows_default();
}

Option add_json_option(Command& command, bool& json) { return command.flag("--json", json, json_meaning); }

Option add_report_option(Command& command, const std::string& name, std::string& file) {
  return command.option(name, file, name == "--json" ? json_meaning : "print CSV, every figure of every layer")
      .value_name("FILE")
      .value_or("-");
}

}  // namespace lastbit::tool
