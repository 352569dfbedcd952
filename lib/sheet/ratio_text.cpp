// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/ratio_text.hpp"

#include <algorithm>
#include <charconv>

#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

/// "a", "a*b", "1" for neither.
std::string product_text(const std::array<Quantity, 2>& factors) {
  std::string text;
  for (const Quantity factor : factors) {
    if (factor != Quantity::one) text += (text.empty() ? "" : "*") + std::string(name_of(factor));
  }
  return text.empty() ? "1" : text;
}

std::optional<std::array<Quantity, 2>> product_from(std::string_view text) {
  std::array<Quantity, 2> factors{};
  if (text == "1") return factors;
  for (Quantity& factor : factors) {
    const std::size_t length = std::min(text.find('*'), text.size());
    const auto found = enumerator_from<Quantity>(text.substr(0, length));
    if (!found || *found == Quantity::one) return std::nullopt;
    factor = *found;
    if (length == text.size()) return factors;
    text.remove_prefix(length + 1);
  }
  return std::nullopt;
}

}  // namespace

std::string text_of(const Ratio& ratio) {
  const std::string under = product_text(ratio.under);
  std::string text = product_text(ratio.over);
  if (ratio.product_in_float) text = "float(" + text + ")";
  if (under != "1") text += under.find('*') == std::string::npos ? "/" + under : "/(" + under + ")";
  return ratio.exponent == 0 ? text : text + "*2^" + std::to_string(ratio.exponent);
}

std::optional<Ratio> ratio_from(std::string_view text) {
  Ratio ratio;
  if (const std::size_t power = text.find("*2^"); power != std::string_view::npos) {
    const std::string_view digits = text.substr(power + 3);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ratio.exponent);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    text = text.substr(0, power);
  }
  std::string_view under = "1";
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    under = text.substr(slash + 1);
    text = text.substr(0, slash);
    if (under.starts_with('(') && under.ends_with(')')) under = under.substr(1, under.size() - 2);
  }
  constexpr std::string_view in_float = "float(";
  if (text.starts_with(in_float) && text.ends_with(')')) {
    ratio.product_in_float = true;
    text = text.substr(in_float.size(), text.size() - in_float.size() - 1);
  }
  const auto above = product_from(text), below = product_from(under);
  if (!above || !below) return std::nullopt;
  ratio.over = *above;
  ratio.under = *below;
  return ratio;
}

std::vector<Ratio> ratios_beside(const Ratio& ratio) {
  std::vector<Ratio> list{ratio, ratio};
  --list[0].exponent;
  ++list[1].exponent;
  if (ratio.over[1] != Quantity::one) {
    list.push_back(ratio);
    list.back().product_in_float = !ratio.product_in_float;
  }
  for (const auto side : {&Ratio::over, &Ratio::under}) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (const auto& [from, to] :
           {std::pair(Quantity::in, Quantity::larger_in), std::pair(Quantity::in, Quantity::first_in),
            std::pair(Quantity::larger_in, Quantity::first_in), std::pair(Quantity::first_in, Quantity::larger_in)}) {
        if ((ratio.*side)[i] != from) continue;
        (list.emplace_back(ratio).*side)[i] = to;
      }
    }
  }
  return list;
}

}  // namespace lastbit
