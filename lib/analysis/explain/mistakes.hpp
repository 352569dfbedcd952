// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What whoever converted a network, or fed the device, may have got wrong, outside of its arithmetic. Each mistake is one re-run of a part of a
// network: its operation, its constants or its inputs altered, on the device's own rules.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/explain.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {

/// An operation of a part of a network, before anything is altered.
class Suspect {
 public:
  /// `inputs` as for Emulator::run; `fed`: which of them are the network's own. All outlive this.
  Suspect(const Model& model, std::size_t place, std::span<const Tensor> inputs, const std::vector<bool>& fed)
      : model_(model), place_(place), inputs_(inputs), fed_(fed) {}

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] const Operation& operation() const { return model_.operations[place_]; }
  [[nodiscard]] OperationKind kind() const { return operation().kind; }
  [[nodiscard]] bool ends_its_part() const { return place_ + 1 == model_.operations.size(); }
  [[nodiscard]] std::span<const Tensor> inputs() const { return inputs_; }
  [[nodiscard]] bool is_fed(std::size_t input) const { return fed_[input]; }

  [[nodiscard]] bool reads(std::size_t position) const {
    return position < operation().inputs.size() && operation().inputs[position] != absent_tensor;
  }
  [[nodiscard]] const ModelTensor& input(std::size_t position = 0) const { return model_.tensor(operation().inputs[position]); }
  [[nodiscard]] const ModelTensor& output() const { return model_.tensor(operation().outputs[0]); }
  /// An input's integers, if they are in the file.
  [[nodiscard]] const Tensor* codes(std::size_t position) const;
  /// Positions of the inputs that come at run time.
  [[nodiscard]] std::vector<std::size_t> data_positions() const;

 private:
  const Model& model_;
  std::size_t place_;
  std::span<const Tensor> inputs_;
  const std::vector<bool>& fed_;
};

/// The part with a mistake in it.
class AlteredPart {
 public:
  explicit AlteredPart(const Suspect& suspect) : model(suspect.model()), place_(suspect.place()) {}

  Model model;
  std::vector<Tensor> inputs;  ///< empty: they are as they were

  [[nodiscard]] Operation& operation() { return model.operations[place_]; }
  void set_values(std::size_t position, Tensor values) { input(position).constant = std::move(values); }
  /// Of an input, wherever data are only moved before it.
  void set_quantization(std::size_t position, const Quantization& quantization) { quantize(operation().inputs[position], quantization); }
  void set_output_quantization(const Quantization& quantization) { quantize(operation().outputs[0], quantization); }
  /// An operation that moves what the operation reads at this position.
  void move_input(std::size_t position, OperationKind kind, Attributes attributes, const Shape& shape,
                  std::vector<std::int32_t> more_inputs = {});
  /// The same behind the operation; the last of them writes what the operation wrote.
  void move_output(OperationKind kind, Attributes attributes, const Shape& shape);
  std::int32_t add_constant(const std::string& name, Tensor values);

 private:
  [[nodiscard]] ModelTensor& input(std::size_t position) { return model.tensors[static_cast<std::size_t>(operation().inputs[position])]; }
  void quantize(std::int32_t tensor, const Quantization& quantization);

  std::size_t place_;
};

/// Takes a clause that says what was got wrong, and what alters the part so.
using TryMistake = std::function<void(const std::string& what, const std::function<void(AlteredPart&)>& alter)>;

/// One kind of mistake: the operations in which it can be made, and every way to make it there.
struct Mistake {
  std::string_view name;  ///< "bias_missing"
  bool (*may_be_made)(const Suspect& suspect);
  void (*make)(const Suspect& suspect, const TryMistake& attempt);
};

/// Of the sums of products: bias, kernel, weights and their scales.
[[nodiscard]] std::span<const Mistake> mistakes_of_sums();
/// Of what stands around an image.
[[nodiscard]] std::span<const Mistake> mistakes_of_padding();
/// Of what an operation reads and writes: zero points, activations, memory, joined tensors.
[[nodiscard]] std::span<const Mistake> mistakes_of_data();
/// Of how the network's inputs were made.
[[nodiscard]] std::span<const Mistake> mistakes_of_inputs();

/// A convolution or pool of integers that pads.
[[nodiscard]] bool has_coded_padding(const Suspect& suspect);
[[nodiscard]] ResolvedPadding padding_of(const Suspect& suspect);
/// The padding as an operation of its own, of this code.
void pad_before(const Suspect& suspect, AlteredPart& part, const ResolvedPadding& size, std::int64_t code);

/// Every mistake that the part can hold, each in all of its operations before the next, with the part as it is then. `visit` returns false to end it.
void each_mistake(const Model& model, std::span<const Tensor> inputs, const std::vector<bool>& fed,
                  const std::function<bool(const NamedMistake& mistake, const AlteredPart& altered)>& visit);

/// The integers, brought into the tensor's type.
[[nodiscard]] Tensor with_codes(const Tensor& like, const std::vector<std::int64_t>& codes);
/// out[i] = values[from(i)].
[[nodiscard]] Tensor reordered(const Tensor& values, const std::function<std::int64_t(std::int64_t)>& from);
/// Half away from zero.
[[nodiscard]] std::int64_t nearest_integer(double value);

}  // namespace lastbit
