// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/certify.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "analysis/certify/both_sides.hpp"
#include "analysis/certify/certifier.hpp"
#include "analysis/certify/every_code.hpp"
#include "analysis/certify/layer_assumptions.hpp"
#include "analysis/certify/network_bounds.hpp"
#include "analysis/certify/shared_sums.hpp"
#include "analysis/rules_checksum.hpp"
#include "engine/finisher.hpp"
#include "engine/parallel.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/recording.hpp"
#include "lastbit/version.hpp"
#include "model/checksum.hpp"

namespace lastbit {
namespace {

/// Of the accumulators that differ, so many are tried for an input that reaches one.
constexpr int most_attempts = 200;

/// The input on both sides; nothing where no output differs.
std::optional<ShownDifference> shown_by(const LayerOnBoth& layer, std::vector<Tensor> inputs) {
  const std::vector<std::int64_t> a = computed(layer.a, inputs), b = computed(layer.b, inputs);
  const auto [at_a, at_b] = std::ranges::mismatch(a, b);
  if (at_a == a.end()) return std::nullopt;
  ShownDifference shown{std::move(inputs), at_a - a.begin(), *at_a, *at_b, {}};
  const Model alone = extract_operation(layer.a.model(), layer.index);
  SpecSheet sheet_a = layer.a.sheet, sheet_b = layer.b.sheet;
  for (SpecSheet* const sheet : {&sheet_a, &sheet_b}) sheet->backend.elsewhere = {};
  shown.cause = summary(explain(alone, shown.inputs, sheet_a, sheet_b));
  return shown;
}

std::optional<ShownDifference> show_sums(const LayerOnBoth& layer, const SharedSums& sums, const std::vector<ColumnDifference>& columns) {
  int attempts = 0;
  for (std::size_t c = 0; c < columns.size() && sums.input_for; ++c) {
    for (const IntegerRange& range : columns[c].same.where) {
      if (++attempts > most_attempts) return std::nullopt;
      auto inputs = sums.input_for(sums.columns[c], range.min);
      if (!inputs) continue;
      if (auto shown = shown_by(layer, std::move(*inputs))) return shown;
    }
  }
  return std::nullopt;
}

/// The row's codes along the axes that a mean takes together, everywhere else again.
Tensor with_rows(const ModelTensor& tensor, const MeanAttributes& attributes, std::span<const std::int64_t> row) {
  const auto rank = static_cast<std::int64_t>(tensor.shape.rank());
  std::vector<std::int64_t> stride(tensor.shape.rank(), 0);
  std::int64_t along = 1;
  for (std::int64_t axis = rank; axis-- > 0;) {
    const bool is_reduced =
        std::ranges::any_of(attributes.axes, [&](std::int64_t each) { return (each < 0 ? each + rank : each) == axis; });
    if (!is_reduced) continue;
    stride[static_cast<std::size_t>(axis)] = along;
    along *= tensor.shape[static_cast<std::size_t>(axis)];
  }
  std::vector<std::int64_t> codes(static_cast<std::size_t>(tensor.shape.element_count()));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::int64_t at = 0, rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = tensor.shape.rank(); axis-- > 0; rest /= tensor.shape[axis]) at += rest % tensor.shape[axis] * stride[axis];
    codes[i] = row[static_cast<std::size_t>(at)];
  }
  Tensor filled(tensor.type, tensor.shape);
  store(codes, filled);
  return filled;
}

std::optional<ShownDifference> show_codes(const LayerOnBoth& layer, const EveryCode& found) {
  const auto first = static_cast<std::size_t>(std::ranges::mismatch(found.a, found.b).in1 - found.a.begin());
  const std::vector<std::int64_t> codes = found.codes(first);
  if (found.by == DecidedBy::window_sums) {
    const ModelTensor& input = layer.a.model().tensor(layer.operation().inputs[0]);
    return shown_by(layer, {with_rows(input, std::get<MeanAttributes>(layer.operation().attributes), codes)});
  }
  std::vector<Tensor> inputs;
  std::vector<std::int32_t> known;
  for (const std::int32_t index : layer.operation().inputs) {
    if (index == absent_tensor || std::ranges::find(known, index) != known.end()) continue;
    known.push_back(index);
    const ModelTensor& tensor = layer.a.model().tensor(index);
    if (tensor.constant) continue;
    const std::vector<std::int64_t> everywhere(static_cast<std::size_t>(tensor.shape.element_count()), codes[inputs.size()]);
    store(everywhere, inputs.emplace_back(tensor.type, tensor.shape));
  }
  return shown_by(layer, std::move(inputs));
}

bool is_window(OperationKind kind) { return kind == OperationKind::average_pool2d || kind == OperationKind::global_average_pool; }

std::vector<ColumnDifference> column_differences(const SharedSums& sums, std::int64_t inputs_apart) {
  std::vector<ColumnDifference> found(sums.columns.size());
  for_each_part(std::ssize(found), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
      found[i] = difference(sums, sums.columns[i], inputs_apart);
  });
  return found;
}

void go_through(const SharedSums& sums, std::int64_t inputs_apart, LayerDifferences& found) {
  found.open = sums.open;
  if (!found.open.empty()) return;
  found.columns = column_differences(sums, inputs_apart);
  for (const ColumnDifference& column : found.columns) {
    if (column.same.accumulators == 0) found.open = "the way behind its sums has too many steps to be listed";
    found.cases += column.same.accumulators;
    found.differing += column.same.differing;
    found.largest = std::max(found.largest, column.same.largest);
  }
  if (found.open.empty()) found.by = DecidedBy::accumulators;
}

void go_through_codes(const LayerOnBoth& layer, LayerDifferences& found) {
  found.codes = compare_every_code(layer);
  found.open = found.codes ? found.codes->open : "for this operation there is no exact way yet";
  if (!found.open.empty()) return;
  found.by = found.codes->by;
  found.cases = std::ssize(found.codes->a);
  for (std::size_t i = 0; i < found.codes->a.size(); ++i) {
    found.differing += found.codes->a[i] != found.codes->b[i] ? 1 : 0;
    found.largest = std::max(found.largest, std::abs(found.codes->a[i] - found.codes->b[i]));
  }
}

/// By how much the layer's outputs can differ where its inputs do.
std::int64_t largest_apart(const LayerOnBoth& layer, const LayerDifferences& found, const NetworkBounds& bounds) {
  if (found.codes) return largest_difference(*found.codes, bounds.of_each(layer.a.model(), layer.operation()));
  std::int64_t apart = 0;
  for (const ColumnDifference& column : found.columns) apart = std::max(apart, column.largest);
  return apart;
}

LayerCertificate certificate_of(const LayerOnBoth& layer, const std::optional<SharedSums>& sums, const LayerDifferences& found) {
  if (!found.open.empty()) return {.open = found.open};
  LayerCertificate certificate{.by = found.by, .cases = found.cases, .differing = found.differing, .largest = found.largest};
  for (std::size_t c = 0; c < found.columns.size(); ++c)
    certificate.channels.push_back({sums->columns[c].accumulators, found.columns[c].same.differing, found.columns[c].same.largest});
  if (found.differing > 0) certificate.shown = found.codes ? show_codes(layer, *found.codes) : show_sums(layer, *sums, found.columns);
  return certificate;
}

LayerCertificate judge(const LayerOnBoth& layer, const std::optional<SharedSums>& sums, const NetworkBounds& bounds) {
  const std::optional<std::int64_t> inputs_apart = bounds.of_inputs(layer.operation());
  const bool same_rules = have_same_rules(layer);
  LayerCertificate certificate;
  std::optional<std::int64_t> apart;
  if (same_rules && inputs_apart == 0 && !layer.is_real()) {
    apart = 0;  // nothing has to be gone through
  } else {
    const LayerDifferences found = differences_of(layer, sums, inputs_apart.value_or(INT64_MAX));
    if (found.open.empty()) apart = largest_apart(layer, found, bounds);
    if (!same_rules) certificate = certificate_of(layer, sums, found);
  }
  if (same_rules) certificate = {.by = DecidedBy::same_rules};
  certificate.in_network = bounds.behind(layer, same_rules, apart);
  return certificate;
}

}  // namespace

bool is_on_codes(const LayerOnBoth& layer) { return !layer.is_real(); }

std::optional<SharedSums> shared_sums_of(const LayerOnBoth& layer) {
  if (is_on_codes(layer) && is_conv_layer(layer.operation().kind)) return convolution_sums_of(layer);
  if (is_on_codes(layer) && is_window(layer.operation().kind)) return window_sums_of(layer);
  return std::nullopt;
}

LayerCertificate certified(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
  LayerCertificate one;
  if (have_same_rules(layer)) one.by = DecidedBy::same_rules;
  else one = certificate_of(layer, sums, differences_of(layer, sums));
  one.operation = layer.index;
  one.name = layer_name(layer.a.model(), layer.index);
  one.kind = std::string(name_of(layer.operation().kind));
  return one;
}

std::array<IntegerRange, 2> ranges_behind(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
  const auto behind = [](const LayerSide& side, const TensorRanges& ranges, const std::optional<IntegerRange>& of_sums) {
    return of_sums ? *of_sums : range_after(side.model(), side.operation, side.backend(), ranges);
  };
  return {behind(layer.a, layer.ranges, sums ? sums->outputs_a : std::nullopt),
          behind(layer.b, layer.ranges_b, sums ? sums->outputs_b : std::nullopt)};
}

std::optional<std::array<Staircase, 2>> staircases(const SharedSums& sums, const SharedSums::Column& column) {
  const IntegerRange of_b = column.accumulators_b.value_or(column.accumulators);
  auto a = staircase(sums.a, column.a, column.accumulators), b = staircase(sums.b, column.b, of_b);
  if (!a || !b) return std::nullopt;
  b->accumulators = column.accumulators;
  for (StaircaseStep& step : b->steps) step.first = column.accumulators.min + (step.first - of_b.min);
  return std::array{*std::move(a), *std::move(b)};
}

ColumnDifference difference(const SharedSums& sums, const SharedSums::Column& column, std::int64_t inputs_apart) {
  ColumnDifference found;
  const std::int64_t apart = narrow_saturate(Int128{column.gain} * inputs_apart, 64);
  if (sums.a.empty() && sums.b.empty()) {
    found.same.accumulators = column.accumulators.max - column.accumulators.min + 1;
    found.largest = apart;
  } else if (const auto both = staircases(sums, column)) {
    const auto& [a, b] = *both;
    found.same = difference(a, b);
    found.largest = apart == 0 ? found.same.largest : largest_difference(a, b, apart);
  }
  return found;
}

LayerDifferences differences_of(const LayerOnBoth& layer, const std::optional<SharedSums>& sums, std::int64_t inputs_apart) {
  LayerDifferences found;
  if (layer.is_real()) found.open = "one side computes in real numbers, or what goes in and out is converted by other rules";
  else if (sums) go_through(*sums, inputs_apart, found);
  else go_through_codes(layer, found);
  return found;
}

std::string_view name_of(DecidedBy decision) {
  constexpr std::array<std::string_view, 6> names{"same_rules", "accumulators", "codes", "pairs", "window_sums", "nothing"};
  return names[static_cast<std::size_t>(decision)];
}

std::string_view name_of(BoundBy bound) {
  constexpr std::array<std::string_view, 4> names{"exact", "intervals", "type", "nothing"};
  return names[static_cast<std::size_t>(bound)];
}

std::int64_t LayerCertificate::equal_channels() const {
  return std::ranges::count_if(channels, [](const CertifiedChannel& channel) { return channel.differing == 0; });
}

bool Certificate::equal() const {
  return !layers.empty() && std::ranges::all_of(layers, [](const LayerCertificate& layer) { return layer.equal(); });
}

std::vector<SharedAssumption> Certificate::assumptions() const {
  std::vector<std::vector<BackendAssumption>> of_layers;
  for (const LayerCertificate& layer : layers) of_layers.push_back(layer.assumptions);
  return shared_assumptions(of_layers);
}

std::int64_t Certificate::open() const {
  return std::ranges::count_if(layers, [](const LayerCertificate& layer) { return layer.is_open(); });
}

Certifier::Certifier(const Model& model, const SpecSheet& a, const SpecSheet& b, std::span<const Tensor> inputs,
                     const CertifyOptions& options)
    : model_(model), a_(a), b_(b), emulator_a_(model, a.backend), emulator_b_(model, b.backend), options_(options) {
  if (options.range == InputRange::data && inputs.empty())
    throw Error(ErrorCode::bad_input, "certify", "the range of the data needs inputs");
  ranges_ = ranges_by_type(emulator_a_.model());
  if (options.range == InputRange::type) return;
  for (const Emulator* const emulator : {&emulator_a_, &emulator_b_}) {
    const TensorRanges seen = ranges_on(emulator->model(), emulator->run(inputs, {.threads = options.threads, .keep_all = true}));
    for (std::size_t t = 0; t < seen.size(); ++t)
      ranges_[t] =
          emulator == &emulator_a_ ? seen[t] : IntegerRange{std::min(ranges_[t].min, seen[t].min), std::max(ranges_[t].max, seen[t].max)};
  }
}

LayerSide Certifier::side(const Emulator& emulator, const SpecSheet& sheet, std::size_t operation) const {
  const Placement* const placement = emulator.placement(operation);
  return {emulator, emulator.model().operations[operation], placement != nullptr ? placement->sheet : sheet, sheet};
}

void Certifier::each(const std::function<void(const LayerOnBoth&, const std::optional<SharedSums>&)>& visit) {
  const OperationRange asked = operations_called(model_, options_.layer, "certify");
  for (std::size_t i = 0; i < model_.operations.size(); ++i) {
    if (options_.on_progress) options_.on_progress(i, model_.operations.size());
    const LayerOnBoth layer{i, side(emulator_a_, a_, i), side(emulator_b_, b_, i), ranges_, ranges_};
    const std::optional<SharedSums> sums = shared_sums_of(layer);
    if (asked.holds(i)) visit(layer, sums);
    if (options_.range == InputRange::type && is_on_codes(layer)) spread(layer, sums);
  }
}

void Certifier::spread(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
  const auto [a, b] = ranges_behind(layer, sums);
  put_range(layer.operation(), {std::min(a.min, b.min), std::max(a.max, b.max)}, ranges_);
}

std::string data_checksum(std::span<const Tensor> inputs) {
  Checksum sum;
  for (const Tensor& input : inputs) {
    sum.add(std::string(name_of(input.type())));
    sum.add(input.shape().text());
    sum.add(input.bytes());
  }
  return sum.text();
}

namespace {

/// All but the layers.
Certificate headed(const Model& model, const SpecSheet& a, const SpecSheet& b, std::span<const Tensor> inputs,
                   const CertifyOptions& options) {
  Certificate certificate{.model = options.called.empty() ? model.name : options.called,
                          .a = a.name,
                          .b = b.name,
                          .range = options.range,
                          .version = std::string(version()),
                          .model_checksum = model_checksum(model),
                          .rules_a = rules_checksum(a),
                          .rules_b = rules_checksum(b),
                          .layers = {},
                          .outputs = {}};
  for (const SpecSheet* const side : {&a, &b})
    for (std::string& line : computed_elsewhere(model, *side)) certificate.elsewhere.push_back(std::move(line));
  if (options.range == InputRange::data) certificate.data = data_checksum(inputs);
  if (options.layer) certificate.only = operation_called(model, *options.layer, "certify");
  return certificate;
}

}  // namespace

Certificate certify_layers(const Model& model, const SpecSheet& a, const SpecSheet& b, std::span<const Tensor> inputs,
                           const CertifyOptions& options, const VisitCertificate& judged) {
  Certifier certifier(model, a, b, inputs, options);
  Certificate certificate = headed(model, a, b, inputs, options);
  NetworkBounds bounds(model);
  LayerAssumptions assumed;
  with_threads(options.threads, [&] {
    certifier.each([&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      LayerCertificate& one = certificate.layers.emplace_back(judge(layer, sums, bounds));
      one.operation = layer.index;
      one.name = layer_name(model, layer.index);
      one.kind = std::string(name_of(layer.operation().kind));
      if (!one.is_open()) one.assumptions = assumed.of(layer);
      bounds.put(layer.operation(), one.in_network);
      judged(layer, sums, one);
    });
  });
  if (options.layer) return certificate;
  for (const std::int32_t output : model.outputs) certificate.outputs.emplace_back(model.tensor(output).name, bounds.of_tensor(output));
  return certificate;
}

Certificate certify(const Model& model, const Device& a, const Device& b, std::span<const Tensor> inputs, const CertifyOptions& options) {
  return certify_layers(model, a, b, inputs, options, [](const LayerOnBoth&, const std::optional<SharedSums>&, LayerCertificate&) {});
}

}  // namespace lastbit
