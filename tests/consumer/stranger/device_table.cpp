// A stranger who reads devices: as constants, and by name.
#include <lastbit/backends/tflite.hpp>
#include <lastbit/registry.hpp>

static_assert(lastbit::tflite_double != lastbit::tflite_single);

int main() { return lastbit::find_backend("tflite_single").backend == lastbit::tflite_single ? 0 : 1; }
