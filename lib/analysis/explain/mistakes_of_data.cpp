// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "analysis/explain/mistakes.hpp"
#include "lastbit/as_it_lies.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

// ---- activations

OutputBounds* bounds_in(Attributes& attributes) {
  return std::visit(
      []<class T>(T& one) -> OutputBounds* {
        if constexpr (requires { one.bounds; }) return &one.bounds;
        else return nullptr;
      },
      static_cast<AnyAttributes&>(attributes));
}

bool ends_in_activation(const Suspect& suspect) {
  Operation operation = suspect.operation();
  return bounds_in(operation.attributes) != nullptr && is_integer(suspect.output().type);
}

void change_fused_activation(const Suspect& suspect, const TryMistake& attempt) {
  Operation operation = suspect.operation();
  const OutputBounds own = *bounds_in(operation.attributes);
  const bool is_clamped = own.clamp.has_value() || !own.accumulator_clip.empty();
  const std::string name = is_clamped ? "the clamp" : "the activation " + std::string(name_of(own.activation));
  for (const Activation other : {Activation::none, Activation::relu, Activation::relu6, Activation::relu_n1_to_1}) {
    if (other == own.activation && !is_clamped) continue;
    const std::string what = other == Activation::none ? name + " is missing, or the values are those before it"
                             : own.activation == Activation::none && !is_clamped
                                 ? "the activation " + std::string(name_of(other)) + " was added"
                                 : name + " is another: " + std::string(name_of(other));
    attempt(what, [&](AlteredPart& part) {
      OutputBounds& bounds = *bounds_in(part.operation().attributes);
      bounds.activation = other;
      bounds.clamp.reset();
      bounds.accumulator_clip.clear();
    });
  }
}

bool is_activation_alone(const Suspect& suspect) {
  using enum OperationKind;
  const OperationKind kind = suspect.kind();
  const bool is_one = kind == relu || kind == relu6 || kind == relu_n1_to_1 || kind == leaky_relu || kind == prelu || kind == hard_swish ||
                      kind == logistic || kind == tanh || kind == elu || kind == clip;
  return is_one && is_integer(suspect.input().type) && suspect.input().type == suspect.output().type;
}

void change_activation(const Suspect& suspect, const TryMistake& attempt) {
  using enum OperationKind;
  const std::string name(name_of(suspect.kind()));
  const auto become = [&](const std::string& what, OperationKind kind, const Attributes& attributes, bool is_same_code) {
    attempt(what, [&](AlteredPart& part) {
      Operation& operation = part.operation();
      operation.kind = kind;
      operation.inputs.resize(1);
      operation.attributes = attributes;
      if (is_same_code) part.set_output_quantization(suspect.input().quantization);
    });
  };
  const std::string missing = "the activation " + name + " is missing, or the values are those before it";
  become(missing, reshape, default_attributes(reshape), true);
  become(missing, requantize, RequantizeAttributes{}, false);
  for (const OperationKind other : {relu, relu6, relu_n1_to_1, hard_swish, logistic, tanh})
    if (other != suspect.kind())
      become("the activation " + name + " is another: " + std::string(name_of(other)), other, default_attributes(other), false);
  for (const double slope : {0.01, 0.1, 0.2, 0.25, 0.3, 0.5}) {
    const auto* const own = std::get_if<LeakyReluAttributes>(&suspect.operation().attributes);
    if (suspect.kind() == leaky_relu && own != nullptr && own->alpha == slope) continue;
    become("the activation " + name + " is another: leaky_relu of " + std::to_string(slope).substr(0, 4), leaky_relu,
           LeakyReluAttributes{slope}, false);
  }
}

// ---- zero points and scales of data

/// Tensors of codes that the operation reads or writes, and what they are called.
struct CodedTensor {
  std::string name;
  std::optional<std::size_t> position;  ///< of an input; absent: the output
  Quantization quantization;
  ElementType type;
  [[nodiscard]] bool is_centred() const {
    return std::ranges::all_of(quantization.zero_points, [](std::int64_t zero) { return zero == 0; });
  }
  void give(AlteredPart& part, const Quantization& other) const {
    if (position) part.set_quantization(*position, other);
    else part.set_output_quantization(other);
  }
};

std::vector<CodedTensor> coded_tensors(const Suspect& suspect) {
  std::vector<CodedTensor> all;
  const std::size_t data = suspect.data_positions().size();
  for (std::size_t i = 0; i < suspect.operation().inputs.size(); ++i) {
    if (!suspect.reads(i) || !is_integer(suspect.input(i).type) || !suspect.input(i).quantization.present()) continue;
    const bool is_weights = i == 1 && suspect.input(i).constant;
    if (suspect.input(i).constant && !is_weights) continue;
    all.push_back({is_weights ? "the weights"
                   : data > 1 ? "input " + std::to_string(i)
                              : "the data",
                   i, suspect.input(i).quantization, suspect.input(i).type});
  }
  if (is_integer(suspect.output().type) && suspect.output().quantization.present())
    all.push_back({"the output", std::nullopt, suspect.output().quantization, suspect.output().type});
  return all;
}

bool has_codes(const Suspect& suspect) { return !is_movement(suspect.kind()) && !coded_tensors(suspect).empty(); }

std::string joined_names(const std::vector<const CodedTensor*>& tensors) {
  std::string text;
  for (std::size_t i = 0; i < tensors.size(); ++i) text += (i == 0 ? "" : i + 1 == tensors.size() ? " and " : ", ") + tensors[i]->name;
  return text;
}

/// Where an activation bounds codes by the zero point that is ignored elsewhere.
std::optional<IntegerRange> own_clamp(const Suspect& suspect) {
  Operation operation = suspect.operation();
  const OutputBounds* const bounds = bounds_in(operation.attributes);
  const Quantization& output = suspect.output().quantization;
  if (bounds == nullptr || bounds->activation == Activation::none || !output.present()) return std::nullopt;
  IntegerRange range = range_of(suspect.output().type);
  const double step = output.scale();
  const auto code = [&](double real) { return std::clamp(nearest_integer(real / step) + output.zero_point(), range.min, range.max); };
  const Activation activation = bounds->activation;
  const IntegerRange bounded{code(activation == Activation::relu_n1_to_1 ? -1 : 0),
                             activation == Activation::relu ? range.max : code(activation == Activation::relu6 ? 6 : 1)};
  return bounded;
}

void ignore_zero_points(const Suspect& suspect, const TryMistake& attempt) {
  std::vector<CodedTensor> all = coded_tensors(suspect);
  std::erase_if(all, [](const CodedTensor& tensor) { return tensor.is_centred(); });
  constexpr std::size_t most = 4;
  if (all.size() > most) all.resize(most);
  const auto clamp = own_clamp(suspect);
  const bool padded = has_coded_padding(suspect) && suspect.reads(1);
  for (std::size_t chosen = 1; chosen < (std::size_t{1} << all.size()); ++chosen) {
    std::vector<const CodedTensor*> ignored;
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((chosen >> i & 1U) != 0) ignored.push_back(&all[i]);
    const std::string what = (ignored.size() == 1 ? "the zero point of " : "the zero points of ") + joined_names(ignored) +
                             (ignored.size() == 1 ? " is ignored" : " are ignored");
    const auto alter = [&](AlteredPart& part) {
      for (const CodedTensor* const tensor : ignored) {
        Quantization other = tensor->quantization;
        std::ranges::fill(other.zero_points, 0);
        tensor->give(part, other);
      }
    };
    attempt(what, alter);
    const bool of_data = std::ranges::any_of(ignored, [](const CodedTensor* tensor) { return tensor->position == 0; });
    const bool of_output = std::ranges::any_of(ignored, [](const CodedTensor* tensor) { return !tensor->position; });
    if (of_data && padded) {
      attempt(what + ", but in the padding", [&](AlteredPart& part) {
        alter(part);
        pad_before(suspect, part, padding_of(suspect), suspect.input().quantization.zero_point());
      });
    }
    if (of_output && clamp) {
      attempt(what + ", but in the activation", [&](AlteredPart& part) {
        alter(part);
        OutputBounds& bounds = *bounds_in(part.operation().attributes);
        bounds.activation = Activation::none;
        bounds.clamp = clamp;
      });
    }
  }
}

void take_other_zero_points(const Suspect& suspect, const TryMistake& attempt) {
  const std::vector<CodedTensor> all = coded_tensors(suspect);
  const auto try_other = [&](const CodedTensor& tensor, std::int64_t zero_point, const std::string& whose) {
    const IntegerRange range = range_of(tensor.type);
    if (zero_point < range.min || zero_point > range.max || zero_point == tensor.quantization.zero_point()) return;
    Quantization other = tensor.quantization;
    other.zero_points.assign(std::max<std::size_t>(1, other.zero_points.size()), zero_point);
    attempt("the zero point of " + tensor.name + " is " + std::to_string(zero_point) + ", " + whose,
            [&](AlteredPart& part) { tensor.give(part, other); });
  };
  for (const CodedTensor& tensor : all) {
    for (const std::int64_t offset : {128, -128})
      try_other(tensor, tensor.quantization.zero_point() + offset, "of codes with the other sign");
    for (const CodedTensor& other : all) try_other(tensor, other.quantization.zero_point(), "that of " + other.name);
  }
}

/// Elementwise sums, products and joined tensors: operands in each other's scale, exchanged, or left out.
void exchange_scales(const Suspect& suspect, const TryMistake& attempt) {
  const std::vector<CodedTensor> all = coded_tensors(suspect);
  for (const CodedTensor& tensor : all) {
    for (const CodedTensor& other : all) {
      const bool of_weights = (tensor.name == "the weights") || (other.name == "the weights");
      if (of_weights || tensor.type != other.type || tensor.quantization == other.quantization) continue;
      attempt(tensor.name + " has the scale of " + other.name, [&](AlteredPart& part) { tensor.give(part, other.quantization); });
    }
  }
  std::vector<const CodedTensor*> inputs;
  for (const CodedTensor& tensor : all)
    if (tensor.position && tensor.name != "the weights") inputs.push_back(&tensor);
  if (inputs.size() < 2) return;
  for (const CodedTensor& other : all) {
    attempt(other.position == 0 ? "every input is rescaled by the first one's scale" : "every input has the scale of " + other.name,
            [&](AlteredPart& part) {
              for (const CodedTensor* const input : inputs) input->give(part, other.quantization);
            });
  }
  attempt("the inputs are not rescaled: their codes are taken as they are", [&](AlteredPart& part) {
    for (const CodedTensor* const input : inputs) input->give(part, inputs[0]->quantization);
    part.set_output_quantization(inputs[0]->quantization);
  });
}

// ---- operands

bool has_operands(const Suspect& suspect) {
  using enum OperationKind;
  const OperationKind kind = suspect.kind();
  const bool joins = kind == add || kind == sub || kind == mul || kind == OperationKind::div || kind == concat || kind == maximum ||
                     kind == minimum || kind == add_n;
  return joins && suspect.operation().inputs.size() > 1;
}

void exchange_operands(const Suspect& suspect, const TryMistake& attempt) {
  const std::size_t count = suspect.operation().inputs.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  constexpr std::size_t all_orders = 4;
  const auto try_order = [&](const std::vector<std::size_t>& from) {
    attempt("the operands are exchanged", [&](AlteredPart& part) {
      for (std::size_t i = 0; i < count; ++i) part.operation().inputs[i] = suspect.operation().inputs[from[i]];
    });
    attempt("the operands are exchanged, their scales are not", [&](AlteredPart& part) {
      for (std::size_t i = 0; i < count; ++i) part.operation().inputs[i] = suspect.operation().inputs[from[i]];
      for (std::size_t i = 0; i < count; ++i) part.set_quantization(i, suspect.input(i).quantization);
    });
  };
  if (count <= all_orders) {
    while (std::ranges::next_permutation(order).found) try_order(order);
    return;
  }
  std::ranges::reverse(order);
  try_order(order);
}

bool joins_codes(const Suspect& suspect) { return has_operands(suspect) && is_integer(suspect.output().type); }

void leave_out_operand(const Suspect& suspect, const TryMistake& attempt) {
  for (const std::size_t position : suspect.data_positions()) {
    const ModelTensor& left_out = suspect.input(position);
    if (!is_integer(left_out.type)) continue;
    for (const std::int64_t code : {left_out.quantization.zero_point(), std::int64_t{0}}) {
      Tensor constant(left_out.type, left_out.shape);
      constant = with_codes(constant, std::vector<std::int64_t>(static_cast<std::size_t>(constant.element_count()), code));
      attempt("input " + std::to_string(position) + " is missing", [&](AlteredPart& part) {
        const std::int32_t other = part.add_constant("nothing", constant);
        part.model.tensors[static_cast<std::size_t>(other)].quantization = left_out.quantization;
        part.operation().inputs[position] = other;
      });
    }
  }
}

// ---- memory

Shape channels_first(const Shape& shape) { return {shape[0], shape[3], shape[1], shape[2]}; }

bool is_image(const Shape& shape) { return shape.rank() == 4 && shape[3] > 1 && shape[1] * shape[2] > 1; }

bool reads_images(const Suspect& suspect) {
  const auto data = suspect.data_positions();
  return !is_movement(suspect.kind()) && std::ranges::any_of(data, [&](std::size_t at) { return is_image(suspect.input(at).shape); });
}

void misread_memory(const Suspect& suspect, const TryMistake& attempt) {
  using enum OperationKind;
  for (const std::size_t position : suspect.data_positions()) {
    const ModelTensor& tensor = suspect.input(position);
    if (!is_image(tensor.shape)) continue;
    const std::string what = "the memory of '" + tensor.name + "' is read as it lies: ";
    attempt(what + "[channel][place] as [place][channel]", [&](AlteredPart& part) {
      part.move_input(position, transpose, TransposeAttributes{{0, 3, 1, 2}}, channels_first(tensor.shape));
      part.move_input(position, reshape, default_attributes(reshape), tensor.shape);
    });
    attempt(what + "[place][channel] as [channel][place]", [&](AlteredPart& part) {
      part.move_input(position, reshape, default_attributes(reshape), channels_first(tensor.shape));
      part.move_input(position, transpose, TransposeAttributes{{0, 2, 3, 1}}, tensor.shape);
    });
    if (tensor.shape[1] == 1 || tensor.shape[2] == 1) continue;
    const Shape turned{tensor.shape[0], tensor.shape[2], tensor.shape[1], tensor.shape[3]};
    attempt(what + "rows as columns", [&](AlteredPart& part) {
      part.move_input(position, transpose, TransposeAttributes{{0, 2, 1, 3}}, turned);
      if (turned != tensor.shape) part.move_input(position, reshape, default_attributes(reshape), tensor.shape);
    });
  }
}

bool joins_tensors(const Suspect& suspect) { return suspect.kind() == OperationKind::concat; }

void misplace_joined(const Suspect& suspect, const TryMistake& attempt) {
  const Shape& out = suspect.output().shape;
  attempt("the joined tensors lie one behind the other in memory, whatever the axis", [&](AlteredPart& part) {
    for (std::size_t i = 0; i < suspect.operation().inputs.size(); ++i)
      part.move_input(i, OperationKind::reshape, default_attributes(OperationKind::reshape), {1, suspect.input(i).shape.element_count()});
    std::get<ConcatAttributes>(part.operation().attributes).axis = 1;
    part.move_output(OperationKind::reshape, default_attributes(OperationKind::reshape), {1, out.element_count()});
  });
  if (!is_image(out)) return;
  attempt("the joined tensor's memory is [channel][place] and read as [place][channel]", [&](AlteredPart& part) {
    part.move_output(OperationKind::transpose, TransposeAttributes{{0, 3, 1, 2}}, out);
    part.move_output(OperationKind::reshape, default_attributes(OperationKind::reshape), channels_first(out));
  });
}

bool is_read_as_it_lies(const Suspect& suspect) { return meant_by(suspect.model(), suspect.operation()).has_value(); }

void read_what_is_meant(const Suspect& suspect, const TryMistake& attempt) {
  const std::int32_t meant = *meant_by(suspect.model(), suspect.operation());
  attempt("'" + suspect.model().tensor(meant).name + "' is read as the network means it, not as its memory lies",
          [&](AlteredPart& part) { read_as_meant(part.operation(), meant); });
}

constexpr Mistake data_mistakes[] = {
    {"activation", ends_in_activation, change_fused_activation},
    {"activation", is_activation_alone, change_activation},
    {"zero_points_ignored", has_codes, ignore_zero_points},
    {"zero_point_of_another", has_codes, take_other_zero_points},
    {"operands_exchanged", has_operands, exchange_operands},
    {"scale_of_another", has_codes, exchange_scales},
    {"operand_missing", joins_codes, leave_out_operand},
    {"memory_order", reads_images, misread_memory},
    {"memory_order", joins_tensors, misplace_joined},
    {"memory_order", is_read_as_it_lies, read_what_is_meant},
};

}  // namespace

std::span<const Mistake> mistakes_of_data() { return data_mistakes; }

}  // namespace lastbit
