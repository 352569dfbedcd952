// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/sweep.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "html_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/registry.hpp"
#include "layer_plot.hpp"
#include "log.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/documents.hpp"
#include "subcommand.hpp"
#include "sweep_ranks.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

struct SweepArguments {
  std::string model, state, json, csv;
  std::vector<std::string> data, backends;
  SweepOptions sweep;
  ViewRequest view{};
  std::filesystem::path plot{}, html{};
  double checkpoint = 1, lost_after = 30;
  bool golden = false;
};

/// Once a process has left with another status than success, Open MPI 5's launcher drops what it has not read yet: so one that has printed stays.
constexpr std::chrono::milliseconds until_read(500);

volatile std::sig_atomic_t signal_seen = 0;

/// A second signal ends the process at once.
void stop_on_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    std::signal(signal, [](int seen) {
      signal_seen = seen;
      std::signal(seen, SIG_DFL);
    });
  }
}

bool stopped() { return signal_seen != 0; }

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " ") + text;
  return all;
}

LayerView sweep_view(const SweepArguments& options, const Model& model) {
  LayerView view = view_from(options.view, &model);
  if (view.order == LayerOrder::own) throw Error(ErrorCode::bad_input, "--sort own", "a sweep feeds no layer with the reference's tensors");
  return view;
}

SweepWork prepare(const SweepArguments& options) {
  SweepWork work;
  work.model = std::make_unique<Model>(read_users_model(options.model));
  static_cast<void>(sweep_view(options, *work.model));  // refused before anything is computed
  std::vector<SpecSheet> backends;
  for (const std::string& backend : options.backends) {
    SpecSheet sheet = selected_backend(backend, {});
    const UsersModel network{*work.model, options.model};
    backends.push_back(backends.empty() ? with_fallbacks(std::move(sheet), network) : with_placements(std::move(sheet), network));
  }
  SweepOptions sweep = options.sweep;
  sweep.golden = options.golden ? Golden::with : Golden::without;
  work.sweeper = std::make_unique<Sweeper>(*work.model, std::move(backends), sweep);
  work.source = std::make_unique<SampleSource>(open_samples(*work.model, options.data));
  return work;
}

/// "-": to stdout.
void write(const std::string& file, const std::string& text) {
  if (file.empty()) return;
  if (file == "-") {
    std::cout << text << std::flush;
    return;
  }
  write_text_file(file, text);
}

std::string kept_text(const SweepState& state) {
  const std::string done = std::to_string(state.statistics.samples.count()) + " of " + count_of(state.samples(), "sample") +
                           (state.statistics.samples.count() == 1 ? " is done" : " are done");
  if (state.file().empty()) return done + " and lost: there is no --state to go on from";
  return done + " and kept in " + state.file().string() + "; the same command goes on from there";
}

/// What is complete is reported; what failed half-way too, marked as incomplete; what the user stopped is not.
int finish(const SweepArguments& options, const SweepWork& work, const SweepState& state, const SweepEnd& end) {
  const SweepReport report{options.model, joined(options.data), work.sweeper.get(), &state.statistics, state.samples()};
  if (!end.stopped && state.statistics.samples.count() > 0) {
    write(options.json, to_json(report));
    write(options.csv, to_csv(report));
    if (options.json != "-" && options.csv != "-") std::cout << to_text(report, sweep_view(options, *work.model)) << std::flush;
    draw_if_asked(report, options.plot);
    if (!options.html.empty()) write_html(document_of(report), options.html);
  }
  if (end.error.empty() && report.complete()) return report.equal() ? equal : different;
  log_error("lastbit: " + end.error + "; " + kept_text(state));
  return failed;
}

/// Without a launcher.
int sweep_alone(const SweepArguments& options, const RanksControl& control) {
  const SweepWork work = prepare(options);
  SweepState state(control.state, *work.sweeper, *work.source);
  SweepEnd end;
  try {
    sweep(state, *work.sweeper, *work.source, {.interval = control.interval, .progress = control.progress, .stop = control.stop});
    if (stopped() && state.missing().count() > 0) end = {"sweep: stopped by signal " + std::to_string(signal_seen), true};
  } catch (const Error& error) {
    end = {error.what(), false};
  }
  return control.finish(work, state, end);
}

int run(const SweepArguments& options) {
  stop_on_signals();
  Progress progress("samples");
  RanksControl control{
      .state = options.state,
      .interval = milliseconds_of(options.checkpoint),
      .lost_after = milliseconds_of(options.lost_after),
      .progress = [&](auto done, auto all) { progress.show(static_cast<std::size_t>(done), static_cast<std::size_t>(all)); },
      .stop = stopped,
      .finish =
          [&](const SweepWork& work, const SweepState& state, const SweepEnd& end) {
            progress.clear();
            const int status = finish(options, work, state, end);
            if (status != EXIT_SUCCESS && launched_processes() > 0) std::this_thread::sleep_for(until_read);
            return status;
          }};
  if (launched_processes() > 1) return sweep_on_ranks([&] { return prepare(options); }, control);
  return sweep_alone(options, control);
}

}  // namespace

int launched_processes() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {  // Open MPI; MPICH and those that follow it
    if (const char* const count = std::getenv(variable)) return std::max(1, std::atoi(count));
  }
  return 0;
}

void add_sweep(CommandLine& line) {
  Command command = line.add("sweep",
                             "run a whole data set on several backends and count per layer what differs; goes on after a kill; "
                             "spreads over machines under mpirun");
  const auto options = std::make_shared<SweepArguments>();
  add_model(command, options->model).required();
  add_input_option(command, options->data).required();
  command.renamed("--data", "--input");
  add_backends_option(command, options->backends).required();
  command.renamed("--backends", "--backend");
  add_placement_options(command);
  add_golden_option(command, options->golden);
  add_view_options(command, options->view);
  command.flag("--events", options->sweep.count_events, "count saturated outputs and sums that left the accumulator");
  command.option("--state", options->state, "keep what is done in FILE (of a folder, in sweep.json), and go on from what is there")
      .value_name("FILE|DIR");
  command.option("--checkpoint", options->checkpoint, "write the state at most every so many seconds; 0: after every batch")
      .within(0.0, 86400.0)
      .shows_default();
  command.option("--batch", options->sweep.batch, "compute so many samples together; 0: as memory suggests").within(0, 65536);
  add_threads_option(command, options->sweep.threads);
  if (launched_processes() > 1) options->sweep.threads = 1;  // the launcher has shared the machine out
  command.option("--lost-after", options->lost_after, "under mpirun: deal a rank's samples again after so many seconds of silence")
      .within(1.0, 86400.0)
      .shows_default();
  add_report_option(command, "--json", options->json);
  add_report_option(command, "--csv", options->csv);
  add_plot_option(command, options->plot);
  add_html_option(command, options->html);
  add_memory_option(command);
  add_force_option(command);
  command.note(
      "--backend: the others are compared with the first one.\n"
      "--json FILE and --csv FILE write the file; without FILE, or with -, it goes to stdout.");
  command.footer("Exit status: 0 every value as on the first backend, 1 some differ, 2 error or incomplete.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
