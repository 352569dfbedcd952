// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A whole data set over many backends: every sample on every one of them, and what differs, counted per layer. Nothing kept grows with the
// number of samples. Every figure comes from integers and exact sums, so it does not depend on how the samples were split, in which
// order the parts were merged, or how often the work was interrupted: the reports are equal to the last byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/arith/integer.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/exact_sum.hpp"
#include "lastbit/samples.hpp"

namespace lastbit {

// ---- Sums, which merge exactly ----

/// Samples first … last - 1.
struct SampleRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

/// A set of samples: disjoint ranges in rising order, none of which touches the next.
class SampleSet {
 public:
  /// Throws Error(bad_input) where a sample is in the set already: it would be counted twice.
  void add(SampleRange range);
  void add(const SampleSet& other);
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::span<const SampleRange> ranges() const { return ranges_; }
  /// Of the samples 0 … all - 1, those that are not in the set.
  [[nodiscard]] SampleSet missing(std::int64_t all) const;
  friend bool operator==(const SampleSet&, const SampleSet&) = default;

 private:
  std::vector<SampleRange> ranges_;
};

/// Pairs of real values: x is judged, y the truth. Pairs of which one is not finite are counted, and are in no other figure.
struct RealSums {
  std::int64_t values = 0;          ///< finite pairs
  std::int64_t non_finite = 0;      ///< the others
  ExactSum judged, truth, product;  ///< of x^2, y^2, x y
  double largest_error = 0;         ///< max |x - y|

  void add(std::span<const float> x, std::span<const float> y);
  void merge(const RealSums& other);

  /// From the exact sums, each rounded to double once; definitions as in metrics.hpp.
  [[nodiscard]] double cosine() const;
  [[nodiscard]] double sqnr_db() const;
  [[nodiscard]] double root_mean_square_error() const;
  [[nodiscard]] double relative_euclidean() const;
  friend bool operator==(const RealSums&, const RealSums&) = default;
};

/// One tensor on one backend. Against the reference (the first backend) integers of the same type and quantisation are compared as
/// integers, everything else as real values.
struct TensorSums {
  std::int64_t values = 0;
  std::int64_t differing = 0;
  std::int64_t samples_differing = 0;        ///< samples with a differing value
  std::optional<std::int64_t> first_sample;  ///< the first of them
  LsbHistogram histogram;                    ///< integers: of backend - reference
  std::int64_t lowest_lsb = 0, highest_lsb = 0;
  Int128 lsb_sum = 0, lsb_magnitude_sum = 0;
  RealSums reference;  ///< real values: against the reference's
  RealSums golden;     ///< against the float path, where asked for

  void merge(const TensorSums& other);
  /// The difference of largest magnitude; of two, the positive one.
  [[nodiscard]] std::int64_t largest_lsb() const;
  friend bool operator==(const TensorSums&, const TensorSums&) = default;
};

/// One output of the model with several values per sample: where the largest stands.
struct AnswerSums {
  std::int64_t samples = 0;
  std::int64_t as_reference = 0;  ///< at the same place
  std::int64_t as_golden = 0;
  friend bool operator==(const AnswerSums&, const AnswerSums&) = default;
};

/// What was counted of one backend, over all samples so far.
struct BackendSums {
  std::vector<TensorSums> tensors;
  std::vector<AnswerSums> answers;
  std::vector<Events> events;  ///< one per operation, where asked for
};

/// What was counted, and of which samples.
class SweepStatistics {
 public:
  SampleSet samples;
  std::vector<BackendSums> backends;

  /// Of other samples of the same sweep. Throws Error(bad_input) where a sample would be counted twice.
  void merge(const SweepStatistics& other);

  /// JSON: equal statistics, equal text.
  [[nodiscard]] std::string text() const;
  /// Into the shape of this one, which has counted nothing. Throws Error(malformed_file) naming `where` and the place.
  void read(std::string_view text, std::string_view where);
};

// ---- The work ----

/// For a Sweeper: how a data set is computed.
struct SweepOptions {
  int threads = 1;
  std::int64_t batch = 0;  ///< samples computed together; 0: as many as make tensors of about 64 MiB, at most 256
  Golden golden = Golden::without;
  bool count_events = false;
};

/// A tensor of which a sweep counts: inputs of the model and outputs of operations.
struct SweptTensor {
  std::int32_t index = 0;
  std::string name;
  std::string operation;                ///< the kind of the operation that wrote it, or "input"
  std::optional<std::size_t> number{};  ///< of that operation
};

/// A model prepared for all backends.
class Sweeper {
 public:
  /// The first backend is the reference. Throws Error where one of them cannot run the model, or there is none. `model` must outlive it.
  Sweeper(const Model& model, const Devices& backends, const SweepOptions& options = {});
  ~Sweeper();

  [[nodiscard]] const Model& model() const;
  [[nodiscard]] std::span<const SpecSheet> backends() const;
  [[nodiscard]] const SweepOptions& options() const;  ///< with the batch chosen
  [[nodiscard]] std::span<const SweptTensor> tensors() const;
  /// Outputs of the model with several values per sample, by their number among the outputs: one AnswerSums each.
  [[nodiscard]] std::span<const std::size_t> answer_outputs() const;
  /// Whether this backend's tensor is compared with the reference's as integers.
  [[nodiscard]] bool as_integers(std::size_t backend, std::size_t tensor) const;

  /// Of each backend what is computed in its place (lastbit/emulator.hpp).
  [[nodiscard]] std::vector<std::string> elsewhere() const;

  /// Statistics of no sample.
  [[nodiscard]] SweepStatistics nothing() const;
  /// Computes samples first … first + count - 1, at most a batch. Nothing is counted where it throws.
  void add(SweepStatistics& statistics, SampleSource& source, std::int64_t first, std::int64_t count) const;

  /// What has to be equal for two statistics to be of one sweep: model, backends with all rules, what is counted. JSON on one line.
  [[nodiscard]] std::string identity() const;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

class OwnedFile;

/// Statistics on disk. Whatever happens, the file holds one state or the next; nobody else writes it while this one lives.
class SweepState {
 public:
  /// Reads what the file (in a folder: sweep.json) holds, or begins it. An empty path: kept nowhere. Throws Error where another process or
  /// state has it, where it is of another model, other backends, other data or another version, where it was changed since it was written, or
  /// cannot be read or written.
  SweepState(const std::filesystem::path& path, const Sweeper& sweeper, const SampleSource& source);
  ~SweepState();
  SweepState(const SweepState&) = delete;
  SweepState& operator=(const SweepState&) = delete;

  SweepStatistics statistics;

  /// Writes the file where `interval` has passed since the last time.
  void keep(std::chrono::milliseconds interval = {});
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }  ///< empty: none
  [[nodiscard]] std::int64_t samples() const { return samples_; }            ///< of the whole data set
  [[nodiscard]] SampleSet missing() const { return statistics.samples.missing(samples_); }

 private:
  std::filesystem::path file_;
  std::unique_ptr<OwnedFile> owned_;
  std::string identity_;  ///< of sweeper and data
  std::int64_t samples_ = 0;
  std::chrono::steady_clock::time_point written_;
};

/// For sweep(): when the state is written, and when to stop.
struct SweepControl {
  std::chrono::milliseconds interval{1000};  ///< between two writes of the state
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
  std::function<bool()> stop = {};  ///< asked between batches
};

/// Computes what the state lacks, and keeps it. Throws what Sweeper::add throws, after keeping the state.
void sweep(SweepState& state, const Sweeper& sweeper, SampleSource& source, const SweepControl& control = {});

// ---- The report ----

/// A finished part of a sweep, to be printed.
struct SweepReport {
  std::string model, data;           ///< as the user calls them
  const Sweeper* sweeper = nullptr;  ///< what was computed; must outlive the report
  const SweepStatistics* statistics = nullptr;
  std::int64_t samples = 0;  ///< of the whole data set

  [[nodiscard]] bool complete() const { return statistics->samples.count() == samples; }
  /// Whether no value of any backend differs from the reference's.
  [[nodiscard]] bool equal() const;
};

/// At most 100 columns.
[[nodiscard]] std::string to_text(const SweepReport& report, const LayerView& view = {});
/// One line per backend and tensor.
[[nodiscard]] std::string to_csv(const SweepReport& report);
/// Everything. Infinite and NaN figures are the texts "inf" and "nan".
[[nodiscard]] std::string to_json(const SweepReport& report);

}  // namespace lastbit
