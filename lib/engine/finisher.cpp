// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/finisher.hpp"

#include <algorithm>

#include "engine/counted_parts.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t values_per_part = units_per_part(0.3);

/// Counts what a stage narrows by saturating, and by wrapping, too.
class CountingMachine : public ExactMachine {
 public:
  using ExactMachine::ExactMachine;
  bool narrow(int bits, Overflow overflow) {
    const Int128 before = at().value;
    ExactMachine::narrow(bits, overflow);
    if (at().value == before) return true;
    saturated_ += overflow == Overflow::saturate ? 1 : 0;
    wrapped_ += overflow == Overflow::wrap ? 1 : 0;
    return true;
  }
  bool add_and_narrow(auto&& addend, int bits, Overflow overflow) { return add(addend) && narrow(bits, overflow); }
  [[nodiscard]] std::int64_t saturated() const { return saturated_; }
  [[nodiscard]] std::int64_t wrapped() const { return wrapped_; }

 private:
  std::int64_t saturated_ = 0, wrapped_ = 0;
};

std::int64_t finish_counted(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands,
                            const kernels::FinishWork& work) {
  CountingMachine machine({accumulator, 0}, operands);
  for (const Stage& stage : chain) {
    const Int128 before = machine.at().value;
    run(stage, machine);
    if (facts_of(stage).keeps_low_bits(stage, before, operands)) ++*work.wrapped;
    if (facts_of(stage).bounds_output && machine.at().value != before) ++*work.moved_outputs;
  }
  *work.moved_stages += machine.saturated();
  *work.wrapped += machine.wrapped();
  return narrow_saturate(machine.at().value, 64);
}

std::int64_t sum_at(const kernels::FinishWork& work, std::size_t index) {
  const auto at = [&]<class T>() { return static_cast<std::int64_t>(static_cast<const T*>(work.sums)[index]); };
  switch (work.sum_type) {
    case ElementType::int8: return at.template operator()<std::int8_t>();
    case ElementType::uint8: return at.template operator()<std::uint8_t>();
    case ElementType::int16: return at.template operator()<std::int16_t>();
    case ElementType::uint16: return at.template operator()<std::uint16_t>();
    case ElementType::uint32: return at.template operator()<std::uint32_t>();
    case ElementType::int64: return at.template operator()<std::int64_t>();
    default: return at.template operator()<std::int32_t>();
  }
}

void put(const kernels::FinishWork& work, std::size_t index, std::int64_t value) {
  switch (work.out_size) {
    case 1: static_cast<std::int8_t*>(work.out)[index] = static_cast<std::int8_t>(value); break;
    case 2: static_cast<std::int16_t*>(work.out)[index] = static_cast<std::int16_t>(value); break;
    case 4: static_cast<std::int32_t*>(work.out)[index] = static_cast<std::int32_t>(value); break;
    default: static_cast<std::int64_t*>(work.out)[index] = value; break;
  }
}

template <class Sum>
kernels::FinishWork work_on(std::span<const Sum> sums, Tensor& output, std::size_t offset) {
  const std::size_t size = size_of(output.type());
  LASTBIT_ASSERT(is_integer(output.type()) && (offset + sums.size()) * size <= output.bytes().size());
  return {.sums = sums.data(),
          .sum_type = element_type_of<Sum>,
          .out = output.bytes().data() + offset * size,
          .out_size = size,
          .count = sums.size()};
}

}  // namespace

Finisher::Plans::Plans(const Chain& chain, std::span<const RescaleOperands> operands, const FinisherInput& input, std::size_t lanes)
    : plan(finish_plan(chain, operands, input, lanes)) {
  if (plan && plan->hides_wraps) counted = finish_plan(chain, operands, input, lanes, Wraps::seen);
}

Finisher::Finisher(const Chain& chain, std::vector<RescaleOperands> operands, const FinisherInput& input, const kernels::Path& path)
    : chain_(chain), channels_(operands.size()), path_(&path), plans_(chain, operands, input, path.finish_lanes), input_(input) {
  if (plans_.need_definition()) operands_ = std::move(operands);
}

Finisher::Finisher(const Chain& chain, std::vector<RescaleOperands> operands, int accumulator_bits, const kernels::Path& path)
    : chain_(chain),
      channels_(operands.size()),
      path_(&path),
      plans_(chain, operands, FinisherInput::of_width(accumulator_bits), path.finish_lanes),
      input_(FinisherInput::of_width(accumulator_bits)),
      has_32_bit_plans_(accumulator_bits > 32) {
  if (has_32_bit_plans_) plans_32_bit_ = Plans(chain, operands, FinisherInput::of_width(32), path.finish_lanes);
  if (plans_.need_definition() || (has_32_bit_plans_ && plans_32_bit_.need_definition())) operands_ = std::move(operands);
}

void Finisher::run_reference(const kernels::FinishWork& work) const {
  for (std::size_t i = 0, c = 0; i < work.count; ++i) {
    const std::int64_t sum = input_(sum_at(work, i));
    put(work, i, work.moved_outputs == nullptr ? finish(chain_, sum, operands_[c]) : finish_counted(chain_, sum, operands_[c], work));
    if (++c == operands_.size()) c = 0;
  }
}

void Finisher::run(const Plans& plans, kernels::FinishWork work, Events* events) const {
  if (events != nullptr) {
    events->outputs += static_cast<std::int64_t>(work.count);
    work.moved_outputs = &events->saturated_outputs;
    work.moved_stages = &events->saturated_stages;
    work.wrapped = &events->wrapped_stages;
  }
  if (const auto& plan = plans.of(events)) path_->finish(plan->plan, work);
  else run_reference(work);
}

void Finisher::operator()(std::span<std::int64_t> values, Events* events) const {
  run(plans_, {.sums = values.data(), .sum_type = ElementType::int64, .out = values.data(), .out_size = 8, .count = values.size()}, events);
}

void Finisher::operator()(std::span<const std::int32_t> sums, Tensor& output, std::size_t offset, Events* events) const {
  run(has_32_bit_plans_ ? plans_32_bit_ : plans_, work_on(sums, output, offset), events);
}

void Finisher::operator()(std::span<const std::int64_t> sums, Tensor& output, std::size_t offset, Events* events) const {
  run(plans_, work_on(sums, output, offset), events);
}

void Finisher::operator()(const void* codes, ElementType type, std::size_t count, void* out, std::size_t out_size, Events* events) const {
  run(plans_, {.sums = codes, .sum_type = type, .out = out, .out_size = out_size, .count = count}, events);
}

void Finisher::operator()(const Tensor& codes, Tensor& output, Events* events) const {
  const auto row = static_cast<std::int64_t>(channels_);
  const std::int64_t rows = codes.element_count() / row;
  const std::size_t in_size = size_of(codes.type()), out_size = size_of(output.type());
  for_each_counted_part(events, rows, std::max<std::int64_t>(1, values_per_part / row),
                        [&](std::int64_t first, std::int64_t last, Events* counted) {
                          const auto from = static_cast<std::size_t>(first * row);
                          (*this)(codes.bytes().data() + from * in_size, codes.type(), static_cast<std::size_t>((last - first) * row),
                                  output.bytes().data() + from * out_size, out_size, counted);
                        });
}

namespace {

template <class Value>
void store_values(std::span<const Value> values, Tensor& tensor, std::size_t offset) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto out = tensor.values<T>().subspan(offset, values.size());
      std::transform(values.begin(), values.end(), out.begin(), [](Value value) { return static_cast<T>(value); });
    }
  });
}

}  // namespace

void store(std::span<const std::int64_t> values, Tensor& tensor, std::size_t offset) { store_values(values, tensor, offset); }
void store(std::span<const std::int32_t> values, Tensor& tensor, std::size_t offset) { store_values(values, tensor, offset); }

}  // namespace lastbit
