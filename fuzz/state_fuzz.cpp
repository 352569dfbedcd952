// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sweep's state of any bytes is taken up where it is that sweep's, or is refused.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/samples.hpp"
#include "lastbit/sweep.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

namespace {

using namespace lastbit;

Model one_relu() {
  ModelBuilder builder("one relu");
  const auto x = builder.input({"x", ElementType::int8, {1, 4}, {{0.5}, {0}}});
  return builder.finished({builder.operation(OperationKind::relu, {x}, {"y", ElementType::int8, {1, 4}, {{0.5}, {0}}})});
}

/// Two backends on three samples.
struct Sweep {
  Model model = one_relu();
  Sweeper sweeper{model, {find_backend("tflite_double"), find_backend("xnnpack")}};
  SampleSource source{model, places()};

  static std::vector<std::filesystem::path> places() {
    const std::filesystem::path file = fuzz::scratch_folder() / "samples.npy";
    write_npy(file, Tensor::from<std::int8_t>({3, 1, 4}, std::vector<std::int8_t>{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}));
    return {file};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Sweep sweep;
  return fuzz::expect_value_or_error([&] {
    const SweepState state(fuzz::folder_with("sweep.json", data, size) / "sweep.json", sweep.sweeper, sweep.source);
    static_cast<void>(state.missing());
  });
}
