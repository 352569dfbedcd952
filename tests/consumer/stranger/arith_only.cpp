// A stranger who needs the rules and nothing else: a negative tie tells half_up from half_away.
#include <lastbit/arith/rounding.hpp>

#include <cstdint>

int main() {
  static_assert(lastbit::shift_right(std::int64_t{-3}, 1, lastbit::Rounding::half_up) == -1);
  static_assert(lastbit::shift_right(std::int64_t{-3}, 1, lastbit::Rounding::half_away) == -2);
}
