// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How the values of a dump's files are read: their order, their type, and which codes real values stand for.
#include <functional>

#include "lastbit/arith/float16.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/dequantize.hpp"
#include "support/dumped_run.hpp"

using namespace lastbit;
using namespace lastbit::test::dumped;

TEST_CASE("a file's shape tells its layout, samples in front included") {
  const std::int64_t samples = GENERATE(1, 3);
  const Run run(samples);
  using Encoder = std::function<Tensor(const Tensor&, std::int64_t)>;
  const std::vector<std::pair<std::string, Encoder>> layouts{
      {"nchw", as_nchw},
      {"nc1hwc0", [](const Tensor& t, std::int64_t c) { return as_nc1hwc0(t, c, 16); }},
      {"nc1hwc0", [](const Tensor& t, std::int64_t c) { return as_nc1hwc0(t, c, 32); }},
      {"nc4hw4", [](const Tensor& t, std::int64_t c) { return as_nc1hwc0(t, c, 4); }},
      {"nhwc32", [](const Tensor& t, std::int64_t c) { return as_nhwc_padded(t, c, 32); }},
  };
  for (const auto& [layout, encode] : layouts) {
    INFO(layout);
    const Folder folder;
    for (const std::string& name : names)
      write_npy(folder.path() / (file_name(name) + ".npy"), encode(run.tensor(name), channels_of(name)));
    const NamedTrace dump = read_dump(folder.path(), run.model);
    check_holds(run, dump);
    CHECK(says(dump, "3 tensors in the order " + layout + ": 'x' ("));
    const CompareReport report = compare_with_dump(run.model, dump, find_backend("tflite_double"), {});
    CHECK(report.equal());
    CHECK(to_text(report).find("in the order " + layout) != std::string::npos);
  }
}

TEST_CASE("raw values fill the tensor once as float32, or several times as codes") {
  const Run run(4);
  const Folder folder, reals;
  for (const std::string& name : names) write_bytes(folder.path() / (file_name(name) + ".raw"), run.tensor(name));
  check_holds(run, read_dump(folder.path(), run.model));
  const Run one;
  const NamedTensor& y = *one.trace.find("net/y");
  write_bytes(reals.path() / "net_y.raw", dequantized(y.values, y.quantization));
  check_holds(one, read_dump(reals.path(), one.model), 1);
  Tensor real = dequantized(y.values, y.quantization);
  real.values<float>()[5] += 0.01F;  // no code's
  write_bytes(reals.path() / "net_y.raw", real);
  CHECK(read_dump(reals.path(), one.model).find("net/y")->values == real);
}

TEST_CASE("values without a shape stand in the model's order, or as the user says") {
  const Run run(2);
  const Folder folder;
  for (const std::string& name : names) write_bytes(folder.path() / (file_name(name) + ".bin"), run.tensor(name));
  check_holds(run, read_dump(folder.path(), run.model));
  for (const std::string& name : names)
    write_bytes(folder.path() / (file_name(name) + ".bin"), as_nchw(run.tensor(name), channels_of(name)));
  check_holds(run, read_dump(folder.path(), run.model, {.layout = "nchw"}));
  for (const std::string& name : names)
    write_bytes(folder.path() / (file_name(name) + ".bin"), as_nc1hwc0(run.tensor(name), channels_of(name), 32));
  check_holds(run, read_dump(folder.path(), run.model, {.layout = "nc1hwc0"}));
  check_holds(run, read_dump(folder.path(), run.model));  // what fills up is one value: it tells
  for (const std::string& name : names) {
    Tensor file = as_nc1hwc0(run.tensor(name), channels_of(name), 32);
    for (std::size_t i = 31; i < file.bytes().size(); i += 64) file.values<std::int8_t>()[i] = 7;
    write_bytes(folder.path() / (file_name(name) + ".bin"), file);
  }
  CHECK(refusal(folder.path(), run.model).find("it would fit as --layout nc1hwc0 or nc4hw4 or nhwc64 or nhwc32") != std::string::npos);
  CHECK(refusal(folder.path(), run.model, {.layout = "nc4hw4"}).find("in the layout nc4hw4") != std::string::npos);
  CHECK(refusal(folder.path(), run.model, {.layout = "chwn"}).find("is no layout") != std::string::npos);
}

TEST_CASE("codes are codes in any type that holds them") {
  const Run run;
  const Folder folder;
  const auto write_as = [&]<class T>(const char* name, T /*type*/, int offset) {
    const Tensor& codes = run.tensor(name);
    std::vector<T> values;
    for (const std::int8_t code : codes.values<std::int8_t>()) values.push_back(static_cast<T>(code + offset));
    write_npy(folder.path() / (file_name(name) + ".npy"), Tensor::from<T>(codes.shape(), values));
  };
  write_as("x", std::int64_t{}, 0);
  write_as("net/y", std::uint8_t{}, 128);  // xor 0x80
  write_as("net/z", float{}, 0);
  const NamedTrace dump = read_dump(folder.path(), run.model);
  check_holds(run, dump);
  CHECK(says(dump, "1 tensor with codes as int64: 'x'"));
  CHECK(says(dump, "codes as uint8 and an offset of 128: 'net/y'"));
  CHECK(says(dump, "codes as float32: 'net/z'"));
  write_as("net/z", std::int32_t{}, 128);
  check_holds(run, read_dump(folder.path(), run.model));
  write_as("net/z", std::int16_t{}, 300);
  CHECK(refusal(folder.path(), run.model).find("int16 from ") != std::string::npos);
}

TEST_CASE("real values are compared as such, in text and in half precision too") {
  const Run run;
  const Folder folder;
  const auto real = [](const ModelTensor& tensor, std::int8_t code) {
    return (code - static_cast<double>(tensor.quantization.zero_point())) * tensor.quantization.scale();
  };
  for (const std::string& name : names) {
    const ModelTensor& tensor = *std::ranges::find(run.model.tensors, name, &ModelTensor::name);
    write_lines(folder.path() / (file_name(name) + ".txt"), run.tensor(name),
                [&](std::int8_t code) { return printed("%.16f", real(tensor, code)); });
  }
  const NamedTrace dump = read_dump(folder.path(), run.model);
  check_holds(run, dump);
  CHECK(says(dump, "3 tensors with the real values of codes: 'x' (within half a unit of the last digit), …"));
  write_lines(folder.path() / "net_y.txt", run.tensor("net/y"), [](std::int8_t code) { return std::to_string(code); });
  check_holds(run, read_dump(folder.path(), run.model));
}

TEST_CASE("real values are codes where each is within the precision of its text or type of one") {
  const Run run;
  const Folder folder;
  const ModelTensor& y = run.model.tensor(run.trace.find("net/y")->index);
  const double scale = y.quantization.scale(), zero_point = static_cast<double>(y.quantization.zero_point());  // 0.07 and -5
  const auto read_as = [&](const char* format, double added = 0) {
    write_lines(folder.path() / "net_y.txt", run.tensor("net/y"),
                [&](std::int8_t code) { return printed(format, (code - zero_point) * scale + added); });
    return read_dump(folder.path(), run.model);
  };
  for (const char* format : {"%f", "%.2f", "%.3e", "%.4g", "%+.2f,"}) {
    INFO(format);
    const NamedTrace dump = read_as(format);
    CHECK(dump.find("net/y")->values == run.tensor("net/y"));
    CHECK(says(dump, "1 tensor with the real values of codes: 'net/y' (within half a unit of the last digit)"));
  }
  const NamedTrace coarse = read_as("%.1f");  // half a unit is 0.05, a step 0.07
  CHECK(coarse.find("net/y")->values.type() == ElementType::float32);
  CHECK(says(coarse, "1 tensor with real values that tell no codes: 'net/y' ("));
  CHECK(says(coarse, "is told to 0.05"));
  const NamedTrace off = read_as("%.4f", 0.0002);  // more than half a unit
  CHECK(off.find("net/y")->values.type() == ElementType::float32);
  CHECK(says(off, "at 0 is code "));
  CHECK(read_as("%.3f", 0.0004).find("net/y")->values == run.tensor("net/y"));

  fs::remove(folder.path() / "net_y.txt");
  const auto as_halves = [&](double added) {
    std::vector<Float16> halves;
    for (const std::int8_t code : run.tensor("net/y").values<std::int8_t>())
      halves.push_back(to_float16(static_cast<float>((code - zero_point) * scale + added), ieee_float16));
    write_npy(folder.path() / "net_y.npy", Tensor::from<Float16>(run.tensor("net/y").shape(), halves));
    return read_dump(folder.path(), run.model);
  };
  check_holds(run, as_halves(0), 1);
  CHECK(says(as_halves(0), "(within half an ulp of float16)"));
  CHECK(as_halves(0.02).find("net/y")->values.type() == ElementType::float32);
}

TEST_CASE("a file's own axes say how wide its blocks are, one of them included") {
  ModelBuilder builder("one block");
  const auto x = builder.input({"x", ElementType::int8, {1, 5, 7, 16}, {{0.05}, {3}}});
  const auto y = builder.operation(OperationKind::relu, {x}, {"y", ElementType::int8, {1, 5, 7, 16}, {{0.05}, {3}}});
  builder.model.operations[0].name = "Relu_0";
  const Model model = builder.finished({y});
  Tensor values(ElementType::int8, {1, 5, 7, 16});
  std::int64_t i = 0;
  for (std::int8_t& value : values.values<std::int8_t>()) value = static_cast<std::int8_t>((i++ * 53) % 251 - 125);
  for (const std::int64_t c0 : {1, 2, 4, 8, 16, 32, 48, 64}) {
    INFO("C0 = " << c0);
    const Folder folder, unnamed;
    write_npy(folder.path() / "Relu.Relu_0.44.6.17.output.0.NC1HWC0.npy", as_nc1hwc0(values, 16, c0));
    CHECK(read_dump(folder.path(), model).find("y")->values == values);
    write_npy(unnamed.path() / "y.npy", as_nc1hwc0(values, 16, c0));
    CHECK(read_dump(unnamed.path(), model).find("y")->values == values);
  }
  const Folder raw;
  write_bytes(raw.path() / "Relu.Relu_0.44.6.17.output.0.NC1HWC0.bin", values);  // as many as one block of 16 has: no block of 8
  CHECK(read_dump(raw.path(), model).find("y")->values == values);
}

TEST_CASE("raw values are padded where the same value fills every pixel or block up") {
  const Run run;
  const Folder folder;
  const auto reads = [&](const Tensor& file, const std::string& said) {
    write_bytes(folder.path() / "net_z.bin", file);
    const NamedTrace dump = read_dump(folder.path(), run.model);
    check_holds(run, dump, 1);
    CHECK(says(dump, "1 tensor padded: 'net/z' (read in the order " + said));
  };
  reads(as_nc1hwc0(run.tensor("net/z"), 20, 32), "nc1hwc0, C0 = 32)");
  reads(as_nc1hwc0(run.tensor("net/z"), 20, 16), "nc1hwc0, C0 = 16)");
  reads(as_nhwc_padded(run.tensor("net/z"), 20, 32), "nc1hwc0, C0 = 32)");  // which is the same for one block
  reads(as_nhwc_padded(run.tensor("net/z"), 20, 24), "nhwc8, 24 channels for 20)");
  ModelBuilder builder("halves");
  const auto x = builder.input({"x", ElementType::int8, {1, 4, 4, 16}, {{0.05}, {3}}});
  const auto y = builder.operation(OperationKind::relu, {x}, {"y", ElementType::int8, {1, 4, 4, 16}, {{0.05}, {3}}});
  const auto row = builder.operation(OperationKind::reshape, {y}, {"row", ElementType::int8, {1, 256}, {{0.05}, {3}}});
  const auto logits =
      builder.operation(OperationKind::fully_connected,
                        {row, builder.constant<std::int8_t>("w", {10, 256}, std::vector<std::int8_t>(2560, 1), {{0.02}, {0}})},
                        {"logits", ElementType::int8, {1, 10}, {{0.05}, {3}}});
  const Model model = builder.finished({logits});
  Tensor half(ElementType::int8, {1, 4, 4, 32}), own(ElementType::int8, {1, 4, 4, 16}), two(ElementType::int8, {2, 4, 4, 16});
  for (std::size_t i = 0; i < 512; ++i) {
    const auto value = static_cast<std::int8_t>(i * 37 % 251 - 125);
    two.values<std::int8_t>()[i] = value;
    if (i % 32 < 16) half.values<std::int8_t>()[i] = own.values<std::int8_t>()[i / 32 * 16 + i % 32] = value;
  }
  const Folder of_two;
  write_bytes(of_two.path() / "y.bin", half);  // as many as two samples
  CHECK(read_dump(of_two.path(), model).find("y")->values == own);
  write_bytes(of_two.path() / "y.bin", two);
  CHECK(read_dump(of_two.path(), model).find("y")->values.shape() == Shape({2, 1, 4, 4, 16}));
  std::string ten = "0123456789";
  std::ofstream(of_two.path() / "logits.bin", std::ios::binary) << ten + std::string(6, '\0');
  const NamedTrace dump = read_dump(of_two.path(), model);
  CHECK(dump.find("logits")->values.element_count() == 10);
  CHECK(says(dump, "'logits' (read in the order nhwc16, 16 channels for 10)"));
}
