// A stranger who links the compiled library: x + x, whose output scale is twice the input's, is x again.
#include <lastbit/backends/tflite.hpp>
#include <lastbit/emulator.hpp>

#include <array>
#include <cstdint>

int main() {
  using namespace lastbit;
  const Shape shape{1, 4};
  const Model model{.name = "sum",
                    .tensors = {{.name = "x", .shape = shape, .quantization = {.scales = {0.5}}},
                                {.name = "sum", .shape = shape, .quantization = {.scales = {1.0}}}},
                    .operations = {{.kind = OperationKind::add,
                                    .name = "sum",
                                    .inputs = {0, 0},
                                    .outputs = {1},
                                    .attributes = default_attributes(OperationKind::add)}},
                    .inputs = {0},
                    .outputs = {1}};
  const std::array<std::int8_t, 4> values{-128, -1, 0, 127};
  const Tensor x = Tensor::from<std::int8_t>(shape, values);
  const Trace trace = run(model, tflite_double, std::array{x});
  return trace.tensors[1] == x ? 0 : 1;
}
