// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_peer.hpp"

#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "layers.hpp"
#include "other_process.hpp"

namespace lastbit::bench {
namespace {

constexpr int chain_length = 16;  // so that the call itself is not what is measured

onnx::TensorProto::DataType type_of(ElementType type) {
  return type == ElementType::uint8  ? onnx::TensorProto::UINT8
         : type == ElementType::int8 ? onnx::TensorProto::INT8
                                     : onnx::TensorProto::INT32;
}

/// The graph's constants, by the names under which nodes read them.
class Constants {
 public:
  explicit Constants(onnx::GraphProto& graph) : graph_(graph) {}

  void add(const char* name, onnx::TensorProto::DataType type, const std::vector<std::int64_t>& sizes, std::string bytes) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t size : sizes) tensor.add_dims(size);
    tensor.set_raw_data(std::move(bytes));
  }
  void add_scales(const char* name, const Quantization& quantization) {
    std::string bytes;
    for (const double scale : quantization.scales) {
      const auto value = static_cast<float>(scale);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    add(name, onnx::TensorProto::FLOAT, sizes_of(quantization), bytes);
  }
  void add_zero_points(const char* name, const ModelTensor& tensor) {
    std::string bytes;
    for (const std::int64_t zero : tensor.quantization.zero_points) bytes += static_cast<char>(zero);
    add(name, type_of(tensor.type), sizes_of(tensor.quantization), bytes);
  }

 private:
  static std::vector<std::int64_t> sizes_of(const Quantization& quantization) {
    const auto count = static_cast<std::int64_t>(quantization.scales.size());
    return count == 1 ? std::vector<std::int64_t>{} : std::vector{count};
  }
  onnx::GraphProto& graph_;
};

/// OHWI as OIHW.
std::string channels_first(const Tensor& weights) {
  const Shape& s = weights.shape();
  const auto from = weights.values<std::int8_t>();
  std::string bytes;
  for (std::int64_t o = 0; o < s[0]; ++o)
    for (std::int64_t i = 0; i < s[3]; ++i)
      for (std::int64_t tap = 0; tap < s[1] * s[2]; ++tap)
        bytes += static_cast<char>(from[static_cast<std::size_t>((o * s[1] * s[2] + tap) * s[3] + i)]);
  return bytes;
}

void describe(onnx::ValueInfoProto& value, const char* name, const ModelTensor& tensor) {
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(type_of(tensor.type));
  for (const std::size_t axis : {std::size_t{0}, std::size_t{3}, std::size_t{1}, std::size_t{2}})
    type.mutable_shape()->add_dim()->set_dim_value(tensor.shape[axis]);
}

void add_node(onnx::GraphProto& graph, const std::string& from, const std::string& to, std::int64_t padding) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("QLinearConv");
  for (const char* const name : {from.c_str(), "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"})
    node.add_input(name);
  node.add_output(to);
  onnx::AttributeProto& pads = *node.add_attribute();
  pads.set_name("pads");
  pads.set_type(onnx::AttributeProto::INTS);
  for (int side = 0; side < 4; ++side) pads.add_ints(padding);
}

std::string onnx_of(const Model& layer) {
  const ModelTensor &in = layer.tensors[0], &weights = layer.tensors[1], &bias = layer.tensors[2], &out = layer.tensors[3];
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("chain");
  Constants constants(graph);
  constants.add_scales("x_scale", in.quantization);
  constants.add_zero_points("x_zero", in);
  constants.add("w", type_of(weights.type), {weights.shape[0], weights.shape[3], weights.shape[1], weights.shape[2]},
                channels_first(*weights.constant));
  constants.add_scales("w_scale", weights.quantization);
  constants.add_zero_points("w_zero", weights);
  constants.add_scales("y_scale", out.quantization);
  constants.add_zero_points("y_zero", out);
  const auto bytes = bias.constant->bytes();
  constants.add("bias", onnx::TensorProto::INT32, {bias.shape[0]}, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  describe(*graph.add_input(), "x", in);
  for (int i = 0; i < chain_length; ++i)
    add_node(graph, i == 0 ? "x" : "t" + std::to_string(i), i + 1 == chain_length ? "y" : "t" + std::to_string(i + 1),
             weights.shape[1] / 2);
  describe(*graph.add_output(), "y", out);
  return model.SerializeAsString();
}

Trial onnxruntime_trial(const Model& layer, const char* package) {
  const auto file = std::filesystem::temp_directory_path() / ("lastbit_bench_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(file, std::ios::binary) << onnx_of(layer);
  const ModelTensor& in = layer.tensors[0];
  std::vector<std::string> command{"node", LASTBIT_SOURCE_DIR "/bench/onnxruntime_peer.js", package, file.string(),
                                   std::string(name_of(in.type))};
  for (const std::size_t axis : {std::size_t{0}, std::size_t{3}, std::size_t{1}, std::size_t{2}})
    command.push_back(std::to_string(in.shape[axis]));
  const auto process = std::make_shared<OtherProcess>(command, "");
  static_cast<void>(process->seconds(1));  // it has read the file
  std::filesystem::remove(file);
  return {
      static_cast<double>(multiply_adds_of(layer)), {}, {}, [process](std::int64_t runs) { return process->seconds(runs) / chain_length; }};
}

}  // namespace

std::vector<Side> onnxruntime_sides(const std::function<Model()>& layer) {
  const char* const package = std::getenv("LASTBIT_ONNXRUNTIME");
  if (package == nullptr) return {};
  return {{"onnxruntime", [=] { return onnxruntime_trial(layer(), package); }, Clock::other_process}};
}

}  // namespace lastbit::bench
