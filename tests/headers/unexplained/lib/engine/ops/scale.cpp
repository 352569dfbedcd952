// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// 7 here is none, nor in "7".
constexpr int explained_by_name = 77, not_explained_by_name = 78;
int explained(int x) { return narrow_wrap(x * 255.0F, 2) + from[5] + (rule == Rounding::floor ? 1 : 0); }
int unexplained(int x) { return narrow_wrap(x * 0x100, 16); }
int rounded(double x) { return round_to_integer(x, Rounding::half_up); }
