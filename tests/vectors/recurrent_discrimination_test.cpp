// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Are the two recorded networks that remember strong enough? Any other value of any rule that svdf and lstm read must change a recorded
// tensor, or be listed with the reason why none tells.
#include <algorithm>
#include <filesystem>

#include "lastbit/emulator.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/rule_changes.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;
namespace fs = std::filesystem;

struct Exception {
  Texts rules;   ///< `*` stands for any text
  Texts values;  ///< likewise
  std::string reason;
};

const Texts any{"*"};
const std::vector<Exception> exceptions{
    {{"*_i16.*"}, any, "neither network has such data; the unit tests calculate them a second time"},
    // Equal for every input.
    {{"*.accumulator.when"}, {"at_end"}, "sums modulo 2^bits do not depend on when they are narrowed"},
    {{"*.bias"}, any, "nor on when the bias joins them"},
    {{"*chain.size"}, {"6", "7"}, "the stage added is a clamp after a clamp, or after what already fits"},
    {{"lstm.*.chain.3.kind"}, {"relu", "clamp"}, "the zero points are 0, so that the stage before the clamp does nothing"},
    {{"lstm.*.chain.2.kind"}, {"shift_right_with_zero_point"}, "nor matters when they are added"},
    {{"*.normalization"}, {"layer"}, "one scale per layer: its own exponent is the layer's"},
    {{"*.partial.method"}, any, "partial sums modulo 2^32 change no sum modulo 2^32"},
    {{"*.kind"},
     {"clamp_accumulator", "clamp_to_type", "add_offset", "add_converter_offset", "multiply_by_converter", "scale_below_zero",
      "shift_right_by_sign", "segments"},
     "no layer clips its accumulators or states registers, and none has an activation within other bounds"},
    {{"*.kind"}, {"absolute"}, "no layer's activation is the magnitude"},
    {{"*.kind"}, {"divide"}, "nothing is counted: a division by 1"},
    {{"*.by"}, {"float(in*weight)/out"}, "no result is so near to another that the rounding of the scales' product would show"},
    {{"*.by"}, {"first_in*", "larger_in*"}, "one operand: its scale is the first one and the largest"},
    {{"*.chain.0.kind"}, {"shift_left_by"}, "its constant is 0: a shift by nothing, and no multiplier is 1 or more"},
    // Different, but the recordings never ask.
    {{"*.partial.method"}, {"consecutive_terms"}, "no two neighbouring products leave 32 bits"},
    {{"*.row_multiplier"}, {"of_terms"}, "no layer has multipliers"},
    {{"svdf.activation", "svdf.output.*chain.3.kind"}, any, "every output lies at a bound, where its zero point is too"},
    {{"svdf.output.*"}, any, "every output lies at a bound: how it is rescaled does not show"},
    {{"*.accumulator.bits", "*.accumulator.overflow"}, {"31", "33", "exact", "saturate"}, "no sum needs all 32 bits"},
    {{"*.chain.0.*"},
     {"31", "33", "exact", "saturate", "relu", "narrow", "add_zero_point"},
     "no multiplier is 1 or more: nothing is shifted left"},
    {{"*.chain.2.amount"}, {"remaining"}, "nor would anything be shifted left here"},
    {{"*.min_exponent", "*.max_exponent"}, any, "no multiplier is so small or so large"},
    {{"*.scale.form"}, {"odd"}, "an exact product does not depend on where a multiplier's zeros stand"},
    {{"lstm.clip_rounding"}, any, "the clip lies beyond 16 bits"},
    {{"lstm.cell.scale.rounding"}, any, "the scales are powers of two: nothing to round"},
    // Different, and the recordings come near: no value happens to lie where it shows.
    {{"svdf.state_i8.scale.normalization", "lstm.cell.scale.normalization"},
     {"fixed_point"},
     "31 fraction bits of multipliers below 1 hold all that the results show"},
    {{"*.scale.arithmetic", "*.scale.rounding"}, any, "no result is so near to another that the last bits of a multiplier would show"},
    {{"*.gate_i8.*chain.1.rounding"}, {"half_*"}, "no value is a tie of the first rounding"},
    {{"svdf.state_i8.chain.1.rounding"}, {"half_*", "floor", "toward_zero", "to_odd"}, "few values; the unit tests tell"},
    {{"lstm.cell.chain.1.rounding", "lstm.output.chain.1.rounding"}, any, "the first rounding is 14 places below the result"},
    {{"*.chain.2.rounding"}, {"half_*"}, "no value is a tie of the second rounding"},
};

struct Recording {
  Model model;
  std::vector<Tensor> inputs;
  std::vector<std::pair<std::size_t, Tensor>> tensors;  ///< index in the model, the first samples
};

Recording recording_in(const fs::path& folder) {
  Recording recording{read_model(folder / "model.tflite"), {read_npy(folder / "input.npy")}, {}};
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("tensor_")) recording.tensors.emplace_back(std::stoul(name.substr(7)), read_npy(entry.path()));
  }
  return recording;
}

bool equal_on(const Recording& recording, const Backend& backend) {
  const Trace trace = run(recording.model, backend, recording.inputs, {.keep_all = true});
  return std::all_of(recording.tensors.begin(), recording.tensors.end(), [&](const auto& recorded) {
    const auto want = recorded.second.bytes();
    return std::equal(want.begin(), want.end(), trace.tensors.at(recorded.first)->bytes().begin());
  });
}

/// A change that the device's own checks refuse does not go unnoticed.
bool noticed(const Recording& recording, const Backend& backend) {
  return !check(recording.model, backend).empty() || !equal_on(recording, backend);
}

bool is_excepted(const std::string& rule, const std::string& value) {
  const auto fits = [](const Texts& patterns, const std::string& text) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return matches(pattern, text); });
  };
  return std::any_of(exceptions.begin(), exceptions.end(),
                     [&](const Exception& one) { return fits(one.rules, rule) && fits(one.values, value); });
}

void check_rules(const fs::path& folder, const std::string& operation) {
  const Recording recording = recording_in(folder);
  const Backend backend = find_backend("tflite_double").backend;
  REQUIRE(equal_on(recording, backend));
  std::size_t changes = 0;
  for (const RuleText& rule : list_rules(backend)) {
    if (!rule.path.starts_with(operation + ".") || is_absent_chain(rule)) continue;
    for (const std::string& value : candidates(rule.value)) {
      if (!accepts(backend, rule.path, value)) continue;
      Backend changed = backend;
      set_rule(changed, rule.path, value);
      INFO(rule.path << " = " << value << " instead of " << rule.value);
      const bool excepted = is_excepted(rule.path, value);
      CHECK((excepted || noticed(recording, changed)));
      if (!excepted) ++changes;
    }
  }
  CHECK(changes > 40);  // the exceptions leave something to notice
}

}  // namespace

TEST_CASE("the recorded networks notice any other value of the rules of svdf and lstm, or the reason is known") {
  const auto root = models_directory();
  if (!root) return;
  check_rules(*root / "keyword_scrambled_8bit_svdf", "svdf");
  check_rules(*root / "mnist_lstm_int8", "lstm");
}
