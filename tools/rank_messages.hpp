// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a sweep say to each other. Nobody waits for anybody: a rank that dies holds up none of the others.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace lastbit::tool {

using Clock = std::chrono::steady_clock;

/// MPI, from the beginning of the scope to its end. MPI_Finalize waits for every rank.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  int rank_ = 0, size_ = 1;
};

[[nodiscard]] std::string host_name();

/// From a rank to rank 0: a line, and the rest.
enum class ReportKind : char {
  ready = 'r',  ///< the line: host; the rest: identity of the work
  unfit = 'u',  ///< the line: host; the rest: why it cannot take part
  done = 'd',   ///< the line: empty, or why the chunk is not complete; the rest: statistics
  alive = 'a'
};

struct Report {
  int rank = 0;
  ReportKind kind = ReportKind::alive;
  std::string line, rest;
};

[[nodiscard]] std::string packed(ReportKind kind, std::string line = {}, const std::string& rest = {});
[[nodiscard]] Report unpacked(int rank, const std::string& text);

/// Sends packed reports to rank 0, in pieces.
class Outbox {
 public:
  /// Only where nothing is under way.
  void post(std::string report);
  /// Sends what can be sent now. True where nothing is under way.
  bool push();
  [[nodiscard]] Clock::time_point last_post() const { return last_post_; }

 private:
  std::string report_, piece_;
  std::size_t next_ = 0;  ///< byte of the report
  MPI_Request request_ = MPI_REQUEST_NULL;
  Clock::time_point last_post_ = Clock::now();
};

/// A piece of a report.
struct Piece {
  int rank = 0;
  bool last = true;
  std::string text;
};

/// Of any rank's report, if there is one.
[[nodiscard]] std::optional<Piece> next_piece();

/// From rank 0: samples first … last - 1 to compute; or to leave, with a Farewell in the place of `first`; or just a sign of life.
enum class OrderKind : std::int64_t { compute, leave, alive };
enum class Farewell : std::int64_t { together, alone };  ///< with MPI_Finalize, or without, because a rank is lost
struct Order {
  OrderKind kind = OrderKind::alive;
  std::int64_t first = 0, last = 0;
};

void send(int rank, const Order& order);
/// Of rank 0, if there is one.
[[nodiscard]] std::optional<Order> next_order();

}  // namespace lastbit::tool
