// A stranger who links the compiled library.
#include <lastbit/version.hpp>

int main() { return lastbit::version().empty() ? 1 : 0; }
