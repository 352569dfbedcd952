// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the emulator promises besides the bits: batches, threads, kept samples, and what it refuses.
#include "lastbit/emulator.hpp"

#include <algorithm>

#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/interruption.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/paths.hpp"

namespace {

using namespace lastbit;

const Model& digits() {
  static const Model model = read_model(test::source_directory() / "examples/digits/model.json");
  return model;
}

const std::vector<Tensor>& images() {
  static const std::vector<Tensor> inputs{read_npy(test::source_directory() / "examples/digits/test_images.npy")};
  return inputs;
}

const Tensor& output_of(const Trace& trace) { return *trace.tensors[static_cast<std::size_t>(digits().outputs[0])]; }

}  // namespace

TEST_CASE("a measured run says of every operation how its sums were found, for any number of threads") {
  for (const int threads : {1, 3}) {
    const Trace trace = run(digits(), tflite_double, images(), {.threads = threads, .measure = true});
    REQUIRE(trace.costs.size() == digits().operations.size());
    const std::int64_t samples = images()[0].shape()[0];
    for (std::size_t i = 0; i < trace.costs.size(); ++i) {
      const Operation& operation = digits().operations[i];
      const SumRoutes& sums = trace.costs[i].sums;
      const bool multiplies = operation.kind == OperationKind::conv2d || operation.kind == OperationKind::depthwise_conv2d ||
                              operation.kind == OperationKind::fully_connected;
      CHECK(sums.proven_by_type == (multiplies ? samples * digits().tensor(operation.outputs[0]).shape.element_count() : 0));
      CHECK(sums.order_free + sums.proven_by_input + sums.proven_by_output + sums.step_by_step == 0);
      CHECK(trace.costs[i].seconds > 0);
    }
  }
  CHECK(run(digits(), tflite_double, images()).costs.empty());
}

TEST_CASE("a run in the memory of an earlier one gives the same bits") {
  const Emulator emulator(digits(), tflite_double);
  const Shape one = digits().tensor(digits().inputs[0]).shape;
  const auto pixels = images()[0].values<std::int8_t>();
  Trace recycled;
  for (std::size_t sample = 0; sample < 5; ++sample) {
    const auto size = static_cast<std::size_t>(one.element_count());
    const std::vector<Tensor> input{Tensor::from<std::int8_t>(one, pixels.subspan(sample * size, size))};
    const Trace fresh = emulator.run(input, {.keep_all = true});
    const auto before = recycled.tensors.empty() ? nullptr : output_of(recycled).bytes().data();
    recycled = emulator.run(input, {.keep_all = true}, std::move(recycled));
    CHECK(recycled.tensors == fresh.tensors);
    if (before != nullptr) CHECK(output_of(recycled).bytes().data() == before);
  }
}

TEST_CASE("a sample of a batch is the sample alone, for any number of threads") {
  const Trace batch = run(digits(), tflite_double, images(), {.threads = 1});
  CHECK(output_of(run(digits(), tflite_double, images(), {.threads = 3})) == output_of(batch));
  const Shape one = digits().tensor(digits().inputs[0]).shape;
  const auto last = images()[0].values<std::int8_t>().last(static_cast<std::size_t>(one.element_count()));
  const std::vector<Tensor> alone{Tensor::from<std::int8_t>(one, last)};
  const Trace single = run(digits(), tflite_double, alone);
  const auto want = output_of(batch).values<std::int8_t>().last(10);
  const auto got = output_of(single).values<std::int8_t>();
  CHECK(output_of(single).shape() == Shape{1, 10});
  CHECK(std::equal(want.begin(), want.end(), got.begin(), got.end()));
}

TEST_CASE("values that lie anywhere, a sample of which no kernel could load, give the bits of a tensor") {
  const auto bytes = images()[0].bytes();
  std::vector<std::byte> elsewhere(bytes.size() + 1);
  std::ranges::copy(bytes, elsewhere.begin() + 1);
  const auto look_at = [&](const Shape& shape, std::size_t size) {
    return std::vector<TensorView>{{ElementType::int8, shape, std::span(elsewhere).subspan(1, size)}};
  };
  const Emulator emulator(digits(), tflite_double);
  for (const int threads : {1, 3}) {
    const RunOptions how{.threads = threads, .keep_all = true};
    CHECK(emulator.run(look_at(images()[0].shape(), bytes.size()), how).tensors == emulator.run(images(), how).tensors);
  }
  const Shape one = digits().tensor(digits().inputs[0]).shape;
  const auto size = static_cast<std::size_t>(one.element_count());
  const std::vector<Tensor> first{Tensor::from<std::int8_t>(one, images()[0].values<std::int8_t>().first(size))};
  CHECK(emulator.run(look_at(one, size)).tensors == emulator.run(first).tensors);
}

TEST_CASE("whoever began a run may end it, between two operations and for all threads") {
  const Emulator emulator(digits(), tflite_double);
  struct Ended {};
  for (const int threads : {1, 3}) {
    int asked = 0;
    {
      const Interruptible interruptible([&] {
        if (++asked == 4) throw Ended{};
      });
      CHECK_THROWS_AS(emulator.run(images(), {.threads = threads}), Ended);
      CHECK(asked == 4);
      const Interruptible inner([] {});  // the innermost is asked
      CHECK_NOTHROW(emulator.run(images()));
    }
    CHECK_NOTHROW(emulator.run(images(), {.threads = threads}));
    CHECK(asked == 4);
  }
}

TEST_CASE("of a batch, everything is kept, or the first samples of what is no output") {
  const Trace all = run(digits(), tflite_double, images(), {.keep_all = true});
  const Trace some = run(digits(), tflite_double, images(), {.keep_all = true, .keep_samples = 3});
  CHECK(output_of(some) == output_of(all));
  for (std::size_t i = 0; i < all.tensors.size(); ++i) {
    if (!all.tensors[i] || static_cast<std::int32_t>(i) == digits().outputs[0]) continue;
    CHECK(all.tensors[i]->shape()[0] == images()[0].shape()[0]);
    CHECK(some.tensors[i]->shape()[0] == 3);
    const auto first = all.tensors[i]->bytes().first(some.tensors[i]->bytes().size());
    CHECK(std::equal(first.begin(), first.end(), some.tensors[i]->bytes().begin()));
  }
}

TEST_CASE("counting events changes no bit, and saturated outputs are counted") {
  const Trace quiet = run(digits(), vipnano_v8, images());
  const Trace counted = run(digits(), vipnano_v8, images(), {.count_events = true});
  CHECK(output_of(counted) == output_of(quiet));
  CHECK(quiet.events.empty());
  std::int64_t saturated = 0;
  for (const Events& events : counted.events) saturated += events.saturated_outputs;
  CHECK(saturated > 0);
}

TEST_CASE("inputs of different numbers of samples are refused, whichever has more") {
  ModelBuilder builder;
  const auto a = builder.input({"a", ElementType::int8, {1, 2}, {{0.5}, {0}}}),
             b = builder.input({"b", ElementType::int8, {1, 2}, {{0.5}, {0}}});
  const Model model = builder.finished(
      {builder.operation(OperationKind::add, {a, b}, {"y", ElementType::int8, {1, 2}, {{0.5}, {0}}}, ElementwiseAttributes{})});
  const Tensor two(ElementType::int8, {2, 1, 2}), three(ElementType::int8, {3, 1, 2}), one(ElementType::int8, {1, 2});
  CHECK_NOTHROW(run(model, tflite_double, std::vector{two, two}));
  for (const auto& inputs : {std::vector{two, three}, std::vector{three, two}, std::vector{two, one}, std::vector{one, two}})
    CHECK_THROWS_WITH(run(model, tflite_double, inputs), test::contains_text(", but "));
}

TEST_CASE("an average that does not rescale needs the output's scale, and by its rule the zero point, to be the input's") {
  const auto problems = [](double scale, std::int64_t zero_point, OutputScale rule = OutputScale::of_input) {
    Backend backend = tflite_double;
    backend.average_pool.output_scale = rule;
    ModelBuilder builder;
    const auto x = builder.input({"x", ElementType::int8, {1, 2, 2, 1}, {{0.5}, {3}}});
    const Pool2dAttributes attributes{{2, 2}, {2, 2}, {}, {}};
    const TensorDescription y{"y", ElementType::int8, {1, 1, 1, 1}, {{scale}, {zero_point}}};
    return check(builder.finished({builder.operation(OperationKind::average_pool2d, {x}, y, attributes)}), backend).size();
  };
  CHECK(problems(0.5, 3) == 0);
  CHECK(problems(0.5, 4) == 1);
  CHECK(problems(0.25, 3) == 1);
  CHECK(problems(0.5, 4, OutputScale::scale_of_input) == 0);
  CHECK(problems(0.25, 3, OutputScale::scale_of_input) == 1);
  CHECK(problems(0.25, 4, OutputScale::own) == 0);
}

TEST_CASE("an operation that a backend lacks is named before anything runs") {
  Backend backend = tflite_double;
  backend.average_pool = {};
  const auto problems = check(digits(), backend);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::unsupported_operation);
  CHECK_THAT(problems[0].text(), test::contains_text("average_pool2d"));
}

TEST_CASE("a layer that a backend lacks is called as in every report: by its output, not by the operation's own name") {
  test::Network network;
  const auto x = network.tensor("x", ElementType::int8, {4}, {{0.5}, {0}, 0}),
             nameless = network.tensor("", ElementType::int8, {4}, {{0.5}, {0}, 0}),
             z = network.tensor("z", ElementType::int8, {4}, {{0.5}, {0}, 0});
  network.operation(OperationKind::relu, {x}, {nameless});
  network.operation(OperationKind::relu, {nameless}, {z});
  Backend backend = tflite_double;
  backend.requantize = backend.relu = {};
  const auto problems = check(network.model, backend);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].where == "relu 'op0'");
  CHECK(problems[1].where == "relu 'z'");
}

TEST_CASE("an output chain without its clamp is refused instead of wrapping") {
  Backend backend = tflite_double;
  set_rule(backend, "conv.i8.output.chain.size", "4");
  const auto problems = check(digits(), backend);
  REQUIRE(!problems.empty());
  CHECK_THAT(problems[0].text(), test::contains_text("does not end in clamp"));
}
