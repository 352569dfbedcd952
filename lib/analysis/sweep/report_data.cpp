// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "compare/json_number.hpp"
#include "compare/report_fields.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/sweep.hpp"

namespace lastbit {
namespace {

double per_value(Int128 sum, std::int64_t values) { return values == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(values); }

JsonValue to_json(const RealSums& sums) {
  return {{"values", sums.values},
          {"non_finite", sums.non_finite},
          {"cosine", json_number(sums.cosine())},
          {"sqnr_db", json_number(sums.sqnr_db())},
          {"relative_euclidean", json_number(sums.relative_euclidean())},
          {"root_mean_square_error", json_number(sums.root_mean_square_error())},
          {"largest_error", json_number(sums.largest_error)}};
}

JsonValue lsb_to_json(const TensorSums& sums) {
  JsonValue histogram = JsonValue::object();
  for (std::size_t i = 0; i < histogram_names.size(); ++i) histogram[std::string(histogram_names[i])] = sums.histogram.counts[i];
  return {{"largest", sums.largest_lsb()},
          {"lowest", sums.lowest_lsb},
          {"highest", sums.highest_lsb},
          {"mean", per_value(sums.lsb_sum, sums.values)},
          {"mean_magnitude", per_value(sums.lsb_magnitude_sum, sums.values)},
          {"histogram", std::move(histogram)}};
}

JsonValue tensor_to_json(const SweepReport& report, std::size_t backend, std::size_t tensor) {
  const TensorSums& sums = report.statistics->backends[backend].tensors[tensor];
  const SweptTensor& swept = report.sweeper->tensors()[tensor];
  JsonValue json{{"number", swept.number ? JsonValue(*swept.number) : JsonValue()},
                 {"index", swept.index},
                 {"name", swept.name},
                 {"operation", swept.operation},
                 {"values", sums.values}};
  if (backend > 0) {
    json["differing"] = sums.differing;
    json["samples_differing"] = sums.samples_differing;
    json["first_sample"] = sums.first_sample ? JsonValue(*sums.first_sample) : JsonValue();
    if (report.sweeper->as_integers(backend, tensor)) json["lsb"] = lsb_to_json(sums);
    else json["real"] = to_json(sums.reference);
  }
  if (report.sweeper->options().golden == Golden::with) json["golden"] = to_json(sums.golden);
  return json;
}

JsonValue share_to_json(std::int64_t hits, std::int64_t samples) {
  const Interval interval = wilson_interval(hits, samples);
  return {{"samples", hits},
          {"share", samples == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(samples)},
          {"interval", {interval.low, interval.high}}};
}

JsonValue answers_to_json(const SweepReport& report, std::size_t backend) {
  JsonValue list = JsonValue::array();
  const std::vector<AnswerSums>& answers = report.statistics->backends[backend].answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Model& model = report.sweeper->model();
    JsonValue json{{"output", model.tensor(model.outputs[report.sweeper->answer_outputs()[i]]).name}, {"samples", answers[i].samples}};
    if (backend > 0) json["as_reference"] = share_to_json(answers[i].as_reference, answers[i].samples);
    if (report.sweeper->options().golden == Golden::with) json["as_golden"] = share_to_json(answers[i].as_golden, answers[i].samples);
    list.push_back(std::move(json));
  }
  return list;
}

JsonValue events_to_json(const SweepReport& report, std::size_t backend) {
  JsonValue list = JsonValue::array();
  const std::vector<Events>& events = report.statistics->backends[backend].events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    list.push_back({{"number", i},
                    {"operation", layer_name(report.sweeper->model(), i)},
                    {"outputs", events[i].outputs},
                    {"saturated_outputs", events[i].saturated_outputs},
                    {"accumulator_overflows", events[i].accumulator_overflows},
                    {"saturated_stages", events[i].saturated_stages},
                    {"wrapped_stages", events[i].wrapped_stages}});
  }
  return list;
}

JsonValue ranges_to_json(const SampleSet& samples) {
  JsonValue list = JsonValue::array();
  for (const SampleRange& range : samples.ranges()) list.push_back({range.first, range.last - 1});
  return list;
}

/// A field of a CSV line.
void write_real(std::ostream& out, const RealSums* sums) {
  if (sums == nullptr) {
    out << ",,,,,";
    return;
  }
  for (const double figure :
       {sums->cosine(), sums->sqnr_db(), sums->relative_euclidean(), sums->root_mean_square_error(), sums->largest_error})
    out << "," << number_text("%.17g", figure);
}

}  // namespace

bool SweepReport::equal() const {
  for (const BackendSums& backend : statistics->backends)
    for (const TensorSums& tensor : backend.tensors)
      if (tensor.differing > 0) return false;
  return true;
}

std::string to_json(const SweepReport& report) {
  JsonValue json{{"format", "lastbit.sweep.v1"}, {"model", report.model}, {"data", report.data}, {"samples", report.samples}};
  json["complete"] = report.complete();
  json["missing"] = ranges_to_json(report.statistics->samples.missing(report.samples));
  json["reference"] = report.sweeper->backends()[0].name;
  json["equal"] = report.equal();
  if (!report.sweeper->elsewhere().empty()) json["elsewhere"] = report.sweeper->elsewhere();
  json["backends"] = JsonValue::array();
  for (std::size_t b = 0; b < report.sweeper->backends().size(); ++b) {
    JsonValue backend{
        {"name", report.sweeper->backends()[b].name}, {"answers", answers_to_json(report, b)}, {"tensors", JsonValue::array()}};
    for (std::size_t t = 0; t < report.sweeper->tensors().size(); ++t) backend["tensors"].push_back(tensor_to_json(report, b, t));
    if (report.sweeper->options().count_events) backend["events"] = events_to_json(report, b);
    backend["assumptions"] = JsonValue::array();
    for (const Assumption& assumption : assumptions_of(report.sweeper->model(), report.sweeper->backends()[b]))
      backend["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
    json["backends"].push_back(std::move(backend));
  }
  return json.text(2) + "\n";
}

std::string to_csv(const SweepReport& report) {
  std::ostringstream out;
  out << "backend,number,index,tensor,operation,values,differing,samples_differing,first_sample,largest_lsb,mean_lsb,mean_lsb_magnitude";
  for (const std::string_view name : histogram_names) out << ",lsb_" << name;
  for (const std::string side : {"real", "golden"})
    for (const char* figure : {"cosine", "sqnr_db", "relative_euclidean", "root_mean_square_error", "largest_error"})
      out << "," << side << "_" << figure;
  out << "\n";
  const bool golden = report.sweeper->options().golden == Golden::with;
  for (std::size_t b = 0; b < report.sweeper->backends().size(); ++b) {
    for (std::size_t t = 0; t < report.sweeper->tensors().size(); ++t) {
      const SweptTensor& swept = report.sweeper->tensors()[t];
      const TensorSums& sums = report.statistics->backends[b].tensors[t];
      out << csv_cell(report.sweeper->backends()[b].name) << "," << (swept.number ? std::to_string(*swept.number) : "") << ","
          << swept.index << "," << csv_cell(swept.name) << "," << swept.operation << "," << sums.values << "," << sums.differing << ","
          << sums.samples_differing << ",";
      if (sums.first_sample) out << *sums.first_sample;
      const bool lsb = b > 0 && report.sweeper->as_integers(b, t);
      if (lsb)
        out << "," << sums.largest_lsb() << "," << number_text("%.17g", per_value(sums.lsb_sum, sums.values)) << ","
            << number_text("%.17g", per_value(sums.lsb_magnitude_sum, sums.values));
      else out << ",,,";
      for (const std::int64_t count : sums.histogram.counts) lsb ? out << "," << count : out << ",";
      write_real(out, b > 0 && !lsb ? &sums.reference : nullptr);
      write_real(out, golden ? &sums.golden : nullptr);
      out << "\n";
    }
  }
  return out.str();
}

}  // namespace lastbit
