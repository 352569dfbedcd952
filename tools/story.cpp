// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>

#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"

namespace lastbit::tool {

const std::vector<Story>& stories() {
  static const std::vector<Story> all{
      {"digits", "a network that reads handwritten digits, on every backend", nullptr, print_digits},
      {"gna-concat", "Intel GNA: a concat and a convolution are each right alone, and wrong together", gna_concat_figures},
      {"vipnano-conv", "VeriSilicon VIPNano: a single convolution differs by one, and twenty of them by much", vipnano_conv_figures},
      {"bpu-pool-exp", "Horizon BPU: a pool at cosine 0.84, and an exponential that answers with a constant", bpu_pool_exp_figures},
      {"ascend-addn", "Huawei Ascend: a detector in float16 finds nothing, and a sum of feature maps is 65504 everywhere",
       ascend_addn_figures},
      {"n2d2-shift", "N2D2: the shifts of an export, what each way of scaling costs, and where the simulator differs from it",
       n2d2_shift_figures},
      {"vnni-laptop", "x86: an int8 model is right on the server and wrong on a laptop without VNNI", vnni_laptop_figures},
      {"rockchip-board", "Rockchip RK3588: the simulator is fine, the board differs", rockchip_board_figures},
  };
  return all;
}

void tell(const Story& story, const StoryOptions& options) {
  if (story.print != nullptr && options.plot.empty()) return story.print(options);
  if (story.print != nullptr) throw Error(ErrorCode::bad_input, "--plot", "the demo " + story.name + " has no plot");
  const std::filesystem::path file = options.data / story.name / "page.txt";
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty()) throw Error(ErrorCode::unreadable_file, file.string(), "what the demo says cannot be read");
  const Page page(text, story.figures(options.data), file.string());
  if (!options.plot.empty()) draw(page.plot(), options.plot);
  std::cout << (options.json ? page.to_json() : page.to_text());
}

Digits read_digits(const std::filesystem::path& data) {
  const Tensor labels = read_npy(data / "test_labels.npy");
  Digits digits{read_model(data / "model.json"), read_npy(data / "test_images.npy"), {}};
  const bool fits = labels.type() == ElementType::int64 && digits.images.shape().rank() > 0 &&
                    labels.element_count() == digits.images.shape()[0] && digits.model.outputs.size() == 1;
  if (!fits) throw Error(ErrorCode::bad_input, (data / "test_labels.npy").string(), "one int64 label per image is needed");
  digits.labels.assign(labels.values<std::int64_t>().begin(), labels.values<std::int64_t>().end());
  return digits;
}

std::vector<Tensor> samples_of(const Tensor& batch, const Shape& shape, std::size_t count) {
  std::vector<Tensor> samples(count, Tensor(batch.type(), shape));
  const std::size_t size = samples.at(0).bytes().size();
  if (batch.bytes().size() < count * size)
    throw Error(ErrorCode::shape_mismatch, "batch of " + batch.shape().text(),
                std::to_string(count) + " times " + shape.text() + " is needed");
  for (std::size_t i = 0; i < count; ++i) std::ranges::copy(batch.bytes().subspan(i * size, size), samples[i].bytes().begin());
  return samples;
}

double largest_magnitude(const Tensor& real) {
  const auto [low, high] = std::ranges::minmax(real.values<float>());
  return std::max(-double{low}, double{high});
}

double share_equal(const std::vector<std::int64_t>& answers, const std::vector<std::int64_t>& right) {
  const int hits = std::inner_product(answers.begin(), answers.end(), right.begin(), 0, std::plus<>(), std::equal_to<>());
  return static_cast<double>(hits) / static_cast<double>(right.size());
}

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.5), at(0.05), at(0.95)};
}

}  // namespace lastbit::tool
