// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX operators that order, sum or pick values along axes, or move blocks, against their definitions.
#include <cmath>
#include <functional>
#include <numeric>

#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using Reals = std::vector<float>;
using Change = std::function<void(onnx::NodeProto&)>;

/// x [2, 3] and constants → one node → these outputs.
std::vector<Reals> of_node(OnnxFile& file, const std::string& op, const Names& constants, const Names& results, const Reals& x,
                           const Change& change = {}) {
  file.input("x", {2, 3});
  Names inputs{"x"};
  inputs.insert(inputs.end(), constants.begin(), constants.end());
  auto& node = file.node(op, inputs, results);
  if (change) change(node);
  for (const std::string& name : results)
    if (!name.empty()) file.output(name);
  std::vector<Reals> found;
  for (const Tensor& tensor : outputs(file.read(), "float", {Tensor::from<float>({2, 3}, x)})) found.push_back(listed(tensor));
  return found;
}

const Reals numbers{3, 1, 1, -2, 5, -2};

}  // namespace

TEST_CASE("TopK: values and indices, of either end, along any axis") {
  const auto best = [](std::int64_t count, const Names& results, const Change& change) {
    OnnxFile file(16);
    file.constant<std::int64_t>("k", {1}, {count});
    return of_node(file, "TopK", {"k"}, results, numbers, change);
  };
  CHECK(best(2, {"v", "i"}, {}) == std::vector<Reals>{{3, 1, 5, -2}, {0, 1, 1, 0}});
  CHECK(best(1, {"v", "i"}, [](auto& node) { set(node, "largest", 0); }) == std::vector<Reals>{{1, -2}, {1, 0}});
  CHECK(best(1, {"v"}, [](auto& node) { set(node, "axis", 0); }) == std::vector<Reals>{{3, 5, 1}});
  CHECK_THROWS_WITH(best(4, {"v", "i"}, {}), contains_text("the count is not between 1 and 3"));
}

TEST_CASE("CumSum and ArgMin") {
  const auto sums = [](const Change& change) {
    OnnxFile file(16);
    file.constant<std::int64_t>("axis", {}, {-1});
    return of_node(file, "CumSum", {"axis"}, {"y"}, numbers, change)[0];
  };
  CHECK(sums({}) == Reals{3, 4, 5, -2, 3, 1});
  CHECK(sums([](auto& node) { set(node, "exclusive", 1), set(node, "reverse", 1); }) == Reals{2, 1, 0, 3, -2, 0});
  OnnxFile file(16);
  CHECK(of_node(file, "ArgMin", {}, {"y"}, numbers, [](auto& node) { set(node, "axis", 1); })[0] == Reals{1, 0});
}

TEST_CASE("Elu, Floor, Ceil and LogSoftmax over either axis") {
  const Reals x{-1.5F, 2.25F, 0, -0.25F, 1, -3};
  const auto of_one = [&](const std::string& op, std::int64_t opset, const Change& change) {
    OnnxFile file(opset);
    return of_node(file, op, {}, {"y"}, x, change)[0];
  };
  Reals elu, floors, ceils, rows, columns, flat;
  double whole = 0;
  for (const float value : x) whole += std::exp(double{value} - 2.25);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = double{x[i]};
    elu.push_back(static_cast<float>(v < 0 ? 0.5 * std::expm1(v) : v));
    floors.push_back(std::floor(x[i]));
    ceils.push_back(std::ceil(x[i]));
    const auto of = [&](const std::vector<std::size_t>& places) {
      double top = -1e9, sum = 0;
      for (const std::size_t place : places) top = std::max(top, double{x[place]});
      for (const std::size_t place : places) sum += std::exp(double{x[place]} - top);
      return static_cast<float>(v - top - std::log(sum));
    };
    const std::size_t row = i / 3 * 3;
    rows.push_back(of({row, row + 1, row + 2}));
    columns.push_back(of({i % 3, i % 3 + 3}));
    flat.push_back(static_cast<float>(v - 2.25 - std::log(whole)));
  }
  CHECK(of_one("Elu", 16, [](auto& node) { set(node, "alpha", 0.5F); }) == elu);
  CHECK(of_one("Floor", 16, {}) == floors);
  CHECK(of_one("Ceil", 16, {}) == ceils);
  CHECK(of_one("LogSoftmax", 16, {}) == rows);
  CHECK(of_one("LogSoftmax", 16, [](auto& node) { set(node, "axis", 0); }) == columns);
  CHECK(of_one("LogSoftmax", 11, [](auto& node) { set(node, "axis", 0); }) == flat);
}

TEST_CASE("DepthToSpace and SpaceToDepth, as the standard's reference shapes them") {
  const auto of = [](const std::string& op, const Integers& shape, const std::string& mode) {
    OnnxFile file(13);
    file.input("x", shape);
    auto& node = file.node(op, {"x"}, {"y"});
    set(node, "blocksize", 2);
    if (!mode.empty()) set(node, "mode", mode.c_str());
    Tensor x(ElementType::float32, Shape(shape));
    std::iota(x.values<float>().begin(), x.values<float>().end(), 0.0F);
    return outputs(file.output("y").read(), "float", {x})[0];
  };
  const Tensor by_rows = of("DepthToSpace", {1, 8, 1, 2}, "DCR"), by_channel = of("DepthToSpace", {1, 8, 1, 2}, "CRD");
  CHECK(by_rows.shape() == Shape{1, 2, 2, 4});
  CHECK(listed(by_rows) == Reals{0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15});
  CHECK(listed(by_channel) == Reals{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
  CHECK(listed(of("DepthToSpace", {1, 8, 1, 2}, "")) == listed(by_rows));
  const Tensor deep = of("SpaceToDepth", {1, 2, 2, 4}, "");
  CHECK(deep.shape() == Shape{1, 8, 1, 2});
  CHECK(listed(deep) == Reals{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15});
}

TEST_CASE("blocks that do not fit are refused") {
  const auto refused = [](const std::string& op, const Integers& shape, const std::string& mode) {
    OnnxFile file(13);
    file.input("x", shape);
    auto& node = file.node(op, {"x"}, {"y"});
    set(node, "blocksize", 2);
    if (!mode.empty()) set(node, "mode", mode.c_str());
    return refusal(file.output("y"));
  };
  CHECK(refused("DepthToSpace", {1, 6, 2, 2}, "") == "test.onnx: DepthToSpace (node 0): blocks of 2 do not fit the channels");
  CHECK(refused("DepthToSpace", {1, 4, 2, 2}, "XYZ") == "test.onnx: DepthToSpace (node 0): mode 'XYZ'");
  CHECK(refused("SpaceToDepth", {1, 1, 3, 2}, "") == "test.onnx: SpaceToDepth (node 0): blocks of 2 do not fit the image");
  CHECK(refused("SpaceToDepth", {4, 4, 2}, "") == "test.onnx: SpaceToDepth (node 0): the input has 3 dimensions; 4 are needed");
}

TEST_CASE("GatherND at constant indices, and OneHot with indices from either end") {
  const auto picked = [](const Integers& shape, const std::vector<std::int64_t>& indices) {
    OnnxFile file(16);
    file.constant<std::int64_t>("at", shape, indices);
    return of_node(file, "GatherND", {"at"}, {"y"}, numbers)[0];
  };
  CHECK(picked({2, 2}, {1, 2, 0, -3}) == Reals{-2, 3});
  CHECK(picked({2, 1}, {1, 0}) == Reals{-2, 5, -2, 3, 1, 1});
  CHECK_THROWS_WITH(picked({1, 2}, {0, 3}), contains_text("index 3 of 3"));
  OnnxFile file(16);
  file.constant<std::int64_t>("depth", {}, {2});
  file.constant<float>("values", {2}, {-1, 4});
  CHECK(of_node(file, "OneHot", {"depth", "values"}, {"y"}, {0, 1, 2, -1, -2, -3})[0] == Reals{4, -1, -1, 4, -1, -1, -1, 4, 4, -1, -1, -1});
}
