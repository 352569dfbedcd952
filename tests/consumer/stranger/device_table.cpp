// A stranger who reads devices as constants.
#include <lastbit/backends/tflite.hpp>

int main() { static_assert(lastbit::tflite_double != lastbit::tflite_single); }
