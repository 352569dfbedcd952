// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/migrate/layer_changes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "compare/report_fields.hpp"
#include "engine/ops/conv_layer.hpp"
#include "formats/json_model.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

/// As few digits as tell the two apart.
std::array<std::string, 2> told_apart(double a, double b) {
  for (const char* const format : {"%.6g", "%.9g"}) {
    const std::string of_a = number_text(format, a), of_b = number_text(format, b);
    if (of_a != of_b) return {of_a, of_b};
  }
  return {number_text("%.17g", a), number_text("%.17g", b)};
}

/// "+1.2e-07 of it", "+0.82%".
std::string relative_text(double a, double b) {
  constexpr double tiny = 1e-4;
  const double part = (b - a) / a;
  return std::abs(part) < tiny ? number_text("%+.2g", part) + " of it" : number_text("%+.3g", 100 * part) + "%";
}

std::string count_text(std::size_t count) { return count == 0 ? "none" : count == 1 ? "one" : std::to_string(count); }

/// What an input is to the operation.
std::string role_of(const Operation& operation, std::size_t input) {
  const bool has_weights = is_conv_layer(operation.kind) || operation.kind == OperationKind::matmul;
  if (has_weights && input == 1) return "weights";
  if (has_weights && input == 2) return "bias";
  return input == 0 ? "input" : "input " + std::to_string(input);
}

std::string role_of_output(std::size_t output) { return output == 0 ? "output" : "output " + std::to_string(output); }

class Changes {
 public:
  explicit Changes(const BothNetworks& both) : both_(both) {}

  std::vector<LayerChange> found;

  void add(ChangeOf of, std::string what, std::string from, std::string to, std::string by = {}) {
    found.push_back({of, std::move(what), std::move(from), std::move(to), std::move(by)});
  }

  /// What a tensor is, wherever it stands.
  void tensor(const std::string& role, const ModelTensor& a, const ModelTensor& b) {
    if (a.type != b.type) add(ChangeOf::type, role + " type", std::string(name_of(a.type)), std::string(name_of(b.type)));
    if (a.shape != b.shape) add(ChangeOf::shape, role + " shape", a.shape.text(), b.shape.text());
    scales(role, a.quantization, b.quantization);
    if (a.constant && b.constant) values(role, *a.constant, *b.constant);
    if (a.merged.has_value() != b.merged.has_value())
      add(ChangeOf::statement, role + " of merged pairs", a.merged ? "yes" : "no", b.merged ? "yes" : "no");
    if (a.merged && b.merged) scales(role + " of merged pairs", *a.merged, *b.merged);
  }

  /// Where a layer's input comes from.
  void source(const std::string& role, std::int32_t a, std::int32_t b) {
    const ModelTensor &of_a = both_.before.tensor(a), &of_b = both_.after.tensor(b);
    if (of_a.constant && of_b.constant) return;
    if (of_a.constant || of_b.constant)
      add(ChangeOf::attribute, role, of_a.constant ? "constant" : "data", of_b.constant ? "constant" : "data");
    else if (both_.counterpart(a) != b) add(ChangeOf::wiring, role + " is", "'" + of_a.name + "'", "'" + of_b.name + "'");
  }

  void attributes(const Operation& a, const Operation& b) {
    const OrderedJson of_a = attributes_to_json(a.kind, a.attributes), of_b = attributes_to_json(b.kind, b.attributes);
    std::vector<std::string> names;
    for (const OrderedJson* const json : {&of_a, &of_b})
      for (const auto& [name, value] : json->items())
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    for (const std::string& name : names) {
      const std::string from = text_of(of_a, name), to = text_of(of_b, name);
      const bool is_bound = name == "activation" || name == "clamp" || name == "accumulator_clip" || name == "registers" ||
                            name == "below_zero" || name == "converter" || name == "segments";
      if (from != to) add(is_bound ? ChangeOf::bounds : ChangeOf::attribute, name, from, to);
    }
    if (a.stated != b.stated) add(ChangeOf::statement, "stated", std::string(name_of(a.stated)), std::string(name_of(b.stated)));
  }

 private:
  static std::string text_of(const OrderedJson& attributes, const std::string& name) {
    if (!attributes.contains(name)) return "none";
    const OrderedJson& value = attributes[name];
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  void scales(const std::string& role, const Quantization& a, const Quantization& b) {
    const std::size_t count = a.scales.size();
    if (count != b.scales.size()) return add(ChangeOf::quantization, role + " scales", count_text(count), count_text(b.scales.size()));
    if (a.axis != b.axis && a.per_channel())
      add(ChangeOf::quantization, role + " axis of scales", std::to_string(a.axis), std::to_string(b.axis));
    std::size_t differing = 0, furthest = 0;
    const auto apart = [&](std::size_t i) { return std::abs(b.scales[i] - a.scales[i]) / a.scales[i]; };
    for (std::size_t i = 0; i < count; ++i) {
      if (a.scales[i] == b.scales[i]) continue;
      if (differing++ == 0 || apart(i) > apart(furthest)) furthest = i;
    }
    if (differing > 0) scale(role, a, b, differing, furthest);
    zero_points(role, a, b);
  }

  void scale(const std::string& role, const Quantization& a, const Quantization& b, std::size_t differing, std::size_t furthest) {
    const double from = a.scales[furthest], to = b.scales[furthest];
    const auto [from_text, to_text] = told_apart(from, to);
    if (a.scales.size() == 1) return add(ChangeOf::quantization, role + " scale", from_text, to_text, relative_text(from, to));
    add(ChangeOf::quantization, role + " scales", {}, {},
        std::to_string(differing) + " of " + std::to_string(a.scales.size()) + ", the most " + from_text + " -> " + to_text + " (" +
            relative_text(from, to) + ")");
  }

  void zero_points(const std::string& role, const Quantization& a, const Quantization& b) {
    std::size_t differing = 0, first = 0;
    for (std::size_t i = 0; i < a.scales.size(); ++i)
      if (a.zero_point(i) != b.zero_point(i) && differing++ == 0) first = i;
    if (differing == 0) return;
    const std::string from = std::to_string(a.zero_point(first)), to = std::to_string(b.zero_point(first));
    if (a.scales.size() == 1) return add(ChangeOf::quantization, role + " zero point", from, to);
    add(ChangeOf::quantization, role + " zero points", {}, {},
        std::to_string(differing) + " of " + std::to_string(a.scales.size()) + ", the first " + from + " -> " + to);
  }

  void values(const std::string& role, const Tensor& a, const Tensor& b) {
    if (a == b || a.type() != b.type() || a.shape() != b.shape()) return;
    const TensorDifference apart = difference(a, {}, b, {});
    const std::string most =
        apart.largest_lsb ? std::to_string(std::abs(*apart.largest_lsb)) : number_text("%.3g", apart.metrics.max_absolute_error);
    add(ChangeOf::values, role, {}, {}, std::to_string(apart.differing) + " of " + std::to_string(apart.values) + ", by at most " + most);
  }

  const BothNetworks& both_;
};

void compare_inputs(const BothNetworks& both, const Operation& a, const Operation& b, Changes& changes) {
  const auto is_there = [](const Operation& operation, std::size_t i) {
    return i < operation.inputs.size() && operation.inputs[i] != absent_tensor;
  };
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < std::max(a.inputs.size(), b.inputs.size()); ++i) {
    const std::string role = role_of(a, i);
    if (is_there(a, i) != is_there(b, i))
      changes.add(ChangeOf::attribute, role, is_there(a, i) ? "given" : "none", is_there(b, i) ? "given" : "none");
    if (!is_there(a, i) || !is_there(b, i)) continue;
    changes.source(role, a.inputs[i], b.inputs[i]);
    if (seen.insert(a.inputs[i]).second) changes.tensor(role, both.before.tensor(a.inputs[i]), both.after.tensor(b.inputs[i]));
  }
}

}  // namespace

std::vector<LayerChange> changes_of(const BothNetworks& both, const LayerMatch& layer) {
  const Operation &a = both.before.operations[layer.before], &b = both.after.operations[layer.after];
  Changes changes(both);
  compare_inputs(both, a, b, changes);
  changes.attributes(a, b);
  if (a.outputs.size() != b.outputs.size())
    changes.add(ChangeOf::attribute, "outputs", std::to_string(a.outputs.size()), std::to_string(b.outputs.size()));
  for (std::size_t i = 0; i < std::min(a.outputs.size(), b.outputs.size()); ++i)
    if (a.outputs[i] != absent_tensor && b.outputs[i] != absent_tensor)
      changes.tensor(role_of_output(i), both.before.tensor(a.outputs[i]), both.after.tensor(b.outputs[i]));
  return std::move(changes.found);
}

bool mean_the_same(ElementType type_a, const Quantization& a, ElementType type_b, const Quantization& b) {
  if (type_a != type_b || a.scales.size() != b.scales.size() || (a.per_channel() && a.axis != b.axis)) return false;
  if (!is_integer(type_a)) return a.scales == b.scales;
  for (std::size_t i = 0; i < a.scales.size(); ++i) {
    if (a.zero_point(i) != b.zero_point(i)) return false;
    const IntegerRange codes = range_of(type_a);
    const auto furthest = std::max(static_cast<double>(a.zero_point(i)) - static_cast<double>(codes.min),
                                   static_cast<double>(codes.max) - static_cast<double>(a.zero_point(i)));
    // |(s_b / s_a - 1) (code - zero point)| < 1/2, and the same from b's side
    if (!(2 * std::abs(b.scales[i] - a.scales[i]) * furthest < std::min(a.scales[i], b.scales[i]))) return false;
  }
  return true;
}

namespace {

void compare_end(const BothNetworks& both, const std::string& role, std::int32_t a, std::int32_t b, Changes& changes) {
  const ModelTensor &of_a = both.before.tensor(a), &of_b = both.after.tensor(b);
  if (both.counterpart(a) != b && !(of_a.constant && of_b.constant))
    changes.add(ChangeOf::wiring, role, "'" + of_a.name + "'", "'" + of_b.name + "'");
  const std::size_t known = changes.found.size();
  changes.tensor(role + " '" + of_a.name + "'", of_a, of_b);
  if (!mean_the_same(of_a.type, of_a.quantization, of_b.type, of_b.quantization)) return;
  const auto is_near = [](const LayerChange& change) { return change.of == ChangeOf::quantization; };
  changes.found.erase(std::remove_if(changes.found.begin() + static_cast<std::ptrdiff_t>(known), changes.found.end(), is_near),
                      changes.found.end());
}

void compare_ends(const BothNetworks& both, const std::string& role, const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b,
                  Changes& changes) {
  if (a.size() != b.size()) return changes.add(ChangeOf::wiring, role + "s", std::to_string(a.size()), std::to_string(b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) compare_end(both, role, a[i], b[i], changes);
}

}  // namespace

std::vector<LayerChange> changes_of_ends(const BothNetworks& both) {
  Changes changes(both);
  compare_ends(both, "network input", both.before.inputs, both.after.inputs, changes);
  compare_ends(both, "network output", both.before.outputs, both.after.outputs, changes);
  const auto after_states = [](const Model& model) {
    std::vector<std::int32_t> tensors;
    for (const State& state : model.states) tensors.push_back(state.after);
    return tensors;
  };
  compare_ends(both, "network state", after_states(both.before), after_states(both.after), changes);
  return std::move(changes.found);
}

}  // namespace lastbit
