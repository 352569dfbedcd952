// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes of one scale in a row, whose zero points are the output's or not: on every device that takes them each stands for what it stood for.
#include <algorithm>
#include <set>

#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"

using namespace lastbit;

namespace {

constexpr double scale = 0.25;

/// Two rows of 256 codes and 3 rows of them, one below the other.
Model concat_of(ElementType type, std::int64_t first, std::int64_t second, std::int64_t output) {
  test::Network net;
  const auto a = net.tensor("a", type, {2, 256}, {{scale}, {first}, 0}), b = net.tensor("b", type, {3, 256}, {{scale}, {second}, 0});
  const auto y = net.tensor("y", type, {5, 256}, {{scale}, {output}, 0});
  net.operation(OperationKind::concat, {a, b}, {y}, ConcatAttributes{.axis = 0});
  net.model.inputs = {a, b};
  net.model.outputs = {y};
  validate(net.model, "test");
  return net.model;
}

template <class T>
void check_codes(const Model& model, const Backend& backend) {
  const auto zero_of = [&](std::size_t tensor) { return model.tensors[tensor].quantization.zero_point(); };
  std::vector<Tensor> inputs;
  std::vector<T> expected;
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<T> codes(static_cast<std::size_t>(model.tensors[i].shape.element_count()));
    for (std::size_t k = 0; k < codes.size(); ++k)
      codes[k] = static_cast<T>(static_cast<int>(k * (2 * i + 1)) + std::numeric_limits<T>::min());
    for (const T code : codes)
      expected.push_back(static_cast<T>(
          std::clamp<std::int64_t>(code - zero_of(i) + zero_of(2), std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
    inputs.push_back(Tensor::from<T>(model.tensors[i].shape, codes));
  }
  const Trace trace = run(model, backend, inputs);
  const auto found = trace.tensors[2]->values<T>();
  CHECK(std::ranges::equal(found, expected));
}

}  // namespace

TEST_CASE("concat: codes of the output's scale are moved by the difference of the zero points, on every device that takes them") {
  std::set<std::string> moved;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain == Domain::real) continue;
    for (const auto& [first, second, output] : {std::array{3, 3, 3}, {13, 3, 3}, {3, -7, 3}, {0, 0, 0}, {-7, 3, 13}}) {
      for (const ElementType type : {ElementType::int8, ElementType::uint8}) {
        const int middle = type == ElementType::uint8 ? 128 : 0;
        const Model model = concat_of(type, first + middle, second + middle, output + middle);
        if (!check(model, sheet.backend).empty()) continue;  // symmetric codes, or one scale and zero point for all
        INFO(sheet.name << ", zero points " << first << " and " << second << " to " << output);
        if (type == ElementType::int8) check_codes<std::int8_t>(model, sheet.backend);
        else check_codes<std::uint8_t>(model, sheet.backend);
        if (first != second) moved.insert(sheet.name);
      }
    }
  }
  CHECK(moved.size() >= 5);
}
