// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a failing assertion says when it knows how its values were computed.
#include <sstream>

#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/testing.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace lastbit;
using namespace lastbit::test;
using lastbit::testing::Computation;
using lastbit::testing::exactly_equal_to;
using lastbit::testing::judge;
using lastbit::testing::within_lsb;

namespace {

Computation digits(const std::string& tensor, const SpecSheet& b = find_backend("vipnano_v8")) {
  Computation computation{.model = read_json_model(source_directory() / "examples/digits/model.json"),
                          .inputs = {read_npy(source_directory() / "examples/digits/test_images.npy")},
                          .a = find_backend("tflite_double"),
                          .b = b,
                          .tensor = tensor};
  computation.model_file = "digits/model.json";
  computation.input_files = {"digits/x.npy"};
  return computation;
}

Tensor computed(const Computation& how, const SpecSheet& sheet) {
  const Trace trace = run(how.model, sheet.backend, how.inputs, {.keep_all = true});
  return *trace.tensors[static_cast<std::size_t>(*how.model.find_tensor(how.tensor))];
}

std::string message(const Computation& how) {
  return judge(computed(how, how.b), exactly_equal_to(computed(how, how.a)).explained(how)).message();
}

}  // namespace

TEST_CASE("explained: index, both values, the stage that parts them, the command") {
  const std::string text = message(digits("conv1"));
  CHECK_THAT(text, contains_text("first at index 182 "));
  CHECK_THAT(text, contains_text("here tflite_double computes "));
  CHECK_THAT(text, contains_text("cause: first rounding: half_up -> none"));
  CHECK_THAT(text, contains_text("both from accumulator "));
  CHECK_THAT(text, contains_text("see it again: lastbit explain digits/model.json --a tflite_double --b vipnano_v8 --input digits/x.npy "
                                 "--layer 0 --top 1"));
}

TEST_CASE("explained: a value that only inherits its difference, and one that differs from neither") {
  const Computation how = digits("logits");
  const Tensor a = computed(how, how.a), b = computed(how, how.b);
  const std::string text = lastbit::testing::explanation(how, [&] {
    for (std::int64_t i = 0; i < a.element_count(); ++i)
      if (a.integer_at(i) != b.integer_at(i)) return i;
    return std::int64_t{-1};
  }());
  CHECK_THAT(
      text,
      contains_text(
          "inherited: on the same input both compute the same value; the first layer with a difference of its own is conv2d 'conv1'"));
  std::int64_t same = 0;
  while (a.integer_at(same) != b.integer_at(same)) ++same;
  CHECK_THAT(lastbit::testing::explanation(how, same), contains_text("the difference does not lie between the two"));
}

TEST_CASE("explained: settings are part of the command, and files are written where none are named") {
  SpecSheet narrow = find_backend("vipnano_v8");
  set_rule(narrow.backend, "conv.i8.accumulator.bits", "12");
  Computation how = digits("conv1", narrow);
  CHECK_THAT(message(how), contains_text("--b vipnano_v8 --set-b conv.i8.accumulator.bits=12 "));
  CHECK_THAT(message(how), contains_text("accumulator"));
  how.model_file.clear();
  const std::string text = message(how);
  const std::size_t start = text.find("lastbit explain ") + 16;
  const std::filesystem::path written = text.substr(start, text.find(' ', start) - start);
  CHECK(read_json_model(written).operations.size() == how.model.operations.size());
  CHECK(read_npy(written.parent_path() / "input_0.npy") == how.inputs[0]);
  std::filesystem::remove_all(written.parent_path());
}

TEST_CASE("explained: nothing is computed for a test that passes, and a failure survives a bad computation") {
  Computation how = digits("no such tensor");
  const Computation good = digits("conv1");
  const Tensor a = computed(good, good.a), b = computed(good, good.b);
  CHECK(judge(a, exactly_equal_to(a).explained(how)).message() == "every value is equal");
  CHECK(judge(b, within_lsb(1, 0.5).of(a).explained(how)).passed());
  const auto verdict = judge(b, exactly_equal_to(a).explained(how));
  CHECK_FALSE(verdict.passed());
  CHECK_THAT(verdict.message(), contains_text("cannot be explained: explained: no tensor 'no such tensor'"));
  std::ostringstream out;
  out << verdict;
  CHECK(out.str() == verdict.message());
}
