// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a run needs is known before it: never less than it allocates, and the limit holds before anything is allocated.
#include "lastbit/memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "differential/layer_maker.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "model/operation_signature.hpp"
#include "support/budget.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"

namespace {

std::atomic<std::int64_t> in_use{0}, peak{0};

void* counted(std::size_t bytes) {
  void* const block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  const std::int64_t now = in_use += static_cast<std::int64_t>(malloc_usable_size(block));
  std::int64_t before = peak;
  while (now > before && !peak.compare_exchange_weak(before, now)) {
  }
  return block;
}

void uncounted(void* block) noexcept {
  in_use -= static_cast<std::int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* block) noexcept { uncounted(block); }
void operator delete[](void* block) noexcept { uncounted(block); }
void operator delete(void* block, std::size_t) noexcept { uncounted(block); }
void operator delete[](void* block, std::size_t) noexcept { uncounted(block); }

namespace lastbit {
namespace {

using namespace lastbit::test;

/// Of the heap while the model is prepared and run, its constants and inputs included. In a thread of its own, which has kept nothing.
double bytes_used(const Model& model, const Backend& backend, const std::vector<Tensor>& inputs, const RunOptions& options) {
  double held = 0;
  for (const ModelTensor& tensor : model.tensors) held += tensor.constant ? static_cast<double>(tensor.constant->bytes().size()) : 0;
  for (const Tensor& input : inputs) held += static_cast<double>(input.bytes().size());
  std::int64_t used = 0;
  std::thread([&] {
    const std::int64_t before = in_use;
    peak = before;
    const Trace trace = run(model, backend, inputs, options);
    used = peak - before;
  }).join();
  return held + static_cast<double>(used);
}

/// The layer with its first axis so many times as long, or nothing where that is no layer.
std::optional<Model> enlarged(Model model, std::int64_t times) {
  for (ModelTensor& tensor : model.tensors) {
    if (tensor.constant) continue;
    if (tensor.shape.rank() == 0) return std::nullopt;
    std::vector<std::int64_t> sizes(tensor.shape.sizes().begin(), tensor.shape.sizes().end());
    sizes[0] *= times;
    tensor.shape = Shape(std::move(sizes));
  }
  try {
    validate(model, "enlarged");
  } catch (const Error&) {
    return std::nullopt;
  }
  return model;
}

std::vector<Tensor> zeros(const Model& model) {
  std::vector<Tensor> inputs;
  for (const std::int32_t input : model.inputs) inputs.emplace_back(model.tensor(input).type, model.tensor(input).shape);
  return inputs;
}

struct Kernel {
  OperationKind kind = OperationKind::conv2d;
  std::int64_t in = 0, out = 0, size = 0, dilation = 1;  ///< channels of the input and the output, rows and columns
};

/// A quantised image, a convolution that pads it to the same size, and one more that is 1x1.
Model convolutions(ElementType type, std::int64_t pixels, const Kernel& kernel) {
  const bool depthwise = kernel.kind == OperationKind::depthwise_conv2d;
  ModelBuilder builder("convolutions");
  const auto image = [&](const std::string& name, std::int64_t channels) {
    return TensorDescription{name, type, Shape({1, pixels, pixels, channels}), {{0.5}, {0}}};
  };
  const auto weights = [&](const std::string& name, const Shape& shape) {
    return builder.constant(name, shape, std::vector<std::int8_t>(static_cast<std::size_t>(shape.element_count()), 127), {{0.5}, {0}});
  };
  Conv2dAttributes attributes{.padding = {PaddingMode::same}};
  attributes.dilation = {kernel.dilation, kernel.dilation};
  const Shape shape =
      depthwise ? Shape({1, kernel.size, kernel.size, kernel.out}) : Shape({kernel.out, kernel.size, kernel.size, kernel.in});
  const std::int32_t input = builder.input(image("x", kernel.in)), first = weights("w", shape),
                     second = weights("v", Shape({8, 1, 1, kernel.out}));
  const std::int32_t between = builder.operation(kernel.kind, {input, first}, image("y", kernel.out), attributes);
  return builder.finished({builder.operation(OperationKind::conv2d, {between, second}, image("z", 8), Conv2dAttributes{})});
}

void check_need(const Model& model, const SpecSheet& sheet, const std::vector<Tensor>& inputs, const RunOptions& options,
                std::int64_t samples) {
  const double used = bytes_used(model, sheet.backend, inputs, options);
  const auto need = static_cast<double>(memory_need(model, sheet.backend, options, samples).bytes);
  INFO(model.name << " on " << sheet.name << ", " << options.threads << " threads: " << bytes_text(static_cast<std::size_t>(used))
                  << " used, " << bytes_text(static_cast<std::size_t>(need)) << " said");
  CHECK(used <= need);
  CHECK(need < 12 * used + 0x1p25);
}

}  // namespace

TEST_CASE("no layer of any kind on any backend allocates more than was said") {
  std::size_t layers = 0;
  for (const SpecSheet& sheet : builtin_backends()) {
    for (const OperationSignature& signature : operation_signatures()) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        Choices choose(seed);
        std::optional<Model> model;
        try {
          model = make_layer(signature.kind, sheet.backend, choose);
          if (model && seed > 2) model = enlarged(*model, seed > 3 ? 512 : 64);
        } catch (const Error&) {
        }
        if (!model) continue;
        for (Operation& operation : model->operations) operation.stated = Statement::fusible;  // one backend computes these in float32
        if (!check(*model, sheet.backend).empty()) continue;
        const RunOptions options{.threads = seed % 2 == 0 ? 4 : 1, .keep_all = true, .count_events = seed % 2 == 0};
        const double used = bytes_used(*model, sheet.backend, zeros(*model), options);
        const auto need = static_cast<double>(memory_need(*model, sheet.backend, options).bytes);
        INFO(sheet.name << ", " << signature.name << ", seed " << seed << ": " << used << " used, " << need << " said");
        CHECK(used <= need);
        CHECK(need < 12 * used + 0x1p25);
        ++layers;
      }
    }
  }
  CHECK(layers > 1500);
}

TEST_CASE("no convolution of any size allocates more than was said") {
  using enum OperationKind;
  for (const Kernel& kernel : {Kernel{conv2d, 3, 32, 3}, Kernel{conv2d, 64, 64, 3, 7}, Kernel{conv2d, 256, 1, 1}, Kernel{conv2d, 1, 300, 5},
                               Kernel{depthwise_conv2d, 96, 96, 3}, Kernel{depthwise_conv2d, 32, 64, 5, 20}}) {
    for (const char* backend : {"tflite_double", "vipnano_v8", "float", "onnxruntime", "n2d2_double_shift", "gemmini"}) {
      for (const ElementType type : {ElementType::int8, ElementType::int16}) {
        const Model model = convolutions(type, 40, kernel);
        const SpecSheet& sheet = find_backend(backend);
        if (!check(model, sheet.backend).empty()) continue;
        for (const int threads : {1, 8}) check_need(model, sheet, zeros(model), {.threads = threads}, 1);
      }
    }
  }
}

TEST_CASE("nor does a network with many samples") {
  const auto folder = source_directory() / "examples" / "digits";
  const Model model = read_model(folder / "model.json");
  const std::vector<Tensor> images = {read_npy(folder / "test_images.npy")};
  for (const char* backend : {"tflite_double", "float"}) {
    for (const bool all : {false, true}) {
      for (const int threads : {1, 8})
        check_need(model, find_backend(backend), images, {.threads = threads, .keep_all = all}, images[0].shape()[0]);
    }
  }
}

TEST_CASE("taps that lie far apart need no memory between them") {
  const Model model = convolutions(ElementType::int8, 16, {OperationKind::conv2d, 4, 4, 3, 1 << 20});
  CHECK(memory_need(model, find_backend("tflite_double").backend).bytes < 8 << 20);
  check_need(model, find_backend("tflite_double"), zeros(model), {}, 1);
}

TEST_CASE("a run beyond the budget is refused before anything is allocated for it") {
  const Model model = convolutions(ElementType::int8, 512, {OperationKind::conv2d, 4, 64, 3});
  const Backend& backend = find_backend("tflite_double").backend;
  const MemoryNeed need = memory_need(model, backend);
  CHECK(need.bytes > 16 << 20);
  CHECK(need.operation == 1);  // 64 channels alive, and 8 more
  const std::vector<Tensor> inputs = zeros(model);
  {
    const Budget budget(need.bytes);
    CHECK_NOTHROW(run(model, backend, inputs));
    const Emulator emulator(model, backend);
    const auto refusal = refusal_of([&] { (void)emulator.run(inputs, {.threads = 64}); });
    REQUIRE(refusal);
    CHECK(refusal->is_one_line());
    CHECK(refusal->says("layer 1, conv2d 'z': here the run needs most: "));
    CHECK(refusal->says(bytes_text(need.bytes) + " are allowed"));
  }
  const Budget budget(need.bytes - 1);
  const std::int64_t before = in_use;
  peak = before;
  CHECK_THROWS_AS(check(model, backend), MemoryRefused);
  CHECK_THROWS_AS(run(model, backend, inputs), MemoryRefused);
  CHECK(peak - before < 64 * 1024);
}

TEST_CASE("an output that a later layer reads is there to the end") {
  const Shape shape{1, 256, 256, 16};
  const auto bytes = static_cast<std::size_t>(shape.element_count());
  const auto need = [&](bool is_output) {
    ModelBuilder builder;
    const Quantization codes{{0.5}, {0}};
    std::vector<std::int32_t> tensors{builder.input({"x", ElementType::int8, shape, codes})};
    for (const char* const name : {"y", "z", "w"})
      tensors.push_back(builder.operation(OperationKind::relu, {tensors.back()}, {name, ElementType::int8, shape, codes}));
    const std::vector<std::int32_t> outputs = is_output ? std::vector{tensors[1], tensors[3]} : std::vector{tensors[3]};
    return memory_need(builder.finished(outputs), find_backend("tflite_double").backend).bytes;
  };
  CHECK(need(true) - need(false) == 3 * bytes);  // what the caller gets, what a worker keeps, and y beside z and w
}

TEST_CASE("sizes that no number of bytes can hold are large, not small") {
  Model model = convolutions(ElementType::int8, 16, {OperationKind::conv2d, 4, 4, 3});
  for (const std::size_t huge : {0U, 3U, 4U}) model.tensors[huge].shape = Shape({1, 1 << 15, 1 << 15, huge == 4 ? 8 : 4});
  CHECK(memory_need(model, find_backend("tflite_double").backend, {.threads = 1024}, std::int64_t{1} << 62).bytes == std::size_t{1} << 63);
}

}  // namespace lastbit
