// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A dump of one file, with a table beside it that tools write: the first byte says what the file is called, the rest is its content.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "lastbit/dump.hpp"
#include "lastbit/model_builder.hpp"
#include "reader.hpp"
#include "scratch_file.hpp"

namespace {

using namespace lastbit;

/// x, [1,2,3,4], and y, of the same shape.
Model small_model() {
  ModelBuilder builder("small");
  const auto x = builder.input({"x", ElementType::int8, {1, 2, 3, 4}, {{0.5}, {3}}});
  return builder.finished({builder.operation(OperationKind::relu, {x}, {"net/y", ElementType::int8, {1, 2, 3, 4}, {{0.5}, {3}}})});
}

constexpr std::array names{"x.npy",
                           "net_y.bin",
                           "net_y.txt",
                           "a.npz",
                           "Relu.net_y.1.2.3.output.0.NC1HWC0.npy",
                           "001_Relu_net_y_shape_1_4_2_3_float.npy",
                           "RELU_uid_1_t_0_s_3_2_4_1.txt",
                           "tidl_trace_0004_00001_00004_00003x00002.y",
                           "layer_info.txt",
                           "map_name_to_file.txt",
                           "mapping.csv"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Model model = small_model();
  static const std::filesystem::path folder = [] {
    std::filesystem::path path = fuzz::scratch_folder() / "dump";
    std::filesystem::create_directory(path);
    return path;
  }();
  if (size == 0) return 0;
  const std::string name = std::string("dump/") + names[data[0] % names.size()];
  fuzz::folder_with("dump/tidl_trace_0004_00001_00004_00003x00002.y", std::string(24, '\1'));  // which tables name
  fuzz::folder_with(name.c_str(), data + 1, size - 1);
  const int result = fuzz::expect_value_or_error([&] { static_cast<void>(read_dump(folder, model)); });
  std::filesystem::remove(fuzz::scratch_folder() / name);
  return result;
}
