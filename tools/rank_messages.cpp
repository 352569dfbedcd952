// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "rank_messages.hpp"

#include <algorithm>
#include <utility>

namespace lastbit::tool {
namespace {

constexpr int report_tag = 1, order_tag = 2;
constexpr char more_follow = '+', last_piece = '.';

// Messages this short are handed over whole. Of a longer one MPI fetches the rest from the sender, and waits for ever where that one has died
// meanwhile.
constexpr std::size_t longest_piece = 2048;

using OrderWords = std::array<std::int64_t, 3>;

/// Whether a message with this tag is there, from whom and how long.
std::optional<MPI_Status> waiting(int rank, int tag) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(rank, tag, MPI_COMM_WORLD, &there, &status);
  return there != 0 ? std::optional(status) : std::nullopt;
}

}  // namespace

Session::Session() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

Session::~Session() { MPI_Finalize(); }

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

std::string packed(ReportKind kind, std::string line, const std::string& rest) {
  std::ranges::replace(line, '\n', ' ');
  return std::string(1, static_cast<char>(kind)) + line + "\n" + rest;
}

Report unpacked(int rank, const std::string& text) {
  const std::size_t end = text.find('\n');
  return {rank, static_cast<ReportKind>(text[0]), text.substr(1, end - 1), text.substr(end + 1)};
}

void Outbox::post(std::string report) {
  report_ = std::move(report);
  next_ = 0;
  last_post_ = Clock::now();
  push();
}

bool Outbox::push() {
  int done = 0;
  while (MPI_Test(&request_, &done, MPI_STATUS_IGNORE), done != 0 && next_ < report_.size()) {
    const std::size_t count = std::min(longest_piece - 1, report_.size() - next_);
    piece_ = (next_ + count < report_.size() ? more_follow : last_piece) + report_.substr(next_, count);
    next_ += count;
    MPI_Isend(piece_.data(), static_cast<int>(piece_.size()), MPI_CHAR, 0, report_tag, MPI_COMM_WORLD, &request_);
  }
  return done != 0;
}

std::optional<Piece> next_piece() {
  const auto status = waiting(MPI_ANY_SOURCE, report_tag);
  if (!status) return std::nullopt;
  int length = 0;
  MPI_Get_count(&*status, MPI_CHAR, &length);
  std::string text(static_cast<std::size_t>(length), last_piece);
  MPI_Recv(text.data(), length, MPI_CHAR, status->MPI_SOURCE, report_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return Piece{status->MPI_SOURCE, text[0] != more_follow, text.substr(1)};
}

void send(int rank, const Order& order) {
  const OrderWords words{static_cast<std::int64_t>(order.kind), order.first, order.last};
  MPI_Send(words.data(), static_cast<int>(words.size()), MPI_INT64_T, rank, order_tag, MPI_COMM_WORLD);
}

std::optional<Order> next_order() {
  if (!waiting(0, order_tag)) return std::nullopt;
  OrderWords words{};
  MPI_Recv(words.data(), static_cast<int>(words.size()), MPI_INT64_T, 0, order_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return Order{static_cast<OrderKind>(words[0]), words[1], words[2]};
}

}  // namespace lastbit::tool
