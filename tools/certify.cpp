// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/certify.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "html_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/fingerprint.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/output.hpp"
#include "layer_plot.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/documents.hpp"
#include "subcommand.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

struct CertifyArguments {
  std::string model, range = "type", layer, output, check;
  ChosenBackend a, b;
  std::vector<std::string> inputs;
  ViewRequest view{};
  int threads = 1;
  std::filesystem::path plot{}, html{};
  bool json = false, fingerprint = false;
  AssumptionsAre assumptions = AssumptionsAre::named;
};

/// One side alone.
int print_fingerprint(const CertifyArguments& options) {
  if (!options.b.name.empty() || options.a.name.empty())
    throw Error(ErrorCode::bad_input, "certify", "--fingerprint is of one backend, --a");
  const Model model = read_users_model(options.model);
  const SpecSheet sheet = with_placements(reported_backend(options.a.name, options.a.settings), {model, options.model});
  Progress progress("listing");
  Fingerprint found = fingerprint(
      model, sheet, {.threads = options.threads, .on_progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); }});
  progress.clear();
  found.model = options.model;
  std::cout << (options.json ? json_with_placements(to_json(found), model, {&sheet}) : to_text(found) + placement_text(model, {&sheet}));
  return equal;
}

int run(const CertifyArguments& options) {
  if (options.fingerprint) return print_fingerprint(options);
  if (options.a.name.empty() || options.b.name.empty())
    throw Error(ErrorCode::bad_input, "certify", "--a and --b, two backends, are needed");
  const Model model = read_users_model(options.model);
  const auto [a, b] = placed_sides(options.a, options.b, {model, options.model});
  const std::vector<Tensor> inputs = options.inputs.empty() ? std::vector<Tensor>{} : read_inputs(model, options.inputs);
  Progress progress("certifying");
  CertifyOptions request{.range = options.range == "data" ? InputRange::data : InputRange::type,
                         .threads = options.threads,
                         .on_progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); },
                         .called = options.model};
  if (!options.layer.empty()) request.layer = options.layer;
  if (!options.check.empty()) {
    const CertificateCheck checked = check_certificate(options.check, model, a, b, inputs, request);
    progress.clear();
    std::cout << to_text(checked);
    return checked.holds() ? equal : different;
  }
  const Certificate certificate = certify(model, a, b, inputs, request);
  progress.clear();
  if (!options.output.empty()) write_text_file(options.output, to_json(certificate));
  draw_if_asked(certificate, options.plot);
  if (!options.html.empty()) write_html(document_of(certificate, model), options.html);
  std::cout << (options.json
                    ? to_json(certificate)
                    : to_text(certificate, view_from(options.view, &model), options.assumptions) + placement_text(model, {&a, &b}));
  return certificate.holds(options.assumptions) ? equal : different;
}

}  // namespace

void add_certify(CommandLine& line) {
  Command command = line.add("certify", "decide without data whether two backends compute the same network for every input");
  const auto options = std::make_shared<CertifyArguments>();
  add_model(command, options->model).required();
  add_side_a(command, options->a.name, options->a.settings);
  add_side_b(command, options->b.name, options->b.settings);
  add_placement_options(command);
  add_input_range_option(command, options->range);
  add_input_option(command, options->inputs);
  add_layer_option(command, options->layer);
  add_order_options(command, options->view);
  add_accept_assumptions_option(command, options->assumptions);
  add_output_option(command, options->output, "FILE");
  const Option check = add_check_option(command, options->check, "FILE");
  const Option fingerprint =
      command.flag("--fingerprint", options->fingerprint, "print what --a computes for every input as one line, and one for each layer");
  add_threads_option(command, options->threads);
  add_plot_option(command, options->plot).excludes(check).excludes(fingerprint);
  add_html_option(command, options->html).excludes(check).excludes(fingerprint);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note("--output: the certificate as JSON. --check: derives one again, its accumulators one by one, and compares every statement.");
  command.footer(
      "Exit status: 0 every layer equal for every input (the certificate holds), 1 some can differ, are open or rest on assumptions (it "
      "does not), 2 error.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
