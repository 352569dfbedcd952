// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures of a report under the names that CSV and JSON share.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "lastbit/compare.hpp"

namespace lastbit {

struct MetricField {
  std::string_view name;
  double ElementMetrics::*value;
};

inline constexpr std::array<MetricField, 10> metric_fields{{
    {"cosine", &ElementMetrics::cosine},
    {"sqnr_db", &ElementMetrics::sqnr_db},
    {"relative_euclidean", &ElementMetrics::relative_euclidean},
    {"kullback_leibler", &ElementMetrics::kullback_leibler},
    {"max_absolute_error", &ElementMetrics::max_absolute_error},
    {"mean_absolute_error", &ElementMetrics::mean_absolute_error},
    {"root_mean_square_error", &ElementMetrics::root_mean_square_error},
    {"accumulated_relative_error", &ElementMetrics::accumulated_relative_error},
    {"max_relative_error", &ElementMetrics::max_relative_error},
    {"mean_relative_error", &ElementMetrics::mean_relative_error},
}};

/// In the order of LsbHistogram::counts.
inline constexpr std::array<std::string_view, 9> histogram_names{"<-3", "-3", "-2", "-1", "0", "+1", "+2", "+3", ">+3"};

/// printf with one number; NaN without a sign, infinity as "inf" or "-inf".
[[nodiscard]] std::string number_text(const char* format, double value);

/// A text as one cell of CSV: quoted where it must be. A spreadsheet would compute what begins with = + - or @, so that has an apostrophe before it.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// The titles of the lines of csv_line, with an end of line.
[[nodiscard]] std::string csv_header();
/// Every figure of one difference of the layer, which is of this kind: "accumulated".
[[nodiscard]] std::string csv_line(const LayerDifference& layer, std::string_view kind, const TensorDifference& d);

/// "[0,3,5,1]"
[[nodiscard]] std::string coordinates_text(const Shape& shape, std::int64_t index);

}  // namespace lastbit
