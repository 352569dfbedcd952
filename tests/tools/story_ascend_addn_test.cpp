// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/trace.hpp"
#include "story.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool;

namespace {

const std::filesystem::path& data() {
  static const std::filesystem::path folder = test::source_directory() / "examples";
  return folder;
}
const StoryFigures& figures() {
  static const StoryFigures all = ascend_addn_figures(data());
  return all;
}
const std::vector<std::string>& device(std::size_t number) { return figures().tables.at("devices").at(number); }

/// Results that left float16, with operations kept in float32.
std::int64_t left_float16(const std::string& keep) {
  const SpecSheet sheet = find_backend("ascend310");
  const std::vector<Tensor> image{read_npy(data() / "ascend-addn/image.npy")};
  const Model device = quantize(read_model(data() / "ascend-addn/model.json"), sheet, {&image, 1}, {{"keep", keep}}).model;
  std::int64_t left = 0;
  for (const NamedEvents& at : run_named(device, sheet, image).events) left += at.events.saturated_outputs;
  return left;
}

}  // namespace

TEST_CASE("ascend-addn: in saturation mode every sum is 65504, which RED and KLD show and cosine does not") {
  CHECK(device(0)[0] == "ascend310");
  CHECK(device(0)[1] == "nothing");
  CHECK(device(0)[2] == "65504");
  CHECK(device(0)[3] == "0.992");
  CHECK(device(0)[4] == "0.302");
  CHECK(device(0)[5] == "0.335");
  CHECK(std::stoi(device(0)[6]) < 500);
  CHECK(device(0)[6].ends_with(" of 1000"));
  CHECK(left_float16("none") == 1000);
}

TEST_CASE("ascend-addn: no values of the range can bring a constant's cosine below the bound") {
  // The bound is reached by values at both ends, in the ratio that makes their cosine smallest.
  const double a = std::stod(figures().texts.at("smallest")), b = std::stod(figures().texts.at("largest"));
  double smallest = 1;
  for (int percent = 0; percent <= 100; ++percent) {
    const double share = percent / 100.0;
    smallest = std::min(smallest, (share * a + (1 - share) * b) / std::sqrt(share * a * a + (1 - share) * b * b));
  }
  CHECK(figures().texts.at("smallest cosine") == "0.9765");
  CHECK(fixed(smallest, 4) == "0.9765");
}

TEST_CASE("ascend-addn: in infinity mode every sum is infinite") {
  CHECK(device(1)[0] == "ascend910b");
  CHECK(device(1)[2] == "inf");
}

TEST_CASE("ascend-addn: the sum is the first to leave float16, and the only one") {
  CHECK(figures().texts.at("first to leave") == "AddN");
  for (const auto& at : figures().tables.at("headroom")) {
    INFO(at[0] << " " << at[2]);
    CHECK((std::stod(at[2]) < 0) == (at[0] == "AddN"));
    CHECK(std::abs(std::stod(at[2]) - std::log2(65504 / std::stod(at[1]))) < 0.006);
  }
}

TEST_CASE("ascend-addn: the smallest set kept in float32 cures it, and no operation of it can be left out") {
  CHECK(device(3)[0] == "ascend310");
  CHECK(device(3)[1] == "AddN, scale");
  CHECK(figures().texts.at("left") == "0");
  CHECK(std::stoi(device(3)[6]) > 950);  // some scores near a border between classes tie in float16
  CHECK(std::stod(device(3)[4]) <= 0.001);
  for (const char* one : {"AddN", "scale"}) CHECK(left_float16(one) > 0);
}

TEST_CASE("ascend-addn: with saturating sums the order is part of the result") {
  std::vector<std::string> sums;
  for (const auto& at : figures().tables.at("orders")) sums.push_back(at[2]);
  CHECK(sums == std::vector<std::string>{"5504", "60000", "inf", "60000"});
}
