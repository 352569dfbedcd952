// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rank 0 deals chunks of samples to all ranks, itself among them, merges what comes back and keeps the state; it alone writes anything.
// On every rank one thread computes while the main one answers messages, so a rank that is silent for long is lost, and its chunk is dealt
// again. Statistics merge exactly, so neither the number of ranks nor who computed what shows in the report.
#include "sweep_ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "lastbit/error.hpp"
#include "log.hpp"
#include "rank_messages.hpp"

namespace lastbit::tool {
namespace {

constexpr std::chrono::microseconds pause(200);  // between two looks at the messages
constexpr std::chrono::milliseconds beat(1000);  // a rank is heard at least so often
constexpr std::int64_t chunks_per_rank = 4;      // of what is left, so that the last chunks are small
constexpr std::int64_t most_batches = 64;        // of a chunk: what is lost with a rank

// ---- Computing, in a thread of its own ----

struct Outcome {
  SampleRange chunk;
  SweepStatistics statistics;  ///< of all of it, or of what came before the error
  std::string error;
};

class Computer {
 public:
  explicit Computer(const SweepWork& work) : work_(&work) {}

  [[nodiscard]] bool busy() const { return outcome_.valid(); }
  void start(SampleRange chunk) {
    outcome_ = std::async(std::launch::async, [work = work_, chunk] { return compute(*work, chunk); });
  }
  /// What the thread has finished since start().
  [[nodiscard]] std::optional<Outcome> take() {
    if (!busy() || outcome_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    return outcome_.get();
  }

 private:
  static Outcome compute(const SweepWork& work, SampleRange chunk) {
    Outcome outcome{chunk, work.sweeper->nothing(), {}};
    const std::int64_t batch = work.sweeper->options().batch;
    try {
      for (std::int64_t first = chunk.first; first < chunk.last; first += batch)
        work.sweeper->add(outcome.statistics, *work.source, first, std::min(batch, chunk.last - first));
    } catch (const std::exception& error) {
      outcome.error = error.what();
    }
    return outcome;
  }

  const SweepWork* work_;
  std::future<Outcome> outcome_;
};

std::string identity_of(const SweepWork& work) { return work.sweeper->identity() + " " + work.source->identity(); }

// ---- Every rank but 0 ----

class Worker {
 public:
  Worker(const std::function<SweepWork()>& prepare, const RanksControl& control) : control_(control) {
    try {
      work_ = prepare();
      computer_.emplace(work_);
      outbox_.post(packed(ReportKind::ready, host_name(), identity_of(work_)));
    } catch (const std::exception& error) {
      outbox_.post(packed(ReportKind::unfit, host_name(), error.what()));
    }
  }

  /// Until rank 0 says to leave. Returns the exit status.
  int serve() {
    while (true) {
      if (control_.stop()) std::_Exit(failed_status);  // the launcher ends the job: nobody waits for MPI_Finalize
      if (const auto order = next_order()) {
        heard_ = Clock::now();
        if (order->kind == OrderKind::leave) return leave(static_cast<Farewell>(order->first));
        if (order->kind == OrderKind::compute) computer_->start({order->first, order->last});
      }
      if (outbox_.push()) report();
      if (Clock::now() - heard_ > control_.lost_after) leave_alone();
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  static constexpr int failed_status = 2;

  /// With success, however the sweep ended: the launcher kills the job as soon as a process leaves otherwise, and rank 0 may still be about
  /// to say why.
  static int leave(Farewell farewell) {
    if (farewell == Farewell::alone) std::_Exit(EXIT_SUCCESS);
    return EXIT_SUCCESS;
  }

  void report() {
    const std::optional<Outcome> outcome = computer_ ? computer_->take() : std::nullopt;
    if (outcome) outbox_.post(packed(ReportKind::done, outcome->error, outcome->statistics.text()));
    else if (Clock::now() - outbox_.last_post() > beat) outbox_.post(packed(ReportKind::alive));
  }

  [[noreturn]] void leave_alone() const {
    log_error("lastbit: sweep: rank 0 has not been heard for long: it is lost, and with it what was not in its state");
    std::_Exit(failed_status);
  }

  const RanksControl& control_;
  SweepWork work_;
  std::optional<Computer> computer_;
  Outbox outbox_;
  Clock::time_point heard_ = Clock::now();
};

// ---- Rank 0 ----

/// What rank 0 knows of a rank.
struct Member {
  std::string host = "a host not known yet";
  bool ready = false;
  bool out = false;   ///< gets no more chunks
  bool lost = false;  ///< has been silent for long
  std::optional<SampleRange> chunk = {};
  std::string begun = {};  ///< of a report whose last piece is still to come
  Clock::time_point heard = Clock::now();
};

std::string text_of(SampleRange range) { return "samples " + std::to_string(range.first) + " to " + std::to_string(range.last - 1); }

class Dealer {
 public:
  Dealer(const SweepWork& work, const RanksControl& control, int ranks)
      : work_(work),
        control_(control),
        state_(control.state, *work.sweeper, *work.source),
        left_(state_.missing()),
        computer_(work),
        members_(static_cast<std::size_t>(ranks)) {
    members_[0].host = host_name();
    members_[0].ready = true;
  }

  /// Returns the exit status.
  int work() {
    while (!over()) {
      while (const auto piece = next_piece()) collect(*piece);
      if (const auto outcome = computer_.take()) finish_chunk(0, outcome->statistics, outcome->error);
      find_lost();
      deal();
      if (control_.stop()) stop();
      control_.progress(state_.statistics.samples.count(), state_.samples());
      std::this_thread::sleep_for(pause);
    }
    state_.keep();
    if (end_.error.empty() && state_.missing().count() > 0) end_.error = "sweep: no rank is left that could go on";
    return control_.finish(work_, state_, end_);
  }

  /// Where ranks are lost, perhaps for good, nobody waits for them, nor returns.
  void dismiss(int status) {
    const bool any_lost = std::ranges::any_of(members_, &Member::lost);
    const Farewell farewell = any_lost ? Farewell::alone : Farewell::together;
    for (std::size_t rank = 1; rank < members_.size(); ++rank)
      if (!members_[rank].lost) send(static_cast<int>(rank), {OrderKind::leave, static_cast<std::int64_t>(farewell)});
    if (!any_lost) return;
    for (const Clock::time_point until = Clock::now() + beat; Clock::now() < until; std::this_thread::sleep_for(pause))
      (void)next_piece();  // which lets MPI deliver what was sent
    std::_Exit(status);
  }

 private:
  /// Nothing is being computed, and nothing more will be.
  [[nodiscard]] bool over() const {
    if (std::ranges::any_of(members_, [](const Member& member) { return member.chunk.has_value(); })) return false;
    const bool nobody = std::ranges::all_of(members_, [](const Member& member) { return member.out; });
    return left_.count() == 0 || nobody || !end_.error.empty();
  }

  void say(int rank, const std::string& what) const {
    log_warning("lastbit: sweep: rank " + std::to_string(rank) + " on " + members_[static_cast<std::size_t>(rank)].host + " " + what);
  }

  void collect(const Piece& piece) {
    Member& member = members_[static_cast<std::size_t>(piece.rank)];
    member.heard = Clock::now();
    member.begun += piece.text;
    if (piece.last) handle(unpacked(piece.rank, std::exchange(member.begun, {})));
  }

  void handle(const Report& report) {
    Member& member = members_[static_cast<std::size_t>(report.rank)];
    send(report.rank, {OrderKind::alive});
    if (report.kind == ReportKind::ready || report.kind == ReportKind::unfit) welcome(report, member);
    if (report.kind != ReportKind::done || !member.chunk) return;  // a rank that had been given up has nothing to give
    SweepStatistics statistics = work_.sweeper->nothing();
    statistics.read(report.rest, "rank " + std::to_string(report.rank) + " on " + member.host);
    finish_chunk(report.rank, statistics, report.line);
  }

  void welcome(const Report& report, Member& member) {
    member.host = report.line;
    member.ready = report.kind == ReportKind::ready && report.rest == identity_of(work_);
    member.out = !member.ready;
    if (report.kind == ReportKind::unfit) say(report.rank, "takes no part: " + report.rest);
    else if (member.out) say(report.rank, "takes no part: its model, backends or data are not those of rank 0");
  }

  void finish_chunk(int rank, const SweepStatistics& statistics, const std::string& error) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    const SampleRange chunk = *std::exchange(member.chunk, std::nullopt);
    state_.statistics.merge(statistics);
    state_.keep(control_.interval);
    if (error.empty()) return;
    member.out = true;
    SampleSet rest;
    std::int64_t next = chunk.first;
    for (const SampleRange& range : statistics.samples.ranges()) next = range.last;  // whole batches, from the first on
    rest.add({next, chunk.last});
    left_.add(rest);
    say(rank, "failed at " + text_of({next, chunk.last}) + ": " + error);
    if (failed_at_ && *failed_at_ == next) end_.error = error;  // two ranks cannot: it is the data
    failed_at_ = next;
  }

  void find_lost() {
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      Member& member = members_[rank];
      if (member.lost || Clock::now() - member.heard <= control_.lost_after) continue;
      member.lost = member.out = true;
      const std::optional<SampleRange> chunk = std::exchange(member.chunk, std::nullopt);
      if (chunk) left_.add(*chunk);
      say(static_cast<int>(rank), "is lost: nothing heard for " + std::to_string(control_.lost_after.count() / 1000) + " s" +
                                      (chunk ? "; " + text_of(*chunk) + " are dealt again" : ""));
    }
  }

  void deal() {
    for (std::size_t rank = 0; rank < members_.size() && end_.error.empty(); ++rank) {
      Member& member = members_[rank];
      if (!member.ready || member.out || member.chunk || left_.count() == 0) continue;
      member.chunk = next_chunk();
      if (rank == 0) computer_.start(*member.chunk);
      else send(static_cast<int>(rank), {OrderKind::compute, member.chunk->first, member.chunk->last});
    }
  }

  /// A share of what is left, in whole batches.
  SampleRange next_chunk() {
    const std::int64_t batch = work_.sweeper->options().batch;
    const std::int64_t share = left_.count() / (chunks_per_rank * static_cast<std::int64_t>(members_.size()));
    const std::int64_t size = batch * std::clamp<std::int64_t>(share / batch, 1, most_batches);
    const SampleRange range = left_.ranges().front();
    const SampleRange chunk{range.first, std::min(range.last, range.first + size)};
    SampleSet rest;
    rest.add({chunk.last, range.last});
    for (const SampleRange& other : left_.ranges().subspan(1)) rest.add(other);
    left_ = std::move(rest);
    return chunk;
  }

  /// The launcher ends the job, perhaps because a rank died: what is done is kept, and nobody is waited for.
  [[noreturn]] void stop() {
    state_.keep();
    end_ = {"sweep: stopped by the launcher or a signal", true};
    std::_Exit(control_.finish(work_, state_, end_));
  }

  const SweepWork& work_;
  const RanksControl& control_;
  SweepState state_;
  SampleSet left_;  ///< neither done nor being computed
  Computer computer_;
  std::vector<Member> members_;
  std::optional<std::int64_t> failed_at_;
  SweepEnd end_;
};

/// Every other rank stands ready, or failed as this one did and would say the same.
void dismiss_all(const Session& session) {
  for (int rank = 1; rank < session.size(); ++rank) send(rank, {OrderKind::leave, static_cast<std::int64_t>(Farewell::together)});
}

}  // namespace

int sweep_on_ranks(const std::function<SweepWork()>& prepare, const RanksControl& control) {
  const Session session;
  if (session.rank() > 0) return Worker(prepare, control).serve();
  try {
    const SweepWork work = prepare();
    Dealer dealer(work, control, session.size());
    const int status = dealer.work();
    dealer.dismiss(status);
    return status;
  } catch (...) {
    dismiss_all(session);
    throw;
  }
}

}  // namespace lastbit::tool
