// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/dump.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compare/dump/file_names.hpp"
#include "compare/dump/file_values.hpp"
#include "compare/report_fields.hpp"
#include "compare/runs.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/error.hpp"
#include "lastbit/metrics.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

/// The run-time tensors of a model in the order of computation, with the kind of operation that writes them.
std::vector<NamedTensor> run_time_tensors(const Model& model) {
  std::vector<NamedTensor> tensors;
  const auto add = [&](std::int32_t index, std::string_view operation, std::optional<std::size_t> number = {}) {
    tensors.push_back({index, model.tensor(index).name, std::string(operation), {}, {}, {}, number});
  };
  for (const std::int32_t input : model.inputs) add(input, "input");
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    for (const std::int32_t output : model.operations[i].outputs) add(output, name_of(model.operations[i].kind), i);
  }
  return tensors;
}

/// Of arrays, whose shapes tell how many samples they hold; 0: they disagree, or there are none.
std::int64_t samples_told(const Model& model, const std::vector<NamedTensor>& tensors) {
  const SampleCounts counts =
      sample_counts(model, {.model = {}, .backend = {}, .path = {}, .tensors = tensors, .events = {}, .assumptions = {}});
  return counts.are_equal() ? counts.most : 0;
}

bool is_array(const DumpFile& file) { return !file.member.empty() || file.path.extension() == ".npy"; }

/// Reads the files of a dump one after the other, those first whose shapes say most.
class Reading {
 public:
  Reading(const Model& model, const DumpOptions& options, NamedTrace& dump) : model_(model), options_(options), dump_(dump) {
    if (!options.inputs.empty()) samples_ = options.inputs[0].element_count() / model.tensor(model.inputs[0]).shape.element_count();
  }

  void take(const std::map<std::int32_t, DumpFile>& files) {
    for (const bool arrays : {true, false}) {
      for (NamedTensor& tensor : run_time_tensors(model_)) {
        const auto file = files.find(tensor.index);
        if (file != files.end() && is_array(file->second) == arrays) add(std::move(tensor), FileReader(file->second));
      }
      if (arrays && samples_ == 0) samples_ = samples_told(model_, dump_.tensors);
    }
  }

  void add(NamedTensor tensor, const FileReader& file) {
    const ModelTensor& described = model_.tensor(tensor.index);
    FileValues read = file.read_as(described, options_.layout, samples_);
    for (const std::string& reading : read.readings) readings_.emplace_back(tensor.name, reading);
    tensor.values = std::move(read.values);
    tensor.stored = std::move(read.stored);
    if (tensor.values.type() == described.type) tensor.quantization = quantization_in(described, tensor.values.shape());
    dump_.tensors.push_back(std::move(tensor));
  }

  [[nodiscard]] std::int64_t samples() const { return samples_; }

  /// In the order of computation, with all that was said.
  void finish() {
    std::map<std::int32_t, std::size_t> order;
    for (const NamedTensor& tensor : run_time_tensors(model_)) order.emplace(tensor.index, order.size());
    std::ranges::stable_sort(dump_.tensors, {}, [&](const NamedTensor& tensor) { return order.at(tensor.index); });
    std::ranges::stable_sort(readings_, {}, [&](const auto& reading) {
      const NamedTensor* const tensor = dump_.find(std::string_view(reading.first));
      return tensor == nullptr ? order.size() : order.at(tensor->index);
    });
    for (std::string& line : summed_up(readings_)) dump_.readings.push_back(std::move(line));
  }

 private:
  const Model& model_;
  const DumpOptions& options_;
  NamedTrace& dump_;
  std::int64_t samples_ = 0;  ///< 0: not known
  std::vector<std::pair<std::string, std::string>> readings_;
};

/// What the board was given, as the user says or as the dump has it, a few samples of it; nothing: an input is not known.
std::vector<Tensor> known_inputs(const Model& model, const DumpOptions& options, const NamedTrace& dump) {
  constexpr std::int64_t most_samples = 4;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const NamedTensor* const found = dump.find(model.inputs[i]);
    if (options.inputs.empty() && found == nullptr) return {};
    const Tensor& values = options.inputs.empty() ? found->values : options.inputs[i];
    const Shape& own = model.tensor(model.inputs[i]).shape;
    const bool is_long = values.element_count() > most_samples * own.element_count();
    inputs.push_back(is_long ? first_samples(values, own, most_samples) : values);
  }
  return inputs;
}

/// The float path's values of every tensor; nothing: it cannot compute the network, or from nothing.
std::optional<NamedTrace> float_values(const Model& model, std::span<const Tensor> inputs) {
  const SpecSheet& golden = golden_sheet();
  if (inputs.empty() || !check(model, golden.backend).empty()) return std::nullopt;
  try {
    return run_all(Emulator(model, golden.backend), golden, inputs, 1);
  } catch (const Error&) {
    return std::nullopt;  // inputs that do not fit, or too large: nothing is told by values
  }
}

/// The cosine of as many samples as both hold.
double cosine_between(const NamedTensor& dumped, const NamedTensor& truth) {
  const Tensor mine = dequantized(dumped.values, dumped.quantization), real = dequantized(truth.values, truth.quantization);
  const auto count = static_cast<std::size_t>(std::min(mine.element_count(), real.element_count()));
  return element_metrics(mine.values<float>().first(count), real.values<float>().first(count)).cosine;
}

/// A file that may be a tensor's.
struct Likeness {
  std::size_t file = 0;
  NamedTensor tensor;
  std::string layout{};
  double cosine = 0;
  bool has_axes = false;  ///< the file is shaped as the tensor
};

constexpr double least_cosine = 0.9;

/// Whether a file is shaped as the tensor, as far as its name or its own axes, with samples in front, tell.
bool has_axes_of(const Shape& shape, const DumpFile& file, const Shape& stored) {
  if (file.shape) return file.shape->rank() == shape.rank();
  return stored.rank() >= shape.rank() && std::ranges::equal(stored.sizes().last(shape.rank()), shape.sizes());
}

/// Of the tensors that no file is named after those which an unnamed file is like.
std::vector<Likeness> likenesses(const Model& model, const std::vector<FileReader>& files, const NamedTrace& truth, const NamedTrace& dump,
                                 const DumpOptions& options, std::int64_t samples) {
  std::vector<Likeness> found;
  for (const NamedTensor& tensor : run_time_tensors(model)) {
    const NamedTensor* const real = truth.find(tensor.index);
    if (real == nullptr || dump.find(tensor.index) != nullptr) continue;
    const ModelTensor& described = model.tensor(tensor.index);
    for (std::size_t file = 0; file < files.size(); ++file) {
      const DumpFile& named = files[file].file();
      const bool is_open = options.layout.empty() && named.layout.empty() && !is_array(named) && described.shape.rank() == 4;
      for (const std::string& layout : is_open ? std::vector<std::string>{"", "nchw"} : std::vector{options.layout}) {
        try {
          FileValues read = files[file].read_as(described, layout, samples);
          NamedTensor dumped = tensor;
          if (read.values.type() == described.type) dumped.quantization = quantization_in(described, read.values.shape());
          dumped.values = std::move(read.values);
          const double cosine = cosine_between(dumped, *real);
          dumped.values = Tensor();
          if (cosine > least_cosine)
            found.push_back({file, std::move(dumped), layout, cosine, has_axes_of(described.shape, named, read.stored)});
        } catch (const Error&) {
          continue;  // of another size or type
        }
      }
    }
  }
  std::ranges::stable_sort(found, std::greater<>{}, [](const Likeness& each) {
    constexpr double same = 1e9;  // a reshape's values are those of the tensor before it
    return std::pair(std::llround(each.cosine * same), each.has_axes);
  });
  return found;
}

/// Files whose names fit nothing are those tensors that their values are most like: each file one, each tensor one.
void match_by_values(const Model& model, MatchedFiles& files, const DumpOptions& options, Reading& reading, NamedTrace& dump) {
  const bool any_open =
      std::ranges::any_of(run_time_tensors(model), [&](const NamedTensor& tensor) { return dump.find(tensor.index) == nullptr; });
  if (files.open.empty() || !any_open) return;
  const std::vector<Tensor> inputs = known_inputs(model, options, dump);
  const std::optional<NamedTrace> truth = float_values(model, inputs);
  if (!truth) return;
  std::vector<FileReader> readers;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.open.size(); ++i) {
    try {
      readers.emplace_back(files.open[i]);
      names.push_back(files.unfit[i]);
    } catch (const Error&) {
      continue;  // no values
    }
  }
  std::set<std::size_t> used;
  for (const Likeness& like : likenesses(model, readers, *truth, dump, options, reading.samples())) {
    if (used.contains(like.file) || dump.find(like.tensor.index) != nullptr) continue;
    used.insert(like.file);
    DumpFile file = readers[like.file].file();
    if (!like.layout.empty()) file.layout = like.layout;
    reading.add(like.tensor, FileReader(file));
    dump.by_value.push_back({names[like.file], like.tensor.index, like.tensor.name, like.cosine});
    std::erase(files.unfit, names[like.file]);
  }
  if (dump.by_value.empty()) return;
  const MatchedByValue& first = dump.by_value.front();
  dump.readings.push_back(count_of(std::ssize(dump.by_value), "file") + " matched by the values alone: '" + first.file + "' is '" +
                          first.tensor + "' (cosine " + number_text("%.6f", first.cosine) + ")" + (dump.by_value.size() > 1 ? ", …" : ""));
}

}  // namespace

std::vector<std::string> summed_up(const std::vector<std::pair<std::string, std::string>>& readings) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const auto& [tensor, reading] : readings) {
    const std::string what = reading.substr(0, reading.find(','));
    const auto same = std::ranges::find(groups, what, [](const auto& group) { return group.first; });
    const std::string detail = reading.size() > what.size() ? " (" + reading.substr(what.size() + 2) + ")" : "";
    (same != groups.end() ? same->second : groups.emplace_back(what, std::vector<std::string>{}).second)
        .push_back("'" + tensor + "'" + detail);
  }
  std::vector<std::string> lines;
  for (const auto& [what, tensors] : groups)
    lines.push_back(count_of(std::ssize(tensors), "tensor") + " " + what + ": " + tensors.front() + (tensors.size() > 1 ? ", …" : ""));
  return lines;
}

NamedTrace read_dump(const std::filesystem::path& folder, const Model& model, const DumpOptions& options) {
  const auto& layouts = dump_layouts();
  if (!options.layout.empty() && std::ranges::find(layouts, options.layout) == layouts.end())
    throw Error(ErrorCode::bad_input, "--layout " + options.layout, "is no layout of a dump");
  MatchedFiles files = match_files(folder, model, options);
  NamedTrace dump{.model = model.name, .backend = "dump", .path = {}, .tensors = {}, .events = {}, .assumptions = {}};
  Reading reading(model, options, dump);
  reading.take(files.by_tensor);
  match_by_values(model, files, options, reading, dump);
  reading.finish();
  dump.unfit = std::move(files.unfit);
  if (!dump.tensors.empty()) return dump;
  const std::string by_values = options.inputs.empty() ? ", or --input what the board was given, so that values tell it"
                                                       : ", and no file has values like those of a tensor";
  throw Error(
      ErrorCode::bad_input, folder.string(),
      "no file of values is named after a tensor of the model or its index (tensor_012.npy); --names says whose they are" + by_values);
}

}  // namespace lastbit
