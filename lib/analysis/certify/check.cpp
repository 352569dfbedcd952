// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A certificate derived again, its cases counted without the search that made it, and compared with what is stated.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "analysis/certify/certifier.hpp"
#include "analysis/certify/every_code.hpp"
#include "analysis/certify/layer_report.hpp"
#include "analysis/rules_checksum.hpp"
#include "compare/report_layout.hpp"
#include "engine/finisher.hpp"
#include "engine/parallel.hpp"
#include "formats/file.hpp"
#include "formats/json.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/error.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/recording.hpp"
#include "lastbit/version.hpp"

namespace lastbit {
namespace {

/// So many accumulators of a network are computed one by one: a second or two.
constexpr std::int64_t most_one_by_one = std::int64_t{1} << 30;

std::string place_of(std::size_t number, const std::string& name) { return "layer " + std::to_string(number) + " '" + name + "':"; }

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

/// Whether the code that runs networks computes, at both ends of every step, what the staircase says; the chain has its accumulators `apart` further on.
bool ends_hold(const Staircase& stairs, std::int64_t apart, const Chain& chain, const RescaleOperands& operands, ElementType type) {
  std::vector<std::int64_t> ends;
  for (std::size_t step = 0; step < stairs.steps.size(); ++step) {
    ends.push_back(stairs.steps[step].first + apart);
    ends.push_back((step + 1 < stairs.steps.size() ? stairs.steps[step + 1].first - 1 : stairs.accumulators.max) + apart);
  }
  Tensor outputs(type, Shape{std::ssize(ends)});
  const Finisher finisher(chain, {operands}, FinisherInput{ends.front(), ends.back(), 0});
  finisher(std::span<const std::int64_t>(ends), outputs, 0, nullptr);
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (outputs.integer_at(static_cast<std::int64_t>(i)) != stairs.steps[i / 2].output) return false;
  return true;
}

/// The accumulators at both ends of every step of the column, computed by both sides; those between them are as many as the steps are wide.
std::optional<Counted> count_steps(const SharedSums& sums, const SharedSums::Column& column, ElementType type) {
  const auto both = staircases(sums, column);
  if (!both) return std::nullopt;
  const auto& [a, b] = *both;
  const std::int64_t apart = column.accumulators_b.value_or(column.accumulators).min - column.accumulators.min;
  if (!ends_hold(a, 0, sums.a, column.a, type) || !ends_hold(b, apart, sums.b, column.b, type)) return std::nullopt;
  const StaircaseDifference found = difference(a, b);
  return Counted{found.accumulators, found.differing, found.largest};
}

Counted count_codes(const LayerOnBoth& layer) {
  Counted counted;
  const std::optional<EveryCode> found = compare_every_code(layer, CodeRoute::definition);
  if (!found) return counted;
  counted.cases = std::ssize(found->a);
  for (std::size_t i = 0; i < found->a.size(); ++i) counted.add(found->a[i], found->b[i]);
  return counted;
}

/// Certificates counted again: what certify() found is replaced by it.
class Recount {
 public:
  explicit Recount(CertificateCheck& check) : check_(check) {}

  void operator()(const LayerOnBoth& layer, const std::optional<SharedSums>& sums, LayerCertificate& certificate) {
    if (certificate.is_open() || certificate.by == DecidedBy::same_rules) return;
    Counted all;
    if (certificate.by == DecidedBy::accumulators) {
      all = count_channels(layer, *sums, certificate);
    } else {
      all = count_codes(layer);
      check_.cases += all.cases;
    }
    certificate.cases = all.cases;
    certificate.differing = all.differing;
    certificate.largest = all.largest;
  }

 private:
  Counted count_channels(const LayerOnBoth& layer, const SharedSums& sums, LayerCertificate& certificate) {
    const auto counted = count_columns(sums, layer.a.model().tensor(layer.operation().outputs[0]).type);
    Counted all;
    for (std::size_t c = 0; c < counted.size(); ++c) {
      if (!counted[c]) {
        check_.wrong.push_back(place_of(certificate.operation, certificate.name) + " channel " + std::to_string(c) +
                               ": run at a step, a side computes something else");
        continue;
      }
      all += *counted[c];
      certificate.channels[c].differing = counted[c]->differing;
      certificate.channels[c].largest = counted[c]->largest;
    }
    return all;
  }

  std::vector<std::optional<Counted>> count_columns(const SharedSums& sums, ElementType type) {
    std::vector<std::optional<Counted>> counted(sums.columns.size());
    std::vector<bool> one_by_one(counted.size());
    for (std::size_t c = 0; c < counted.size(); ++c) {
      const std::int64_t cases = sums.columns[c].accumulators.max - sums.columns[c].accumulators.min + 1;
      one_by_one[c] = cases <= most_one_by_one - check_.cases;
      (one_by_one[c] ? check_.cases : check_.by_steps) += cases;
      counted[c] = Counted{.cases = cases};
    }
    if (sums.a.empty() && sums.b.empty()) return counted;
    for_each_part(std::ssize(counted), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto c = static_cast<std::size_t>(first); c < static_cast<std::size_t>(last); ++c)
        counted[c] = one_by_one[c] ? EveryAccumulator(sums, sums.columns[c], type).count() : count_steps(sums, sums.columns[c], type);
    });
    return counted;
  }

  CertificateCheck& check_;
};

/// A certificate's text against what was derived.
class Comparison {
 public:
  explicit Comparison(std::vector<std::string>& wrong) : wrong_(wrong) {}

  void compare(const JsonView& stated, const Json& derived, const std::string& place) {
    if (derived.is_object()) return compare_members(stated, derived, place);
    if (derived.is_array()) return compare_elements(stated, derived, place);
    if (stated.value().dump() != derived.dump())
      wrong_.push_back(place + " " + shortened(stated.value().dump(), most_text) + "; found " + shortened(derived.dump(), most_text));
  }

  /// Layers go by their numbers.
  void compare_layers(const JsonView& stated, const Json& derived) {
    std::string numbers, expected;
    for (std::size_t i = 0; i < stated.size(); ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(stated.at(i)["number"].integer());
    for (const Json& layer : derived) expected += (expected.empty() ? "" : ", ") + layer["number"].dump();
    if (numbers != expected) {
      wrong_.push_back("the network: layers " + shortened(numbers.empty() ? "none" : numbers, most_text) + "; found " +
                       shortened(expected, most_text));
      return;
    }
    for (std::size_t i = 0; i < stated.size(); ++i)
      compare(stated.at(i), derived[i], place_of(derived[i]["number"].get<std::size_t>(), derived[i]["name"].get<std::string>()));
  }

 private:
  static constexpr std::size_t most_text = 80;

  void compare_members(const JsonView& stated, const Json& derived, const std::string& place) {
    only_members_of(stated, derived);
    for (const auto& [key, value] : derived.items()) {
      if (place.empty() && key == "layers") compare_layers(stated[key], value);
      else compare(stated[key], value, (place.empty() ? "the network:" : place) + " " + key);
    }
  }

  void compare_elements(const JsonView& stated, const Json& derived, const std::string& place) {
    if (stated.size() != derived.size())
      return wrong_.push_back(place + ", " + std::to_string(stated.size()) + " of them; found " + std::to_string(derived.size()));
    for (std::size_t i = 0; i < derived.size(); ++i) compare(stated.at(i), derived[i], place + " " + std::to_string(i));
  }

  static void only_members_of(const JsonView& stated, const Json& derived) {
    if (!stated.value().is_object()) stated.fail("an object is needed");
    for (const auto& [key, value] : stated.value().items())
      if (!derived.contains(key)) stated.fail("unknown key '" + printable(key) + "'");
  }

  std::vector<std::string>& wrong_;
};

/// The form that 0.2.0 first wrote says nothing of data, of the layer asked for, of the inputs of examples and of assumptions, and has a path of the model.
constexpr std::string_view first_format = "lastbit.certificate.v1";

using Version = std::array<int, 3>;

std::optional<Version> version_from(const std::string& text) {
  Version version{};
  if (std::sscanf(text.c_str(), "%9d.%9d.%9d", &version[0], &version[1], &version[2]) != 3) return std::nullopt;
  const std::string again = std::to_string(version[0]) + "." + std::to_string(version[1]) + "." + std::to_string(version[2]);
  return again == text ? std::optional(version) : std::nullopt;
}

/// Whether a version of this name has written certificates.
bool has_written(const std::string& text) {
  constexpr Version first{0, 2, 0};
  const auto written = version_from(text), present = version_from(std::string(version()));
  return written && present && *written >= first && *written <= *present;
}

/// Whether a path that was given somewhere else can have meant the model that is called so.
bool can_mean(const std::string& stated, const std::string& called) {
  if (stated == called) return true;
  const std::filesystem::path path = std::filesystem::path(stated).lexically_normal();
  const std::filesystem::path present = std::filesystem::absolute(called).lexically_normal();
  if (path.empty() || path.is_absolute()) return path == present;
  const std::vector<std::filesystem::path> all(present.begin(), present.end());
  std::vector<std::filesystem::path> end(path.begin(), path.end());
  std::erase(end, "..");
  return !end.empty() && end.size() <= all.size() && std::equal(end.rbegin(), end.rend(), all.rbegin());
}

/// A certificate's file.
class Stated {
 public:
  Stated(const JsonView& json, const Model& model) : json_(json), model_(model) {
    const std::string format = json["format"].text();
    if (format != certificate_format && format != first_format)
      json["format"].fail("'" + format + "' is not " + std::string(certificate_format));
    is_first_ = format == first_format;
  }

  /// A certificate of something else is no certificate to be checked.
  void require(const SpecSheet& a, const SpecSheet& b, std::span<const Tensor> inputs) const {
    require("the model's checksum", json_["model_checksum"], model_checksum(model_));
    require("the checksum of the rules of side a", json_["a"]["rules"], rules_checksum(a));
    require("the checksum of the rules of side b", json_["b"]["rules"], rules_checksum(b));
    if (range() == InputRange::data && !is_first_ && !inputs.empty())
      require("the checksum of the data", json_["data"], data_checksum(inputs));
  }

  [[nodiscard]] InputRange range() const {
    const std::string range = json_["input_range"].text();
    if (range != "type" && range != "data") json_["input_range"].fail("'type' or 'data' is needed");
    return range == "data" ? InputRange::data : InputRange::type;
  }

  /// The layer that it is about, where it is not about all; `asked` must be the same.
  [[nodiscard]] std::optional<std::size_t> layer(const std::optional<std::string>& asked) const {
    std::optional<std::size_t> named;
    if (asked) named = operation_called(model_, *asked, "certify");
    if (is_first_) {
      if (!named && json_["outputs"].size() == 0)
        json_.fail("it does not say of which layer it is: name the layer by --layer NAME", ErrorCode::bad_input);
      return named;
    }
    const JsonView only = json_["layer"];
    std::optional<std::size_t> stated;
    if (!only.value().is_null()) stated = static_cast<std::size_t>(only.integer());
    if (stated && *stated >= model_.operations.size()) only.fail("the network has " + std::to_string(model_.operations.size()) + " layers");
    if (named && named != stated)
      only.fail((stated ? "it is of layer " + std::to_string(*stated) : "it is of all layers") + ", not of layer " +
                    std::to_string(*named) + " alone",
                ErrorCode::bad_input);
    return stated;
  }

  /// What would be stated of this, in the same form.
  [[nodiscard]] Json in_this_form(const Certificate& certificate) const {
    Json derived = Json::parse(to_json(certificate));
    if (const std::string written_by = json_["lastbit"].text(); has_written(written_by)) derived["lastbit"] = written_by;
    if (!is_first_) return derived;
    derived["format"] = first_format;
    if (const std::string stated = json_["model"].text(); can_mean(stated, certificate.model)) derived["model"] = stated;
    for (const char* const added : {"layer", "data", "assumptions"}) derived.erase(added);
    derived["equal"] = certificate.equal();
    if (!json_.find("elsewhere")) derived.erase("elsewhere");
    for (Json& layer : derived["layers"]) {
      if (layer.contains("shown")) layer["shown"].erase("inputs");
      if (layer["verdict"] == equal_if) layer["verdict"] = "equal";
      layer.erase("assumptions");
    }
    return derived;
  }

 private:
  void require(const std::string& what, const JsonView& stated, const std::string& present) const {
    const std::string text = stated.text();
    if (text != present) throw Error(ErrorCode::bad_input, json_.where(), what + " is " + text + "; here it is " + present);
  }

  JsonView json_;
  const Model& model_;
  bool is_first_ = false;
};

}  // namespace

CertificateCheck check_certificate(const std::filesystem::path& file, const Model& model, const Device& a, const Device& b,
                                   std::span<const Tensor> inputs, const CertifyOptions& options) {
  const Json json = parse_json(read_text_file(file), file.string());
  const JsonView view(json, file.string());
  const Stated stated(view, model);
  stated.require(a, b, inputs);
  CertifyOptions request = options;
  request.range = stated.range();
  const std::optional<std::size_t> layer = stated.layer(options.layer);
  request.layer = layer ? std::optional(std::to_string(*layer)) : std::nullopt;
  CertificateCheck check;
  const Certificate derived = certify_layers(model, a, b, inputs, request, Recount(check));
  check.layers = derived.layers.size();
  check.assumptions = derived.assumptions();
  if (layer) check.only = "layer " + std::to_string(*layer) + " '" + layer_name(model, *layer) + "'";
  Comparison(check.wrong).compare(view, stated.in_this_form(derived), "");
  return check;
}

}  // namespace lastbit
