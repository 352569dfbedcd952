// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A certificate gone through again, without the search that made it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "analysis/certify/certifier.hpp"
#include "analysis/certify/every_code.hpp"
#include "analysis/rules_checksum.hpp"
#include "engine/finisher.hpp"
#include "engine/parallel.hpp"
#include "formats/file.hpp"
#include "formats/json.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/error.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/recording.hpp"

namespace lastbit {
namespace {

constexpr const char* format = "lastbit.certificate.v1";

struct Counted {
  std::int64_t cases = 0, differing = 0, largest = 0;

  void add(std::int64_t a, std::int64_t b) {
    differing += a != b ? 1 : 0;
    largest = std::max(largest, std::abs(a - b));
  }
  Counted& operator+=(const Counted& other) {
    cases += other.cases;
    differing += other.differing;
    largest = std::max(largest, other.largest);
    return *this;
  }
};

/// Every accumulator of the column, computed by both sides.
class EveryAccumulator {
 public:
  EveryAccumulator(const SharedSums& sums, const SharedSums::Column& column, ElementType type)
      : range_(column.accumulators),
        range_b_(column.accumulators_b.value_or(range_)),
        a_(sums.a, {column.a}, FinisherInput{range_.min, range_.max, 0}),
        b_(sums.b, {column.b}, FinisherInput{range_b_.min, range_b_.max, 0}),
        of_a_(type, Shape{at_once}),
        of_b_(type, Shape{at_once}) {}

  [[nodiscard]] Counted count() {
    const bool is_narrow = std::ranges::all_of(std::array{range_.min, range_.max, range_b_.min, range_b_.max},
                                               [](std::int64_t end) { return fits_width(end, 32); });
    return is_narrow ? count_as<std::int32_t>() : count_as<std::int64_t>();
  }

 private:
  static constexpr std::int64_t at_once = std::int64_t{1} << 14;

  template <class Sum>
  [[nodiscard]] Counted count_as() {
    Counted counted{.cases = range_.max - range_.min + 1};
    std::vector<Sum> sums(at_once), sums_b(at_once);
    for (std::int64_t first = range_.min; first <= range_.max; first += at_once) {
      const auto count = static_cast<std::size_t>(std::min(at_once, range_.max - first + 1));
      for (std::size_t i = 0; i < count; ++i) {
        sums[i] = static_cast<Sum>(first + static_cast<std::int64_t>(i));
        sums_b[i] = static_cast<Sum>(range_b_.min + (first - range_.min) + static_cast<std::int64_t>(i));
      }
      a_(std::span<const Sum>(sums.data(), count), of_a_, 0, nullptr);
      b_(std::span<const Sum>(sums_b.data(), count), of_b_, 0, nullptr);
      if (std::memcmp(of_a_.bytes().data(), of_b_.bytes().data(), count * size_of(of_a_.type())) == 0) continue;
      for (std::size_t i = 0; i < count; ++i)
        counted.add(of_a_.integer_at(static_cast<std::int64_t>(i)), of_b_.integer_at(static_cast<std::int64_t>(i)));
    }
    return counted;
  }

  IntegerRange range_, range_b_;  ///< the same sums, on each side
  Finisher a_, b_;
  Tensor of_a_, of_b_;
};

std::vector<Counted> count_columns(const SharedSums& sums, ElementType type) {
  std::vector<Counted> counted(sums.columns.size());
  for_each_part(std::ssize(counted), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      const SharedSums::Column& column = sums.columns[i];
      if (sums.a.empty() && sums.b.empty()) counted[i].cases = column.accumulators.max - column.accumulators.min + 1;
      else counted[i] = EveryAccumulator(sums, column, type).count();
    }
  });
  return counted;
}

Counted count_codes(const LayerOnBoth& layer) {
  Counted counted;
  const std::optional<EveryCode> found = compare_every_code(layer, CodeRoute::definition);
  if (!found) return counted;
  counted.cases = std::ssize(found->a);
  for (std::size_t i = 0; i < found->a.size(); ++i) counted.add(found->a[i], found->b[i]);
  return counted;
}

class Checker {
 public:
  Checker(const JsonView& certificate, const Model& model, const SpecSheet& a, const SpecSheet& b)
      : certificate_(certificate), model_(model) {
    require("the model's checksum", certificate["model_checksum"].text(), model_checksum(model));
    require("the checksum of the rules of side a", certificate["a"]["rules"].text(), rules_checksum(a));
    require("the checksum of the rules of side b", certificate["b"]["rules"].text(), rules_checksum(b));
    found_.layers = certificate["layers"].size();
  }

  void check(const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
    const std::optional<JsonView> stated = find(layer.index);
    if (!stated) return;
    ++seen_;
    place_ = "layer " + std::to_string(layer.index) + " '" + layer_name(model_, layer.index) + "'";
    const std::string by = (*stated)["decided_by"].text();
    const bool same = have_same_rules(layer);
    equal_ = equal_ && (*stated)["verdict"].text() == "equal";
    if (by == name_of(DecidedBy::same_rules)) return expect("same rules", same);
    if (by == name_of(DecidedBy::nothing)) return expect("an open verdict", (*stated)["verdict"].text() == "open");
    Counted all;
    if (sums && by == name_of(DecidedBy::accumulators)) all = check_channels((*stated)["channels"], layer, *sums);
    else all = count_codes(layer);
    found_.cases += all.cases;
    expect_number("cases", (*stated)["cases"], all.cases);
    expect_number("differing", (*stated)["differing"], all.differing);
    expect_number("largest_lsb", (*stated)["largest_lsb"], all.largest);
    expect("verdict '" + (*stated)["verdict"].text() + "'", (*stated)["verdict"].text() == (all.differing == 0 ? "equal" : "differs"));
  }

  [[nodiscard]] CertificateCheck finished() {
    place_ = "the network";
    expect(std::to_string(found_.layers) + " layers, of which it has " + std::to_string(seen_), seen_ == found_.layers);
    expect("equal", certificate_["equal"].boolean() == (equal_ && found_.layers > 0));
    return std::move(found_);
  }

 private:
  /// A certificate of something else is no certificate to be checked.
  void require(const std::string& what, const std::string& stated, const std::string& present) const {
    if (stated != present) throw Error(ErrorCode::bad_input, certificate_.where(), what + " is " + stated + "; here it is " + present);
  }

  void expect(const std::string& what, bool holds) {
    if (!holds) found_.wrong.push_back(place_ + ": it says " + what + ", which is not so");
  }
  void expect_number(const std::string& what, const JsonView& stated, std::int64_t counted) {
    if (stated.integer() != counted)
      found_.wrong.push_back(place_ + ": " + what + " " + std::to_string(stated.integer()) + ", counted " + std::to_string(counted));
  }

  [[nodiscard]] std::optional<JsonView> find(std::size_t operation) const {
    const JsonView layers = certificate_["layers"];
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (layers.at(i)["number"].integer() == static_cast<std::int64_t>(operation)) return layers.at(i);
    return std::nullopt;
  }

  Counted check_channels(const JsonView& stated, const LayerOnBoth& layer, const SharedSums& sums) {
    Counted all;
    const std::string place = place_;
    expect("sums that are the same on both sides", sums.open.empty());
    expect(std::to_string(stated.size()) + " channels", stated.size() == sums.columns.size());
    if (!sums.open.empty() || stated.size() != sums.columns.size()) return all;
    const std::vector<Counted> counted = count_columns(sums, layer.a.model().tensor(layer.operation().outputs[0]).type);
    for (std::size_t c = 0; c < counted.size(); ++c) {
      place_ = place + ", channel " + std::to_string(c);
      expect_number("lowest", stated.at(c)["lowest"], sums.columns[c].accumulators.min);
      expect_number("highest", stated.at(c)["highest"], sums.columns[c].accumulators.max);
      expect_number("differing", stated.at(c)["differing"], counted[c].differing);
      expect_number("largest_lsb", stated.at(c)["largest_lsb"], counted[c].largest);
      all += counted[c];
    }
    place_ = place;
    return all;
  }

  JsonView certificate_;
  const Model& model_;
  CertificateCheck found_;
  std::string place_;
  std::size_t seen_ = 0;
  bool equal_ = true;
};

InputRange range_of(const JsonView& certificate) {
  const std::string range = certificate["input_range"].text();
  if (range != "type" && range != "data") certificate["input_range"].fail("'type' or 'data' is needed");
  return range == "data" ? InputRange::data : InputRange::type;
}

}  // namespace

CertificateCheck check_certificate(const std::filesystem::path& file, const Model& model, const SpecSheet& a, const SpecSheet& b,
                                   std::span<const Tensor> inputs, const CertifyOptions& options) {
  const Json json = parse_json(read_text_file(file), file.string());
  const JsonView certificate(json, file.string());
  if (certificate["format"].text() != format) certificate["format"].fail("'" + certificate["format"].text() + "' is not " + format);
  CertifyOptions request = options;
  request.range = range_of(certificate);
  request.layer.reset();
  Checker checker(certificate, model, a, b);
  with_threads(options.threads, [&] {
    Certifier(model, a, b, inputs, request).each([&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      checker.check(layer, sums);
    });
  });
  return checker.finished();
}

}  // namespace lastbit
