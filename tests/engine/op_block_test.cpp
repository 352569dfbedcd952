// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes in blocks: values worked out by hand, and ggml's own loops, portable and of vectors, written out here.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/op/block_matmul.hpp"
#include "lastbit/op/block_quantize.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

namespace {

using namespace lastbit;
using enum OperationKind;

constexpr std::size_t length = 32;

Backend ggml() { return find_backend("ggml").backend; }

// Rows into blocks

Model quantizing(BlockFormat format, const Shape& data, const Shape& codes, const Shape& scales) {
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::float32, data});
  const auto q = builder.tensor({"q", codes_of(format).type, codes}), d = builder.tensor({"d", ElementType::float16, scales});
  builder.operation(block_quantize, "blocks", {x}, {q, d}, BlockAttributes{format});
  return builder.finished({q, d});
}

struct Quantized {
  std::vector<int> codes;
  std::vector<std::uint16_t> scales;
};

Quantized quantized(BlockFormat format, std::vector<float> values, const Backend& backend = ggml()) {
  values.resize((values.size() + length - 1) / length * length, 0.0F);
  const auto blocks = static_cast<std::int64_t>(values.size() / length);
  const Model model = quantizing(format, {blocks * block_length}, {blocks, block_length}, {blocks});
  const Trace trace = run(model, backend, std::vector{Tensor::from<float>({blocks * block_length}, values)});
  Quantized result;
  for (std::int64_t i = 0; i < blocks * block_length; ++i) result.codes.push_back(static_cast<int>(trace.tensors[1]->integer_at(i)));
  for (const Float16 scale : trace.tensors[2]->values<Float16>()) result.scales.push_back(scale.bits);
  return result;
}

struct RowCase {
  const char* name;
  BlockFormat format;
  std::vector<float> values;  ///< the rest of the block are zeros
  std::vector<int> codes;
  std::uint16_t scale;
};

TEST_CASE("block_quantize: the scale of each block, ties, zeros") {
  const auto q8_0 = BlockFormat::q8_0, q4_0 = BlockFormat::q4_0;
  const RowCase cases[] = {
      {"d = 1: ties away from zero", q8_0, {127, 0.5F, -0.5F, 2.5F, -2.5F, 0.49F}, {127, 1, -1, 3, -3, 0}, 0x3C00},
      {"the magnitude counts: -128 is no code", q8_0, {-254, 254, 1}, {-127, 127, 1}, 0x4000},
      {"zeros of both signs", q8_0, {-0.0F, 0}, {0, 0}, 0},
      {"d below what float16 holds: codes by the unrounded one", q8_0, {1.27e-7F, -1e-9F}, {127, -1}, 0},
      {"d beyond float16: infinite", q8_0, {127.0F * 70000, 70000}, {127, 1}, 0x7C00},
      {"1 / d beyond float32: no number is 0", q8_0, {1e-38F, 0}, {0, 0}, 0},
      {"d = -1: the value of largest magnitude is code 0", q4_0, {8, -7, 0, 0.4F}, {0, 15, 8, 8}, 0xBC00},
      {"d = 1: half is added, what is left is dropped", q4_0, {-8, 7, 0.5F, -0.5F, 6.5F, -6.5F}, {0, 15, 9, 8, 15, 2}, 0x3C00},
      {"the first of equal magnitudes", q4_0, {8, -8}, {0, 15}, 0xBC00},
      {"the first of equal magnitudes, the other way", q4_0, {-8, 8}, {0, 15}, 0x3C00},
      {"zeros: d = 0 / -8", q4_0, {-0.0F, 0}, {8, 8}, 0x8000},
  };
  for (const RowCase& c : cases) {
    INFO(c.name);
    const Quantized found = quantized(c.format, c.values);
    CHECK(std::vector(found.codes.begin(), found.codes.begin() + std::ssize(c.codes)) == c.codes);
    CHECK(found.scales == std::vector{c.scale});
  }
}

/// Of every size; or halves of whole numbers, which are ties where d is 1.
std::vector<float> random_row(std::mt19937& random, std::size_t blocks) {
  std::vector<float> row(blocks * length);
  const bool halves = random() % 2 == 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (halves) {
      row[i] = i % length == 0 ? 127 : static_cast<float>(static_cast<int>(random() % 509) - 254) / 2;
      continue;
    }
    const float spread = std::ldexp(1.0F, static_cast<int>(i / length * 3) - 20);
    row[i] = spread * (static_cast<float>(random() % 200001) / 100000.0F - 1.0F);
  }
  return row;
}

/// quantize_row_q8_0_ref; with vectors the quotient and the rounding of AVX2's.
Quantized wanted_q8_0(const std::vector<float>& x, bool with_vectors) {
  Quantized wanted;
  for (std::size_t b = 0; b < x.size(); b += length) {
    float amax = 0;
    for (std::size_t i = 0; i < length; ++i) amax = std::max(amax, std::fabs(x[b + i]));
    const float d = amax / 127.0F;
    const float id = with_vectors ? 127.0F / amax : 1.0F / d;
    for (std::size_t i = 0; i < length; ++i) {
      const float product = x[b + i] * id;
      wanted.codes.push_back(static_cast<int>(with_vectors ? std::nearbyint(product) : std::round(product)));
    }
    wanted.scales.push_back(to_float16(d, ieee_float16).bits);
  }
  return wanted;
}

/// quantize_row_q4_0_ref.
Quantized wanted_q4_0(const std::vector<float>& x) {
  Quantized wanted;
  for (std::size_t b = 0; b < x.size(); b += length) {
    float amax = 0, max = 0;
    for (std::size_t i = 0; i < length; ++i) {
      if (amax >= std::fabs(x[b + i])) continue;
      amax = std::fabs(x[b + i]);
      max = x[b + i];
    }
    const float d = max / -8, id = 1.0F / d;
    for (std::size_t i = 0; i < length; ++i) {
      const float product = x[b + i] * id;
      wanted.codes.push_back(std::min(15, static_cast<int>(product + 8.5F)));
    }
    wanted.scales.push_back(to_float16(d, ieee_float16).bits);
  }
  return wanted;
}

TEST_CASE("block_quantize is what ggml's loops give, portable and of AVX2") {
  const Backend avx2 = find_backend("ggml_avx2").backend;
  std::mt19937 random(3);
  int told = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> row = random_row(random, 12);
    const Quantized portable = wanted_q8_0(row, false), vectors = wanted_q8_0(row, true);
    CHECK(quantized(BlockFormat::q8_0, row).codes == portable.codes);
    CHECK(quantized(BlockFormat::q8_0, row).scales == portable.scales);
    CHECK(quantized(BlockFormat::q8_0, row, avx2).codes == vectors.codes);
    CHECK(quantized(BlockFormat::q4_0, row).codes == wanted_q4_0(row).codes);
    CHECK(quantized(BlockFormat::q4_0, row).scales == wanted_q4_0(row).scales);
    told += portable.codes != vectors.codes ? 1 : 0;
  }
  CHECK(told > 0);
}

// Products of rows

/// Rows of data and of weights.
struct Product {
  BlockFormat format;
  std::int64_t rows, outputs, blocks;
  Tensor data, data_scales, weights, weight_scales;
};

Tensor random_codes(std::mt19937& random, BlockFormat format, const Shape& shape) {
  Tensor codes(codes_of(format).type, shape);
  if (format == BlockFormat::q4_0) {
    for (std::uint8_t& code : codes.values<std::uint8_t>()) code = static_cast<std::uint8_t>(random() % 16);
  } else {
    for (std::int8_t& code : codes.values<std::int8_t>()) code = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  }
  return codes;
}

Tensor random_scales(std::mt19937& random, const Shape& shape) {
  Tensor scales(ElementType::float16, shape);
  for (Float16& scale : scales.values<Float16>()) scale.bits = static_cast<std::uint16_t>(random() % 0x4000 + (random() % 2) * 0x8000);
  return scales;
}

Product random_product(std::mt19937& random, BlockFormat format, std::int64_t rows, std::int64_t outputs, std::int64_t blocks) {
  Tensor data = random_codes(random, BlockFormat::q8_0, {rows, blocks, block_length}), data_scales = random_scales(random, {rows, blocks});
  Tensor weights = random_codes(random, format, {outputs, blocks, block_length}), scales = random_scales(random, {outputs, blocks});
  return {format, rows, outputs, blocks, std::move(data), std::move(data_scales), std::move(weights), std::move(scales)};
}

enum class Weights : std::uint8_t { constant, data };

Model model_of(const Product& product, Weights kind) {
  ModelBuilder builder;
  const auto add = [&](const char* name, const Tensor& values, bool constant) {
    return constant ? builder.constant(name, values) : builder.input({name, values.type(), values.shape()});
  };
  const bool constant = kind == Weights::constant;
  const auto q = add("q", product.data, false), dq = add("dq", product.data_scales, false);
  const auto w = add("w", product.weights, constant), dw = add("dw", product.weight_scales, constant);
  return builder.finished({builder.operation(block_matmul, {q, dq, w, dw}, {"y", ElementType::float32, {product.rows, product.outputs}},
                                             BlockAttributes{product.format})});
}

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<std::uint32_t> computed(const Product& product, const Backend& backend, Weights kind = Weights::constant) {
  std::vector<Tensor> inputs{product.data, product.data_scales};
  if (kind == Weights::data) inputs.insert(inputs.end(), {product.weights, product.weight_scales});
  const Trace trace = run(model_of(product, kind), backend, inputs);
  return bits_of(trace.tensors[4]->values<float>());
}

/// One row of data and one of weights, block by block.
struct Row {
  std::vector<std::array<int, length>> q, w;  ///< w centred
  std::vector<float> dq, dw;

  Row(const Product& product, std::int64_t row, std::int64_t output) {
    const int zero_point = product.format == BlockFormat::q4_0 ? 8 : 0;
    for (std::int64_t b = 0; b < product.blocks; ++b) {
      const std::int64_t at = row * product.blocks + b, of = output * product.blocks + b;
      for (auto* const codes : {&q, &w}) codes->emplace_back();
      for (std::size_t i = 0; i < length; ++i) {
        q.back()[i] = static_cast<int>(product.data.integer_at(at * block_length + static_cast<std::int64_t>(i)));
        w.back()[i] = static_cast<int>(product.weights.integer_at(of * block_length + static_cast<std::int64_t>(i))) - zero_point;
      }
      dq.push_back(to_float32(product.data_scales.values<Float16>()[static_cast<std::size_t>(at)]));
      dw.push_back(to_float32(product.weight_scales.values<Float16>()[static_cast<std::size_t>(of)]));
    }
  }
  /// Products first, first + step, ...: `count` side by side of each.
  [[nodiscard]] float sum(std::size_t block, std::size_t first = 0, std::size_t count = length, std::size_t step = length) const {
    int total = 0;
    for (std::size_t at = first; at < length; at += step)
      for (std::size_t i = at; i < at + count; ++i) total += q[block][i] * w[block][i];
    return static_cast<float>(total);
  }
  [[nodiscard]] std::size_t blocks() const { return dq.size(); }
};

/// ggml_vec_dot_q8_0_q8_0_generic, ggml_vec_dot_q4_0_q8_0_generic, from a block on.
float wanted_generic(const Row& row, BlockFormat format, std::size_t b = 0, float sum = 0) {
  for (; b < row.blocks(); ++b) {
    const float in_order = row.sum(b) * row.dw[b] * row.dq[b], scales_first = row.sum(b) * (row.dw[b] * row.dq[b]);
    sum += format == BlockFormat::q4_0 ? in_order : scales_first;
  }
  return sum;
}

/// AVX2: eight lanes of four neighbouring products, fused; hsum_float_8.
float wanted_avx2(const Row& row, BlockFormat) {
  std::array<float, 8> acc{};
  for (std::size_t b = 0; b < row.blocks(); ++b) {
    const float d = row.dw[b] * row.dq[b];
    for (std::size_t l = 0; l < 8; ++l) acc[l] = std::fma(d, row.sum(b, 4 * l, 4), acc[l]);
  }
  return ((acc[4] + acc[0]) + (acc[6] + acc[2])) + ((acc[5] + acc[1]) + (acc[7] + acc[3]));
}

/// NEON: two blocks at a time, four lanes of twice four neighbouring products, not fused; the last of an odd number as portable code, fused.
float wanted_neon(const Row& row, BlockFormat format) {
  std::array<std::array<float, 4>, 2> sums{};
  std::size_t b = 0;
  for (; b + 1 < row.blocks(); b += 2)
    for (std::size_t s = 0; s < 2; ++s)
      for (std::size_t l = 0; l < 4; ++l) {
        const float product = row.sum(b + s, 4 * l, 4, 16) * (row.dw[b + s] * row.dq[b + s]);
        sums[s][l] += product;
      }
  const auto added = [](const std::array<float, 4>& v) { return (v[0] + v[1]) + (v[2] + v[3]); };
  const float sum = added(sums[0]) + added(sums[1]);
  if (b == row.blocks()) return sum;
  return format == BlockFormat::q4_0 ? std::fma(row.sum(b) * row.dw[b], row.dq[b], sum) : std::fma(row.sum(b), row.dw[b] * row.dq[b], sum);
}

/// AVX without AVX2: as NEON, but both blocks are halves of one register, added first.
float wanted_avx(const Row& row, BlockFormat format) {
  std::array<float, 8> acc{};
  std::size_t b = 0;
  for (; b + 1 < row.blocks(); b += 2)
    for (std::size_t l = 0; l < 8; ++l) {
      const float product = (row.dw[b + l / 4] * row.dq[b + l / 4]) * row.sum(b + l / 4, l % 4 * 4, 4, 16);
      acc[l] += product;
    }
  const float sum = ((acc[4] + acc[0]) + (acc[6] + acc[2])) + ((acc[5] + acc[1]) + (acc[7] + acc[3]));
  return wanted_generic(row, format, b, sum);
}

struct Path {
  const char* name;
  Backend backend = no_rules;
  float (*wanted)(const Row&, BlockFormat);
};

/// No sheet of its own: as NEON's, said with other rules.
Backend avx() {
  Backend backend = find_backend("ggml_neon").backend;
  set_rule(backend, "block_matmul.*.rest_addition", "product_rounded");
  set_rule(backend, "block_matmul.*.lane_order", "halves");
  set_rule(backend, "block_matmul.*.lane_join", "across_sums");
  return backend;
}

std::vector<Path> paths() {
  return {{"ggml", ggml(), [](const Row& row, BlockFormat format) { return wanted_generic(row, format); }},
          {"ggml_avx2", find_backend("ggml_avx2").backend, wanted_avx2},
          {"ggml_neon", find_backend("ggml_neon").backend, wanted_neon},
          {"avx", avx(), wanted_avx}};
}

TEST_CASE("block_matmul is what ggml's loops give, portable and of vectors, for rows and outputs of any number") {
  std::mt19937 random(11);
  for (const Path& path : paths()) {
    INFO(path.name);
    int told = 0;
    for (int i = 0; i < 60; ++i) {
      const auto format = i % 2 == 0 ? BlockFormat::q8_0 : BlockFormat::q4_0;
      const Product product = random_product(random, format, 1 + i % 3, 1 + i % 4, 1 + i);
      std::vector<float> wanted;
      for (std::int64_t row = 0; row < product.rows; ++row)
        for (std::int64_t output = 0; output < product.outputs; ++output) wanted.push_back(path.wanted(Row(product, row, output), format));
      CHECK(computed(product, path.backend) == bits_of(wanted));
      CHECK(computed(product, path.backend, Weights::data) == bits_of(wanted));
      told += computed(product, path.backend) != computed(product, ggml()) ? 1 : 0;
    }
    CHECK((told > 30) == (path.backend != ggml()));
  }
}

TEST_CASE("the order of the factors shows where a sum and a scale have more than 24 bits together") {
  const float dx = 1 + 0x1p-10F, dw = 1 + 0x3p-10F;
  const auto product = [&](DynamicProduct order, std::int32_t sum) {
    return with_block(BlockAddition::product_rounded, order, 0, sum, dx, dw);
  };
  const auto differ = [&](std::int32_t sum) {
    const float first = product(DynamicProduct::scales_first, sum);
    return product(DynamicProduct::input_scale_first, sum) != first || product(DynamicProduct::weight_scale_first, sum) != first;
  };
  int below = 0, above = 0;
  for (std::int32_t sum = 1; sum < 1 << 15; ++sum) (sum < 1 << 13 ? below : above) += differ(sum) ? 1 : 0;
  CHECK(below == 0);
  CHECK(above > 0);
}

TEST_CASE("the lanes of a sum are added in three orders, of any number") {
  const auto added = [](LaneOrder order, std::vector<float> lanes) { return sum_of_lanes(order, lanes); };
  const float big = 0x1p24F;  // one more is lost
  CHECK(added(LaneOrder::sequential, {1, big, 1, -big, 1}) == 1);
  CHECK(added(LaneOrder::pairwise, {1, big, 1, -big, 1}) == 2);
  CHECK(added(LaneOrder::pairwise, {big, -big, 1, 1}) == 2);
  CHECK(added(LaneOrder::halves, {big, -big, 1, 1}) == 1);
  CHECK(added(LaneOrder::pairwise, {7}) == 7);
  for (const LaneOrder order : {LaneOrder::sequential, LaneOrder::pairwise, LaneOrder::halves}) {
    std::vector<float> lanes;
    for (int count = 1; count <= 32; ++count) {
      lanes.push_back(static_cast<float>(count));
      CHECK(added(order, lanes) == static_cast<float>(count * (count + 1) / 2));
    }
  }
}

// What is refused, and the golden path

TEST_CASE("who has no block formats says so, and which rules are read depends on the format") {
  std::mt19937 random(1);
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0}) {
    const std::string name(name_of(format));
    const Model product = model_of(random_product(random, format, 1, 1, 1), Weights::constant);
    const Model row = quantizing(format, {32}, {1, 32}, {1});
    CHECK(rule_prefixes(product, product.operations[0], ggml()) == std::vector{"block_matmul." + name});
    CHECK(rule_prefixes(row, row.operations[0], ggml()) == std::vector{"block_quantize." + name});
    for (const SpecSheet& sheet : builtin_backends()) {
      INFO(sheet.name);
      for (const Model* const model : {&product, &row}) {
        const auto problems = check(*model, sheet.backend);
        const bool has = sheet.backend.domain == Domain::real || sheet.name.starts_with("ggml");
        CHECK(problems.empty() == has);
        if (!has && sheet.backend.coding == Coding::affine)
          CHECK(problems[0].message == "blocks of format " + name + ", which the backend does not have");
      }
    }
  }
}

TEST_CASE("shapes and types that do not fit are refused in one line") {
  const auto said = [](auto make) -> std::string {
    try {
      static_cast<void>(make());
    } catch (const Error& error) {
      return error.diagnostics().front().message;
    }
    return {};
  };
  const auto quantize = [&](const Shape& data, const Shape& codes, const Shape& scales) {
    return said([&] { return quantizing(BlockFormat::q8_0, data, codes, scales); });
  };
  CHECK(quantize({2, 64}, {2, 2, 32}, {2, 2}).empty());
  CHECK(quantize({2, 33}, {2, 1, 32}, {2, 1}) == "tensor 'x' is 2x33; rows of whole blocks of 32 values are needed");
  CHECK(quantize({2, 64}, {2, 2, 32}, {2, 1}) == "tensor 'd' is 2x1; 2x2 is needed");
  CHECK(quantize({2, 64}, {4, 32}, {2, 2}) == "tensor 'q' is 4x32; 2x2x32 is needed");
  std::mt19937 random(1);
  const auto product = [&](auto change) {
    Product made = random_product(random, BlockFormat::q8_0, 2, 3, 2);
    change(made);
    return said([&] { return model_of(made, Weights::data); });
  };
  CHECK(product([](Product&) {}).empty());
  CHECK(product([](Product& p) { p.format = BlockFormat::q4_0; }) == "tensor 'w' is int8; allowed: uint8");
  CHECK(product([](Product& p) { p.data_scales = Tensor(ElementType::float32, {2, 2}); }) == "tensor 'dq' is float32; allowed: float16");
  CHECK(product([](Product& p) { p.data = Tensor(ElementType::int8, {2, 2, 16}); }) == "tensor 'q' is 2x2x16; [..., blocks, 32] is needed");
  CHECK(product([](Product& p) { p.weights = Tensor(ElementType::int8, {3, 1, 32}); }) == "tensor 'w' is 3x1x32; 3x2x32 is needed");
  CHECK(product([](Product& p) { p.weight_scales = Tensor(ElementType::float16, {2, 2}); }) == "tensor 'dw' is 2x2; 3x2 is needed");
  CHECK(product([](Product& p) { p.outputs = 4; }) == "tensor 'y' is 2x4; 2x3 is needed");
}

TEST_CASE("on the golden path rows in blocks multiply as the rows themselves") {
  std::mt19937 random(5);
  const Backend golden = find_backend("float").backend;
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0}) {
    const std::vector<float> row = random_row(random, 4), weights = random_row(random, 4);
    const Shape shape{1, 4 * block_length}, codes{1, 4, block_length}, scales{1, 4};
    ModelBuilder builder;
    const auto split = [&](const char* name, BlockFormat to) {
      const auto x = builder.input({name, ElementType::float32, shape});
      const auto q = builder.tensor({std::string(name) + "q", codes_of(to).type, codes});
      const auto d = builder.tensor({std::string(name) + "d", ElementType::float16, scales});
      builder.operation(block_quantize, std::string(name) + " in blocks", {x}, {q, d}, BlockAttributes{to});
      return std::array{q, d};
    };
    const auto x = split("x", BlockFormat::q8_0), w = split("w", format);
    const auto y = builder.operation(block_matmul, {x[0], x[1], w[0], w[1]}, {"y", ElementType::float32, {1, 1}}, BlockAttributes{format});
    const Model model = builder.finished({y});
    const std::vector inputs{Tensor::from<float>(shape, row), Tensor::from<float>(shape, weights)};
    double exact = 0, magnitude = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      exact += double{row[i]} * double{weights[i]};
      magnitude += std::abs(double{row[i]} * double{weights[i]});
    }
    const auto output = [&](const Backend& backend) { return double{run(model, backend, inputs).tensors.back()->values<float>()[0]}; };
    CHECK(std::abs(output(golden) - exact) <= 1e-6 * magnitude);
    CHECK(std::abs(output(ggml()) - exact) <= 0.1 * magnitude);
    CHECK(output(ggml()) != output(golden));
  }
}

}  // namespace
