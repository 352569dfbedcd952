// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which rules of a backend an operation of a model reads, and which of them are assumptions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// The member of ConvByType that a convolution-like operation reads ("i8"), whether the backend has it or not (conv_member_of).
[[nodiscard]] std::pair<std::string_view, const ConvArithmetic*> conv_arithmetic_of(const Model& model, const Operation& operation,
                                                                                    const ConvByType& by_type);

/// The member of MatmulByType that a product of two matrices reads ("i8"), whether the backend has it or not.
[[nodiscard]] std::pair<std::string_view, const MatmulArithmetic*> matmul_arithmetic_of(const Model& model, const Operation& operation,
                                                                                        const MatmulByType& by_type);

/// The member of DynamicByLayer that a hybrid layer reads ("conv"), whether the backend has it or not; nullptr for a kind that no rule is for.
[[nodiscard]] std::pair<std::string_view, const DynamicArithmetic*> dynamic_arithmetic_of(const Model& model, const Operation& operation,
                                                                                          const DynamicByLayer& by_layer);

/// The rules of add, sub or add_n.
[[nodiscard]] const AddArithmetic& add_arithmetic_of(const Operation& operation, const Backend& backend);

/// The member of AddArithmetic that a sum reads ("i8"), whether the backend has it or not, with nullptr for "in_float"; "left": of what is left.
[[nodiscard]] std::pair<std::string_view, const SumArithmetic*> sum_arithmetic_of(const Model& model, const Operation& operation,
                                                                                  const Backend& backend);

/// The rules that an average_pool2d or a global_average_pool reads.
[[nodiscard]] const AveragePoolArithmetic& average_pool_of(const Operation& operation, const Backend& backend);

/// The rules that a mean, a mul, a leaky_relu, a logistic, a tanh, a resize reads: where a delegate leaves the layer, those of what is left.
[[nodiscard]] const MeanArithmetic& mean_arithmetic_of(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] const RescaleRule& mul_of(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] const ResizeArithmetic& resize_of(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] const FunctionArithmetic& leaky_relu_of(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] const FunctionArithmetic& logistic_of(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] const FunctionArithmetic& tanh_of(const Model& model, const Operation& operation, const Backend& backend);

/// The rescaling that requantize, clip and relu, relu6, relu_n1_to_1 as operations of their own read.
[[nodiscard]] const RescaleRule& requantization_of(const Model& model, const Operation& operation, const Backend& backend);

/// The rule by which real values become integers. Throws Error(unsupported_operation) at `where` if the backend has none.
[[nodiscard]] const QuantizeArithmetic& quantization_by(const Backend& backend, const std::string& where);

/// Whether an operation on codes is computed in float32, between dequantize and quantize: by the rule `fusion` and how the file states it.
[[nodiscard]] bool computes_in_float32(const Operation& operation, const Backend& backend);

/// What the paths of the rules read by an operation begin with ("conv.i8"); empty for operations without arithmetic (pad, cast, …).
[[nodiscard]] std::string rule_prefix(const Model& model, const Operation& operation, const Backend& backend);

/// What the paths of every rule read by an operation begin with, rules of float16 and float32 data included; empty as above.
[[nodiscard]] std::vector<std::string> rule_prefixes(const Model& model, const Operation& operation, const Backend& backend);

/// Whether a layer is as an open point's condition says.
[[nodiscard]] bool is_met(LayerCondition condition, const Model& model, const Operation& operation);

/// A rule, or a group of them, whose evidence is an assumption, or of which the sheet has an open point.
struct Assumption {
  std::string rule;    ///< as the sheet's evidence or open point names it, or the rule's own path where the sheet says nothing of it
  std::string source;  ///< what the assumption goes by, or what is open
  friend bool operator==(const Assumption&, const Assumption&) = default;
};

/// Appends what is not yet there.
void add_once(std::vector<Assumption>& assumptions, const Assumption& assumption);

/// The assumptions that this operation rests on, each once: rules that it reads and no evidence but an assumption speaks for, then open points of such
/// rules whose condition it meets, but for those of another program.
[[nodiscard]] std::vector<Assumption> assumptions_of(const Model& model, const Operation& operation, const SpecSheet& sheet);

/// The assumptions that any operation of the model rests on, each once.
[[nodiscard]] std::vector<Assumption> assumptions_of(const Model& model, const SpecSheet& sheet);

}  // namespace lastbit
