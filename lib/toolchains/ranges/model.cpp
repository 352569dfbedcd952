// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Scales and zero points of a quantised network, by the names of its tensors; what quantize reads and dequantize writes has those of the codes.
#include <set>

#include "lastbit/io/model_file.hpp"
#include "toolchains/ranges/forms.hpp"

namespace lastbit::ranges {

RangeFile read_model_ranges(const std::filesystem::path& path) {
  const Model model = read_model(path);
  Collector collector(path.string(), "a quantised model", true);
  std::set<std::string, std::less<>> names;
  const auto add = [&](const std::string& name, const ModelTensor& tensor) {
    if (!is_integer(tensor.type) || !tensor.quantization.present() || !names.insert(name).second) return;
    TensorRange& range = collector.add(name, 0);
    range.type = tensor.type;
    Collector::set_codes(range, tensor.quantization);
  };
  for (const ModelTensor& tensor : model.tensors) add(tensor.name, tensor);
  for (const Operation& operation : model.operations) {
    const ModelTensor& read = model.tensor(operation.inputs[0]);
    const ModelTensor& written = model.tensor(operation.outputs[0]);
    if (operation.kind == OperationKind::quantize) add(read.name, written);
    if (operation.kind == OperationKind::dequantize) add(written.name, read);
  }
  return collector.finish();
}

}  // namespace lastbit::ranges
