// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Statistics as JSON, and the file that holds them. Integers of 128 bits and exact sums are texts.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "formats/file.hpp"
#include "formats/json.hpp"
#include "lastbit/error.hpp"
#include "lastbit/sweep.hpp"
#include "model/checksum.hpp"
#include "model/wide_digits.hpp"

namespace lastbit {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::string_view format = "lastbit.sweep.state.v2";
constexpr const char* file_in_folder = "sweep.json";

Int128 wide_integer(const JsonView& json) {
  constexpr std::size_t most_digits = 37;  // below 2^127
  const std::string text = json.text();
  const bool negative = text.starts_with('-');
  const std::string digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > most_digits || digits.find_first_not_of("0123456789") != std::string::npos)
    json.fail("a decimal integer in quotes is needed");
  Int128 value = 0;
  for (const char digit : digits) value = 10 * value + (digit - '0');
  return negative ? -value : value;
}

/// Far more than a sweep counts, and sums of some of them stay within 64 bits.
constexpr std::int64_t largest_count = std::int64_t{1} << 59;

std::int64_t count_from(const JsonView& json) {
  const std::int64_t count = json.integer();
  if (count < 0 || count > largest_count) json.fail("a count is needed, from 0 to " + std::to_string(largest_count));
  return count;
}

ExactSum exact_sum(const JsonView& json) {
  const auto sum = ExactSum::from(json.text());
  if (!sum) json.fail("an exact sum is needed, such as \"-1af*16^-20\"");
  return *sum;
}

Ordered to_json(const RealSums& sums) {
  return {{"values", sums.values},      {"non_finite", sums.non_finite},  {"judged", sums.judged.text()},
          {"truth", sums.truth.text()}, {"product", sums.product.text()}, {"largest_error", sums.largest_error}};
}

RealSums real_sums(const JsonView& json) {
  json.only({"values", "non_finite", "judged", "truth", "product", "largest_error"});
  return {.values = count_from(json["values"]),
          .non_finite = count_from(json["non_finite"]),
          .judged = exact_sum(json["judged"]),
          .truth = exact_sum(json["truth"]),
          .product = exact_sum(json["product"]),
          .largest_error = json["largest_error"].number()};
}

bool holds_any(const RealSums& sums) { return sums.values > 0 || sums.non_finite > 0; }

Ordered to_json(const TensorSums& sums) {
  Ordered json{{"values", sums.values}, {"differing", sums.differing}, {"samples_differing", sums.samples_differing}};
  if (sums.first_sample) json["first_sample"] = *sums.first_sample;
  json["histogram"] = sums.histogram.counts;
  json["lsb"] = {sums.lowest_lsb, sums.highest_lsb};
  json["lsb_sum"] = digits_of(sums.lsb_sum);
  json["lsb_magnitude_sum"] = digits_of(sums.lsb_magnitude_sum);
  if (holds_any(sums.reference)) json["reference"] = to_json(sums.reference);
  if (holds_any(sums.golden)) json["golden"] = to_json(sums.golden);
  return json;
}

TensorSums tensor_sums(const JsonView& json) {
  json.only({"values", "differing", "samples_differing", "first_sample", "histogram", "lsb", "lsb_sum", "lsb_magnitude_sum", "reference",
             "golden"});
  TensorSums sums;
  sums.values = count_from(json["values"]);
  sums.differing = count_from(json["differing"]);
  sums.samples_differing = count_from(json["samples_differing"]);
  if (const auto first = json.find("first_sample")) sums.first_sample = count_from(*first);
  const JsonView histogram = json["histogram"], lsb = json["lsb"];
  if (histogram.size() != sums.histogram.counts.size()) histogram.fail("9 counts are needed");
  for (std::size_t i = 0; i < histogram.size(); ++i) sums.histogram.counts[i] = count_from(histogram.at(i));
  if (lsb.size() != 2) lsb.fail("two integers are needed");
  sums.lowest_lsb = lsb.at(0).integer();
  sums.highest_lsb = lsb.at(1).integer();
  sums.lsb_sum = wide_integer(json["lsb_sum"]);
  sums.lsb_magnitude_sum = wide_integer(json["lsb_magnitude_sum"]);
  if (const auto reference = json.find("reference")) sums.reference = real_sums(*reference);
  if (const auto golden = json.find("golden")) sums.golden = real_sums(*golden);
  return sums;
}

Ordered to_json(const BackendSums& sums) {
  Ordered json{{"tensors", Ordered::array()}, {"answers", Ordered::array()}, {"events", Ordered::array()}};
  for (const TensorSums& tensor : sums.tensors) json["tensors"].push_back(to_json(tensor));
  for (const AnswerSums& answer : sums.answers)
    json["answers"].push_back({{"samples", answer.samples}, {"as_reference", answer.as_reference}, {"as_golden", answer.as_golden}});
  for (const Events& events : sums.events)
    json["events"].push_back({{"accumulator_overflows", events.accumulator_overflows},
                              {"saturated_outputs", events.saturated_outputs},
                              {"outputs", events.outputs},
                              {"saturated_stages", events.saturated_stages},
                              {"wrapped_stages", events.wrapped_stages}});
  return json;
}

/// Calls read(view, element) for each of as many as there must be.
template <class Element, class Read>
void read_list(const JsonView& list, std::vector<Element>& into, Read read) {
  if (list.size() != into.size()) list.fail(std::to_string(into.size()) + " entries are needed, not " + std::to_string(list.size()));
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = read(list.at(i));
}

void read_backend(const JsonView& json, BackendSums& sums) {
  json.only({"tensors", "answers", "events"});
  read_list(json["tensors"], sums.tensors, tensor_sums);
  read_list(json["answers"], sums.answers, [](const JsonView& answer) {
    answer.only({"samples", "as_reference", "as_golden"});
    return AnswerSums{count_from(answer["samples"]), count_from(answer["as_reference"]), count_from(answer["as_golden"])};
  });
  read_list(json["events"], sums.events, [](const JsonView& events) {
    events.only({"accumulator_overflows", "saturated_outputs", "outputs", "saturated_stages", "wrapped_stages"});
    return Events{count_from(events["accumulator_overflows"]), count_from(events["saturated_outputs"]), count_from(events["outputs"]),
                  count_from(events["saturated_stages"]), count_from(events["wrapped_stages"])};
  });
}

Ordered to_json(const SweepStatistics& statistics) {
  Ordered json{{"samples", Ordered::array()}, {"backends", Ordered::array()}};
  for (const SampleRange& range : statistics.samples.ranges()) json["samples"].push_back({range.first, range.last});
  for (const BackendSums& backend : statistics.backends) json["backends"].push_back(to_json(backend));
  return json;
}

void read_statistics(const JsonView& json, SweepStatistics& statistics) {
  json.only({"samples", "backends"});
  const JsonView samples = json["samples"], backends = json["backends"];
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::vector<std::int64_t> range = samples.at(i).integers();
    const bool follows = range.size() == 2 && range[0] >= 0 && range[0] < range[1] &&
                         (statistics.samples.ranges().empty() || statistics.samples.ranges().back().last < range[0]);
    if (!follows) samples.at(i).fail("[first, last + 1] behind the range before it is needed");
    statistics.samples.add({range[0], range[1]});
  }
  if (backends.size() != statistics.backends.size()) backends.fail(std::to_string(statistics.backends.size()) + " entries are needed");
  for (std::size_t b = 0; b < backends.size(); ++b) read_backend(backends.at(b), statistics.backends[b]);
}

/// What a state's identity says, key by key, so that a refusal can name the one that differs.
void require_same(const JsonView& found, const Json& wanted) {
  for (const auto& [key, value] : wanted.items()) {
    const auto stored = found.find(key);
    if (stored && stored->value() == value) continue;
    const bool of_state = key == "model" || key == "data" || key == "backends";
    throw Error(ErrorCode::bad_input, found.where(),
                of_state ? "this state is of " + std::string(key == "data"    ? "other data"
                                                             : key == "model" ? "another model"
                                                                              : "other backends")
                         : "this state was made with another value of '" + key + "': " + (stored ? stored->value().dump() : "none") +
                               ", not " + value.dump());
  }
}

}  // namespace

std::string SweepStatistics::text() const { return to_json(*this).dump(); }

void SweepStatistics::read(std::string_view text, std::string_view where) {
  const Json json = parse_json(text, where);
  SweepStatistics fresh = *this;
  read_statistics({json, std::string(where)}, fresh);
  *this = std::move(fresh);
}

namespace {

/// Every value is in them, or they were not counted.
bool cover(const RealSums& sums, std::int64_t values) { return !holds_any(sums) || sums.values + sums.non_finite == values; }
bool cover(const LsbHistogram& histogram, const TensorSums& sums) {
  const std::int64_t counted = std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0});
  return counted == 0 || (counted == sums.values && counted - histogram.counts[LsbHistogram::reach + 1] == sums.differing);
}

bool agree(const TensorSums& sums) {
  const std::int64_t any = sums.differing > 0 ? 1 : 0;
  const Int128 magnitude = sums.lsb_sum < 0 ? -sums.lsb_sum : sums.lsb_sum;
  return sums.differing <= sums.values && sums.samples_differing <= sums.differing && sums.samples_differing >= any &&
         sums.first_sample.has_value() == (any != 0) && sums.lowest_lsb <= 0 && sums.highest_lsb >= 0 &&
         sums.lsb_magnitude_sum >= magnitude && cover(sums.histogram, sums) && cover(sums.reference, sums.values) &&
         cover(sums.golden, sums.values);
}

/// What the sweeper's network says of so many samples.
void require_shape(const SweepStatistics& statistics, const Sweeper& sweeper, const JsonView& place) {
  const std::int64_t samples = statistics.samples.count();
  for (const BackendSums& backend : statistics.backends) {
    for (std::size_t t = 0; t < backend.tensors.size(); ++t) {
      const std::int64_t each = sweeper.model().tensor(sweeper.tensors()[t].index).shape.element_count();
      if (backend.tensors[t].values != samples * each || backend.tensors[t].samples_differing > samples)
        place.fail("tensor '" + sweeper.tensors()[t].name + "' has other numbers of values than " + std::to_string(samples) + " samples");
      if (!agree(backend.tensors[t])) place.fail("the counts of tensor '" + sweeper.tensors()[t].name + "' contradict each other");
    }
    for (const AnswerSums& answer : backend.answers) {
      if (answer.samples != samples || answer.as_reference > samples || answer.as_golden > samples)
        place.fail("there are answers for other numbers of samples than " + std::to_string(samples));
    }
  }
}

/// First line: the format, and the checksum of every byte behind it.
std::string first_line(std::string_view rest) {
  Checksum sum;
  sum.add(std::string(rest));
  return R"({"format": ")" + std::string(format) + R"(", "checksum": ")" + sum.text() + "\",\n";
}

}  // namespace

SweepState::SweepState(const std::filesystem::path& path, const Sweeper& sweeper, const SampleSource& source)
    : statistics(sweeper.nothing()),
      file_(!path.empty() && std::filesystem::is_directory(path) ? path / file_in_folder : path),
      samples_(source.samples()) {
  Json identity = Json::parse(sweeper.identity());
  identity["data"] = source.identity();
  identity["samples"] = samples_;
  identity_ = identity.dump();
  if (file_.empty()) return;
  owned_ = std::make_unique<OwnedFile>(file_);
  if (!owned_->exists()) {
    keep();  // what cannot be written is better known before the work than after it
    return;
  }
  const std::string text = read_text_file(file_);
  const Json json = parse_json(text, file_.string());
  const JsonView view(json, file_.string());
  view.only({"format", "checksum", "identity", "statistics"});
  if (view["format"].text() != format) view["format"].fail("\"" + std::string(format) + "\" is needed");
  require_same(JsonView(view["identity"].value(), file_.string()), identity);
  read_statistics(view["statistics"], statistics);
  const auto counted = statistics.samples.ranges();
  if (!counted.empty() && counted.back().last > samples_) view["statistics"].fail("samples behind the last one are counted");
  require_shape(statistics, sweeper, view["statistics"]);
  const std::size_t end = text.find('\n');
  const std::string rest = end == std::string::npos ? "" : text.substr(end + 1);
  if (text != first_line(rest) + rest) view["checksum"].fail("the file was changed or damaged: its checksum is another one");
}

SweepState::~SweepState() = default;

void SweepState::keep(std::chrono::milliseconds interval) {
  const auto now = std::chrono::steady_clock::now();
  if (file_.empty() || (interval.count() > 0 && now - written_ < interval)) return;
  const std::string rest = "\"identity\": " + identity_ + ",\n\"statistics\": " + statistics.text() + "}\n";
  owned_->replace(first_line(rest) + rest);
  written_ = now;
}

void sweep(SweepState& state, const Sweeper& sweeper, SampleSource& source, const SweepControl& control) {
  const auto show = [&] {
    if (control.progress) control.progress(state.statistics.samples.count(), state.samples());
  };
  try {
    const SampleSet missing = state.missing();
    for (const SampleRange& range : missing.ranges()) {
      for (std::int64_t first = range.first; first < range.last; first += sweeper.options().batch) {
        if (control.stop && control.stop()) return state.keep();
        show();
        sweeper.add(state.statistics, source, first, std::min(sweeper.options().batch, range.last - first));
        state.keep(control.interval);
      }
    }
  } catch (...) {
    state.keep();
    throw;
  }
  state.keep();
  show();
}

}  // namespace lastbit
