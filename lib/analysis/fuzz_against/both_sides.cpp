// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/fuzz_against/both_sides.hpp"

#include <algorithm>
#include <cstdlib>

#include "analysis/backend_reference.hpp"
#include "analysis/fuzz_against/layout.hpp"
#include "formats/file.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/io/tflite.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// The messages alone: where the mistake is differs from one random network to the next.
std::string reason_of(const Error& error) { return error.diagnostics().front().message; }

fs::path only_npy_of(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".npy") found.push_back(entry.path());
  if (found.size() == 1) return found.front();
  throw Error(ErrorCode::bad_input, "", found.empty() ? "no output was written" : "more than one output was written");
}

std::string kind_of(const Tensor& tensor) { return std::string(name_of(tensor.type())) + " " + tensor.shape().text(); }

}  // namespace

Distance distance_of(const Tensor& a, const Tensor& b) {
  Distance distance;
  for (std::int64_t i = 0; i < a.element_count(); ++i) {
    const std::int64_t apart = std::abs(a.integer_at(i) - b.integer_at(i));
    if (apart == 0) continue;
    if (distance.differing++ == 0) distance.first = i;
    distance.largest = std::max(distance.largest, apart);
  }
  return distance;
}

Tensor BothSides::in_file(const Tensor& tensor) const { return options_.format == FuzzFormat::onnx ? to_file_layout(tensor) : tensor; }

Tensor BothSides::in_network(const Tensor& tensor) const { return options_.format == FuzzFormat::onnx ? from_file_layout(tensor) : tensor; }

FuzzFiles BothSides::write(const Model& network, const std::vector<Tensor>& inputs, const fs::path& folder) const {
  FuzzFiles files{.folder = folder,
                  .model = folder / ("model." + std::string(name_of(options_.format))),
                  .inputs = {},
                  .input_folder = folder,
                  .output = folder / "output.npy",
                  .output_folder = folder / "outputs"};
  if (options_.format == FuzzFormat::onnx) write_file(files.model, onnx_bytes(network), {});
  else write_tflite(network, files.model);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    files.inputs.push_back(folder / (identifier_of(network.tensor(network.inputs[i]).name) + ".npy"));
    write_npy(files.inputs.back(), in_file(inputs[i]));
  }
  return files;
}

Tensor BothSides::ours(const FuzzFiles& files) const {
  const Model model = read_model(files.model);
  std::vector<Tensor> inputs;
  for (const fs::path& file : files.inputs) inputs.push_back(read_npy(file));
  Trace trace = lastbit::run(model, sheet_.backend, inputs);
  Tensor output = std::move(*trace.tensors[static_cast<std::size_t>(model.outputs.front())]);
  if (!is_integer(output.type())) throw Error(ErrorCode::type_mismatch, "", "the output is " + std::string(name_of(output.type())));
  return output;
}

/// As the other side left it.
Tensor BothSides::theirs(const FuzzFiles& files) const {
  const fs::path file = fs::exists(files.output) ? files.output : only_npy_of(files.output_folder);
  try {
    return read_npy(file);
  } catch (const Error& error) {
    throw Error(ErrorCode::malformed_file, "", "the output: " + reason_of(error));
  }
}

Answers BothSides::run(const Model& network, const std::vector<Tensor>& inputs, const std::string& name) const {
  const fs::path folder = options_.scratch / name;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  create_folder(folder / "outputs");
  Answers answers;
  FuzzFiles files;
  try {
    files = write(network, inputs, folder);
    answers.ours = ours(files);
  } catch (const Error& error) {
    answers.refused_here = reason_of(error);
    return answers;
  }
  answers.refused_there = other_(files);
  if (!answers.refused_there.empty()) return answers;
  try {
    Tensor output = theirs(files);
    const Tensor& expected = *answers.ours;
    if (output.type() != expected.type() || output.element_count() != expected.element_count())
      throw Error(ErrorCode::shape_mismatch, "", "the output is " + kind_of(output) + ", not " + kind_of(expected));
    output.reshape(expected.shape());
    answers.theirs = in_network(output);
    answers.ours = in_network(expected);
  } catch (const Error& error) {
    answers.refused_there = reason_of(error);
  }
  return answers;
}

}  // namespace lastbit
