// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/fuzz_against/small_case.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "analysis/backend_reference.hpp"
#include "analysis/shrink/ddmin.hpp"
#include "analysis/shrink/reduce.hpp"
#include "formats/file.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/version.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// Some of the operations, one after the other, as a network whose output is that of the last one.
class Excerpt {
 public:
  Excerpt(const Model& network, const std::vector<std::optional<Tensor>>& values) : network_(network), values_(values) {}

  SmallCase of(std::size_t first, std::size_t count) {
    part_.network.name = network_.name;
    for (std::size_t i = first; i < first + count; ++i) {
      Operation operation = network_.operations[i];
      for (std::int32_t& input : operation.inputs)
        if (input != absent_tensor) input = placed(input, true);
      for (std::int32_t& output : operation.outputs) output = placed(output, false);
      part_.network.outputs = {operation.outputs.front()};
      part_.network.operations.push_back(std::move(operation));
    }
    return std::move(part_);
  }

 private:
  std::int32_t placed(std::int32_t index, bool read) {
    const auto [found, is_new] = places_.emplace(index, static_cast<std::int32_t>(part_.network.tensors.size()));
    if (!is_new) return found->second;
    part_.network.tensors.push_back(network_.tensor(index));
    if (read && !network_.tensor(index).constant) {
      part_.network.inputs.push_back(found->second);
      part_.inputs.push_back(values_.at(static_cast<std::size_t>(index)).value());
    }
    return found->second;
  }

  const Model& network_;
  const std::vector<std::optional<Tensor>>& values_;
  SmallCase part_;
  std::map<std::int32_t, std::int32_t> places_;
};

/// Every tensor of the network, as this backend computes it; none where it does not run the network that was generated.
std::vector<std::optional<Tensor>> tensors_of(const Model& network, const std::vector<Tensor>& inputs, const Backend& backend) {
  try {
    return run(network, backend, inputs, {.keep_all = true}).tensors;
  } catch (const Error&) {
    return {};
  }
}

/// The two outputs where the sides still differ. Beyond the number of trials nothing is tried any more.
class Trials {
 public:
  explicit Trials(const BothSides& sides) : sides_(sides) {}

  std::optional<TwoOutputs> run(const Model& network, const std::vector<Tensor>& inputs) {
    const FuzzOptions& options = sides_.options();
    if (done_ >= options.most_trials || (options.stop && options.stop())) return std::nullopt;
    Answers answers = sides_.run(network, inputs, "trial");
    if (answers.refused_here.empty()) ++done_;
    if (!answers.comparable()) return std::nullopt;
    return TwoOutputs{std::move(*answers.ours), std::move(*answers.theirs)};
  }
  [[nodiscard]] std::int64_t done() const { return done_; }

 private:
  const BothSides& sides_;
  std::int64_t done_ = 0;
};

std::int64_t distance_at(const Tensor& a, const Tensor& b, std::int64_t index) {
  return std::abs(a.integer_at(index) - b.integer_at(index));
}

void shrink_layer(SmallCase& found, Trials& trials) {
  LayerCase layer{found.network, found.inputs, distance_of(*found.answers.ours, *found.answers.theirs).first};
  tidy(layer);
  const std::int64_t apart = distance_at(*found.answers.ours, *found.answers.theirs, layer.index);
  const auto run = [&](const LayerCase& each) -> std::optional<TwoOutputs> {
    auto outputs = trials.run(each.layer, each.inputs);
    const bool further = outputs && distance_at(outputs->a, outputs->b, each.index) > apart;  // that would be another cause
    return further ? std::nullopt : std::move(outputs);
  };
  Oracle oracle(run, [](const LayerCase&) { return ShrinkCause{}; });
  const auto outputs = oracle.run(layer);
  if (!outputs || !outputs->differ_at(layer.index)) return;
  layer = cut(layer, *outputs, oracle).first;
  reduce(layer, oracle);
  found.network = std::move(layer.layer);
  found.inputs = std::move(layer.inputs);
}

void set_code(Tensor& tensor, std::size_t at, std::int64_t code) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) tensor.values<T>()[at] = static_cast<T>(code);
  });
}

/// Elements of the inputs go to their zero points.
void shrink_inputs(SmallCase& found, Trials& trials) {
  struct Element {
    std::size_t input, at;
  };
  std::vector<Element> elements;
  std::vector<std::int64_t> numbers;
  for (std::size_t input = 0; input < found.inputs.size(); ++input)
    for (std::size_t at = 0; at < static_cast<std::size_t>(found.inputs[input].element_count()); ++at) {
      numbers.push_back(static_cast<std::int64_t>(elements.size()));
      elements.push_back({input, at});
    }
  const std::vector<Tensor> all = found.inputs;
  (void)ddmin(std::move(numbers), [&](const std::vector<std::int64_t>& kept) {
    std::vector<Tensor> candidate = all;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto [input, at] = elements[i];
      const std::int64_t zero = found.network.tensor(found.network.inputs[input]).quantization.zero_point();
      if (!std::binary_search(kept.begin(), kept.end(), static_cast<std::int64_t>(i))) set_code(candidate[input], at, zero);
    }
    const auto outputs = trials.run(found.network, candidate);
    if (!outputs || outputs->a == outputs->b) return false;
    found.inputs = std::move(candidate);
    return true;
  });
}

}  // namespace

std::vector<OperationKind> SmallCase::operations() const {
  std::set<OperationKind> kinds;
  for (const Operation& operation : network.operations)
    if (operation.kind != OperationKind::reshape || network.operations.size() == 1) kinds.insert(operation.kind);
  return {kinds.begin(), kinds.end()};
}

SmallCase located(const Model& network, const std::vector<Tensor>& inputs, const Answers& answers, const BothSides& sides) {
  SmallCase whole{network, inputs, answers, 0};
  const std::size_t all = network.operations.size();
  if (all == 1) return whole;
  const auto values = tensors_of(network, inputs, sides.sheet().backend);
  if (values.empty()) return whole;
  for (std::size_t count = 1; count < all; ++count) {
    for (std::size_t first = 0; first + count <= all; ++first) {
      SmallCase part = Excerpt(network, values).of(first, count);
      part.answers = sides.run(part.network, part.inputs, "trial");
      if (part.answers.differ()) return part;
    }
  }
  return whole;
}

void make_small(SmallCase& found, const BothSides& sides) {
  const SmallCase before = found;
  Trials trials(sides);
  if (found.network.operations.size() == 1) shrink_layer(found, trials);
  else shrink_inputs(found, trials);
  found.trials = trials.done();
  found.answers = sides.run(found.network, found.inputs, "trial");
  if (found.answers.differ()) return;
  found = before;  // what was accepted once does not differ any more
  found.trials = trials.done();
}

void write_case(const SmallCase& found, const BothSides& sides, const fs::path& folder, const std::string& notes) {
  create_folder(folder);
  const FuzzFiles files = sides.write(found.network, found.inputs, folder);
  const std::string output = found.network.tensor(found.network.outputs.front()).name;
  const std::string expected = identifier_of(output) + "_expected.npy";
  write_npy(folder / expected, sides.in_file(*found.answers.theirs));
  const BackendReference reference = reference_to(sides.sheet());
  const std::string own_file = backend_file(identifier_of(sides.sheet().name));
  if (reference.name.empty()) write_file(folder / own_file, reference.json, {});
  JsonValue one{{"name", "as the other side computes it"}};
  one["backend"] = reference.name.empty() ? own_file : reference.name;
  for (const RuleText& rule : reference.settings) one["settings"][rule.path] = rule.value;
  one["model"] = files.model.filename().string();
  one["inputs"] = JsonValue::object();
  for (std::size_t i = 0; i < found.inputs.size(); ++i)
    one["inputs"][found.network.tensor(found.network.inputs[i]).name] = files.inputs[i].filename().string();
  one["expected"][output] = expected;
  JsonValue json{{"format", "lastbit.cases.v1"}, {"suite", "fuzz-against"}};
  json["source"] = sides.options().source;
  json["notes"] = "lastbit " + std::string(version()) + " fuzz-against, " + notes;
  json["cases"] = JsonValue::array();
  json["cases"].push_back(std::move(one));
  write_file(folder / "cases.json", json.text(2) + "\n", {});
}

}  // namespace lastbit
