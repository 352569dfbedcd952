// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of half.hpp over the vectors of one path. Included inside that path's namespace, and inside the region that enables its
// instructions, by half_<path>.cpp, which has defined Halves and Floats before.

template <HalfOp op>
inline Floats combined(Floats a, const std::uint16_t* b) {
  if constexpr (op == HalfOp::add) return a + floats_of(Halves::load(b));
  if constexpr (op == HalfOp::subtract) return a - floats_of(Halves::load(b));
  if constexpr (op == HalfOp::multiply) return a * floats_of(Halves::load(b));
  if constexpr (op == HalfOp::prelu) return times_where_negative(a, floats_of(Halves::load(b)));
  return a;
}

template <HalfOp op>
std::size_t combine_as(const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* out, std::size_t count, const HalfBounds* bounds) {
  std::size_t i = 0;
  for (; i + Halves::lanes <= count; i += Halves::lanes) {
    Halves result = halves_of(combined<op>(floats_of(Halves::load(a + i)), b + i));
    if (has_special(result)) return i;
    if (bounds != nullptr) result = bounded(result, *bounds);
    result.store(out + i);
  }
  return i;
}

std::size_t combine(HalfOp op, const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* out, std::size_t count,
                    const HalfBounds* bounds) {
  switch (op) {
    case HalfOp::add: return combine_as<HalfOp::add>(a, b, out, count, bounds);
    case HalfOp::subtract: return combine_as<HalfOp::subtract>(a, b, out, count, bounds);
    case HalfOp::multiply: return combine_as<HalfOp::multiply>(a, b, out, count, bounds);
    case HalfOp::prelu: return combine_as<HalfOp::prelu>(a, b, out, count, bounds);
    case HalfOp::pass: break;
  }
  return combine_as<HalfOp::pass>(a, a, out, count, bounds);
}

std::size_t from_float(const float* in, std::uint16_t* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + Halves::lanes <= count; i += Halves::lanes) {
    const Halves result = halves_of(Floats::load(in + i));
    if (has_special(result)) return i;
    result.store(out + i);
  }
  return i;
}

std::size_t to_float(const std::uint16_t* in, float* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + Halves::lanes <= count; i += Halves::lanes) floats_of(Halves::load(in + i)).store(out + i);
  return i;
}
