// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A recording's folder: golden.json of any bytes, checked against a network of one layer; the report of it is one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "lastbit/recording.hpp"
#include "one_relu.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

namespace {

using namespace lastbit;

/// The arrays of a recording lie in the scratch folder.
struct Recorded {
  Model model = fuzz::one_relu();
  SpecSheet backend = fuzz::relu_alone("half_up");

  Recorded() {
    write_recording(fuzz::scratch_folder(), model, backend,
                    std::vector{Tensor::from<std::int8_t>({1, 4}, std::vector<std::int8_t>{1, -2, 3, -4})});
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Recorded recorded;
  return fuzz::expect_value_or_error([&] {
    const RecordingReport report = check_recording(fuzz::folder_with("golden.json", data, size), recorded.model, recorded.backend);
    if (to_text(report).empty() || to_json(report).empty()) std::abort();
  });
}
