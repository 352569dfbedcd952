// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/match.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "compare/dump/file_names.hpp"
#include "compare/dump/layouts.hpp"
#include "engine/operands.hpp"

namespace lastbit {
namespace {

using AxisSizes = std::vector<std::int64_t>;

/// Axes of 1 say nothing.
AxisSizes telling_sizes(std::span<const std::int64_t> sizes) {
  AxisSizes list;
  std::ranges::copy_if(sizes, std::back_inserter(list), [](std::int64_t size) { return size != 1; });
  return list;
}

/// Of an image or a series; nothing for other tensors.
std::optional<AxisSizes> channels_first_sizes(const Shape& shape) {
  if (shape.rank() == 4) return telling_sizes(std::array{shape[0], shape[3], shape[1], shape[2]});
  if (shape.rank() == 3) return telling_sizes(std::array{shape[0], shape[2], shape[1]});
  return std::nullopt;
}

/// A tensor that operations or the user write at run time.
struct Candidate {
  std::int32_t index = 0;
  Shape shape;
  bool is_channels_first = false;        ///< an ONNX tensor whose image stands beside it
  const Operation* operation = nullptr;  ///< none writes an input
};

struct Candidates {
  std::vector<Candidate> inputs, computed;
};

Candidates candidates_of(const Model& model) {
  std::set<std::string_view> images;
  for (const ModelTensor& tensor : model.tensors) images.insert(tensor.name);
  const auto candidate = [&](std::int32_t index, const Operation* operation) {
    const ModelTensor& tensor = model.tensor(index);
    const bool has_image = images.contains(tensor.name + " (NHWC)") || images.contains(tensor.name + " (NWC)");
    return Candidate{index, tensor.shape, has_image, operation};
  };
  Candidates found;
  for (const std::int32_t input : model.inputs) found.inputs.push_back(candidate(input, nullptr));
  for (const Operation& operation : model.operations)
    for (const std::int32_t output : operation.outputs) found.computed.push_back(candidate(output, &operation));
  return found;
}

/// How the values of `real` become those of `wanted`; nothing: their shapes do not fit.
std::optional<AxesMove> move_between(const Candidate& real, const Candidate& wanted) {
  const AxisSizes own = telling_sizes(real.shape.sizes()), others = telling_sizes(wanted.shape.sizes());
  const bool same = own == others;
  const bool can_be_last = channels_first_sizes(wanted.shape) == own;
  const bool can_be_first = channels_first_sizes(real.shape) == others;
  if (real.is_channels_first && !wanted.is_channels_first && can_be_last) return AxesMove::to_channels_last;
  if (!real.is_channels_first && wanted.is_channels_first && can_be_first) return AxesMove::to_channels_first;
  if (same) return AxesMove::none;
  if (can_be_last) return AxesMove::to_channels_last;
  if (can_be_first) return AxesMove::to_channels_first;
  return std::nullopt;
}

/// Without what quantisers, runtimes and this library's reader of ONNX put behind a name.
std::string bare_name(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  std::string bare = canonical(name);
  constexpr std::array<std::string_view, 10> endings{"_quantizelinear_output",
                                                     "_dequantizelinear_output",
                                                     "_quantized",
                                                     "_dequantized",
                                                     "_quant",
                                                     "_output_0",
                                                     "_nhwc",
                                                     "_nwc",
                                                     "_int8",
                                                     "_"};
  for (bool shorter = true; shorter;) {
    const auto ending =
        std::ranges::find_if(endings, [&](std::string_view each) { return bare.size() > each.size() && bare.ends_with(each); });
    shorter = ending != endings.end();
    if (shorter) bare.resize(bare.size() - ending->size());
  }
  if (bare.size() > 1 && bare.front() == '_') bare.erase(0, 1);
  return bare;
}

/// The names of a tensor, the most telling first: its own, of several joined by ';' each, that of its operation.
std::vector<std::string> names_of(const Model& model, const Candidate& tensor) {
  const std::string& own = model.tensor(tensor.index).name;
  std::vector<std::string> names{bare_name(own)};
  for (std::size_t at = 0; own.find(';') != std::string::npos && at <= own.size();) {
    const std::size_t end = std::min(own.find(';', at), own.size());
    names.push_back(bare_name(own.substr(at, end - at)));
    at = end + 1;
  }
  if (tensor.operation != nullptr && tensor.operation->outputs[0] == tensor.index) names.push_back(bare_name(tensor.operation->name));
  std::erase_if(names, [](const std::string& name) { return name.empty() || name == "_"; });
  return names;
}

/// Who reads which tensor.
class Readers {
 public:
  explicit Readers(const Model& model) : of_(model.tensors.size()), counts_(model.tensors.size(), 0) {
    for (const Operation& operation : model.operations)
      for (const std::int32_t input : operation.inputs)
        if (input != absent_tensor) add(input, &operation);
    for (const std::int32_t output : model.outputs) add(output, nullptr);
  }
  /// The operation that reads the tensor, where nobody else does; else nullptr.
  [[nodiscard]] const Operation* only(std::int32_t tensor) const {
    const auto at = static_cast<std::size_t>(tensor);
    return counts_[at] == 1 ? of_[at] : nullptr;
  }

 private:
  void add(std::int32_t tensor, const Operation* reader) {
    const auto at = static_cast<std::size_t>(tensor);
    counts_[at] += counts_[at] > 0 && of_[at] == reader ? 0 : 1;
    of_[at] = reader;
  }

  std::vector<const Operation*> of_;
  std::vector<int> counts_;
};

bool is_bounding(const Operation& operation) {
  using enum OperationKind;
  return operation.kind == relu || operation.kind == relu6 || operation.kind == relu_n1_to_1 || operation.kind == clip;
}

/// Where the quantised operation bounds its output and the float one does not: what the activation makes of it that alone reads it.
std::int32_t behind_activation(const Readers& readers, std::int32_t tensor, const Operation* own, const Operation* quantised) {
  if (own == nullptr || quantised == nullptr || bounds_of(*quantised) == OutputBounds{} || bounds_of(*own) != OutputBounds{}) return tensor;
  const Operation* const reader = readers.only(tensor);
  return reader != nullptr && is_bounding(*reader) ? reader->outputs[0] : tensor;
}

/// Which a float network does not have.
bool is_conversion(OperationKind kind) {
  return kind == OperationKind::quantize || kind == OperationKind::dequantize || kind == OperationKind::requantize;
}

/// Pairs two networks' tensors.
class Pairing {
 public:
  Pairing(const Model& model, const Model& real)
      : model_(model), real_(real), readers_(model), readers_of_real_(real), found_(model.tensors.size()) {}

  void by_name(const std::vector<Candidate>& wanted, const std::vector<Candidate>& real) {
    std::multimap<std::string, const Candidate*> called;
    for (const Candidate& each : real)
      for (const std::string& name : names_of(real_, each)) called.emplace(name, &each);
    for (const Candidate& each : wanted) {
      if (found_at(each)) continue;
      for (const std::string& name : names_of(model_, each)) {
        const auto [first, last] = called.equal_range(name);
        std::vector<const Candidate*> those;
        for (auto at = first; at != last; ++at) those.push_back(at->second);
        if (take_best(each, those)) break;
      }
    }
  }

  /// Those without a counterpart, shape by shape, where there are as many in both networks.
  void by_order(const std::vector<Candidate>& wanted, const std::vector<Candidate>& real) {
    const Groups theirs = groups(real, [&](const Candidate& each) { return !taken_.contains(each.index); });
    for (const auto& [sizes, ours] : groups(wanted, [&](const Candidate& each) { return !found_at(each); })) {
      const auto those = theirs.find(sizes);
      if (those == theirs.end()) continue;
      const Group fewer_ours = without_inner(model_, readers_, ours), fewer_theirs = without_inner(real_, readers_of_real_, those->second);
      if (pair_up(ours, those->second) || pair_up(ours, fewer_theirs) || pair_up(fewer_ours, those->second)) continue;
      static_cast<void>(pair_up(fewer_ours, fewer_theirs));
    }
  }

  /// Codes that are real values, or other codes, in another form stand for what those stand for.
  void through_conversions(const std::vector<Candidate>& computed) {
    for (const Candidate& each : computed) {
      if (found_at(each) || !is_conversion(each.operation->kind)) continue;
      found_at(each) = found_[static_cast<std::size_t>(each.operation->inputs[0])];
    }
  }

  [[nodiscard]] std::vector<std::optional<Counterpart>> found() && { return std::move(found_); }

 private:
  using Group = std::vector<const Candidate*>;
  using Groups = std::map<AxisSizes, Group>;

  [[nodiscard]] std::optional<Counterpart>& found_at(const Candidate& tensor) { return found_[static_cast<std::size_t>(tensor.index)]; }

  void take(const Candidate& tensor, const Candidate& real, MatchedBy match) {
    found_at(tensor) = Counterpart{real.index, *move_between(real, tensor), match};
    taken_.insert(real.index);
  }

  /// The one of the same name to the letter, else the one whose axes stay; none where several may be meant.
  bool take_best(const Candidate& tensor, Group those) {
    std::erase_if(those, [&](const Candidate* real) { return !move_between(*real, tensor); });
    const auto rank = [&](const Candidate* real) {
      const bool same_name = real_.tensor(real->index).name == model_.tensor(tensor.index).name;
      return (same_name ? 0 : 2) + (*move_between(*real, tensor) == AxesMove::none ? 0 : 1);
    };
    if (those.empty()) return false;
    const Candidate* const best = *std::ranges::min_element(those, {}, rank);
    const bool is_clear =
        std::ranges::all_of(those, [&](const Candidate* real) { return real->index == best->index || rank(real) > rank(best); });
    if (!is_clear) return false;
    Candidate bounded = *best;  // whose shape and axes are the same
    bounded.index = behind_activation(readers_of_real_, best->index, best->operation, tensor.operation);
    take(tensor, bounded, MatchedBy::name);
    return true;
  }

  template <class Wanted>
  static Groups groups(const std::vector<Candidate>& tensors, const Wanted& is_wanted) {
    Groups found;
    for (const Candidate& each : tensors) {
      const auto is_of = [&](OperationKind kind) { return each.operation != nullptr && each.operation->kind == kind; };
      const bool is_converted = each.operation != nullptr && is_conversion(each.operation->kind);
      if (is_converted || is_of(OperationKind::transpose) || is_of(OperationKind::cast) || !is_wanted(each)) continue;
      AxisSizes sizes = telling_sizes(each.shape.sizes());
      std::ranges::sort(sizes);
      found[std::move(sizes)].push_back(&each);
    }
    return found;
  }

  /// Less those that a converter makes part of the operation behind them: an activation, or a sum or product with a constant.
  static Group without_inner(const Model& model, const Readers& readers, Group tensors) {
    std::erase_if(tensors, [&](const Candidate* tensor) {
      const Operation* const reader = readers.only(tensor->index);
      if (reader == nullptr) return false;
      const auto is_constant = [&](std::int32_t input) { return input != absent_tensor && model.tensor(input).constant.has_value(); };
      const bool takes_constant = reader->kind == OperationKind::add || reader->kind == OperationKind::mul;
      return is_bounding(*reader) || (takes_constant && std::ranges::any_of(reader->inputs, is_constant));
    });
    return tensors;
  }

  bool pair_up(const Group& ours, const Group& theirs) {
    if (ours.size() != theirs.size()) return false;
    for (std::size_t i = 0; i < ours.size(); ++i)
      if (!move_between(*theirs[i], *ours[i])) return false;
    for (std::size_t i = 0; i < ours.size(); ++i) take(*ours[i], *theirs[i], MatchedBy::order);
    return true;
  }

  const Model& model_;
  const Model& real_;
  Readers readers_, readers_of_real_;
  std::vector<std::optional<Counterpart>> found_;
  std::set<std::int32_t> taken_;
};

}  // namespace

std::vector<std::optional<Counterpart>> match_tensors(const Model& model, const Model& float_network) {
  const Candidates ours = candidates_of(model), theirs = candidates_of(float_network);
  Pairing pairing(model, float_network);
  pairing.by_name(ours.inputs, theirs.inputs);
  pairing.by_order(ours.inputs, theirs.inputs);
  std::vector<Candidate> all = theirs.inputs;  // codes of an input are computed from it
  all.insert(all.end(), theirs.computed.begin(), theirs.computed.end());
  pairing.by_name(ours.computed, all);
  pairing.by_order(ours.computed, theirs.computed);
  pairing.through_conversions(ours.computed);
  return std::move(pairing).found();
}

AxesMove opposite(AxesMove move) {
  if (move == AxesMove::none) return move;
  return move == AxesMove::to_channels_last ? AxesMove::to_channels_first : AxesMove::to_channels_last;
}

Tensor moved(const Tensor& values, AxesMove move, const Shape& own, const Shape& wanted) {
  if (move == AxesMove::to_channels_last) return in_model_order(values, channels_first(wanted), wanted);
  Tensor same = move == AxesMove::none ? values : in_file_order(values, channels_first(own));
  const std::int64_t samples = values.element_count() / wanted.element_count();
  std::vector<std::int64_t> sizes(wanted.sizes().begin(), wanted.sizes().end());
  if (samples > 1) sizes.insert(sizes.begin(), samples);
  same.reshape(Shape(std::move(sizes)));
  return same;
}

}  // namespace lastbit
