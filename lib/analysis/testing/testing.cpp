// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/testing.hpp"

#include <cstdlib>
#include <ostream>

#include "compare/report_fields.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/recording.hpp"

namespace lastbit {

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << name_of(tensor.type()) << " " << tensor.shape().text(); }

namespace testing {
namespace {

std::string type_of(const Values& values) {
  const std::string type(name_of(values.tensor.type()));
  if (values.has_shape) return type + " " + values.tensor.shape().text();
  return values.tensor.shape().text() + " " + type + " values";
}

/// What keeps the two from being compared value by value, or nothing.
std::string mismatch(const Values& actual, const Values& expected, const Tolerance& tolerance) {
  const bool both_shaped = actual.has_shape && expected.has_shape;
  const bool same_shape =
      both_shaped ? actual.tensor.shape() == expected.tensor.shape() : actual.tensor.element_count() == expected.tensor.element_count();
  if (actual.tensor.type() != expected.tensor.type() || !same_shape) return "got " + type_of(actual) + ", expected " + type_of(expected);
  if (tolerance.lsb > 0 && !is_integer(expected.tensor.type())) return "LSB need integers, got " + type_of(actual);
  return {};
}

std::string explain(const TensorDifference& d, const Shape& shape, const Tolerance& tolerance) {
  std::string text = std::to_string(d.differing) + " of " + std::to_string(d.values) + " values differ (" + Tolerance::percent(d.share());
  if (tolerance.share > 0) text += ", allowed " + Tolerance::percent(tolerance.share);
  text += ")";
  if (d.largest_lsb) {
    text += "; largest " + number_text("%+.0f", static_cast<double>(*d.largest_lsb)) + " LSB";
    if (tolerance.lsb > 0) text += " (allowed " + std::to_string(tolerance.lsb) + ")";
  } else {
    text += "; largest " + number_text("%.9g", d.metrics.max_absolute_error);
  }
  return text + "; first at index " + std::to_string(d.first->index) + " " + coordinates_text(shape, d.first->index) + ": got " +
         number_text("%.17g", d.first->b) + ", expected " + number_text("%.17g", d.first->a);
}

}  // namespace

Verdict judge(const Values& actual, const Values& expected, const Tolerance& tolerance, const Computation* computation) {
  const std::string why_not = mismatch(actual, expected, tolerance);
  if (!why_not.empty()) return {false, why_not};
  const TensorDifference d = difference(expected.tensor, {}, actual.tensor, {});
  if (d.differing == 0) return {true, "every value is equal"};
  const bool near = d.largest_lsb && *d.largest_lsb >= -tolerance.lsb && *d.largest_lsb <= tolerance.lsb;
  const bool passed = near && d.share() <= tolerance.share;
  std::string message = explain(d, (expected.has_shape ? expected : actual).tensor.shape(), tolerance);
  if (!passed && computation != nullptr) message += "\n" + explanation(*computation, d.first->index);
  return {passed, std::move(message)};
}

Verdict equal_for_every_input(const Model& model, const Device& a, const Device& b, AssumptionsAre assumptions) {
  const Certificate certificate = certify(model, a, b, {});
  return {certificate.holds(assumptions), to_text(certificate, {}, assumptions)};
}

Verdict unchanged_since(const std::filesystem::path& folder, const Model& model, const Device& backend) {
  const RecordingReport report = check_recording(folder, model, backend);
  return {report.passed(), to_text(report)};
}

std::string Matcher::description() const { return tolerance_.of(type_of(expected_)); }

}  // namespace testing
}  // namespace lastbit
