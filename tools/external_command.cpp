// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "external_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <thread>

#include "lastbit/error.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the program

namespace lastbit::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds pause_between(20);
constexpr std::size_t longest_output = std::size_t{1} << 16;

[[noreturn]] void refuse(const std::string& program, int error) {
  throw Error(ErrorCode::bad_input, program, "cannot be started: " + std::generic_category().message(error));
}

/// Both ends are closed in the program; its output is a copy of the second one.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe(ends.data()) != 0) refuse("a pipe", errno);
    for (const int end : ends) (void)::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_writing() {
    ::close(ends[1]);
    ends[1] = -1;
  }
};

pid_t start(const std::vector<std::string>& words, const Pipe& pipe) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));  // posix_spawn changes nothing
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  (void)::posix_spawn_file_actions_init(&files);
  (void)::posix_spawnattr_init(&attributes);
  (void)::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) (void)::posix_spawn_file_actions_adddup2(&files, pipe.ends[1], stream);
  (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  (void)::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int failure = ::posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  (void)::posix_spawn_file_actions_destroy(&files);
  (void)::posix_spawnattr_destroy(&attributes);
  if (failure != 0) refuse(words.front(), failure);
  return process;
}

class Running {
 public:
  explicit Running(const std::vector<std::string>& words) : process_(start(words, pipe_)) { pipe_.close_writing(); }
  ~Running() { end_all(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Waits for output or the end, not for long. True: it has ended.
  bool wait_a_little() {
    pollfd wanted{pipe_.ends[0], POLLIN, 0};
    if (open_ && ::poll(&wanted, 1, static_cast<int>(pause_between.count())) > 0) read_some();
    if (ended_) return true;
    const pid_t seen = ::waitpid(process_, &status_, WNOHANG);
    ended_ = seen == process_ || (seen < 0 && errno != EINTR);
    if (!ended_ && !open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ended_;
  }

  /// What it wrote before it ended.
  std::string rest() {
    for (pollfd wanted{pipe_.ends[0], POLLIN, 0}; open_ && output_.size() < longest_output && ::poll(&wanted, 1, 0) > 0;) read_some();
    return output_;
  }
  [[nodiscard]] int status() const { return status_; }

  void end_all() {
    (void)::kill(-process_, SIGKILL);
    if (!ended_) (void)::waitpid(process_, &status_, 0);
    ended_ = true;
  }

 private:
  void read_some() {
    std::array<char, 4096> part{};
    const ssize_t size = ::read(pipe_.ends[0], part.data(), part.size());
    if (size < 0 && errno == EINTR) return;
    open_ = size > 0;
    if (size > 0 && output_.size() < longest_output) output_.append(part.data(), static_cast<std::size_t>(size));
  }

  Pipe pipe_;
  pid_t process_;
  int status_ = 0;
  bool open_ = true, ended_ = false;
  std::string output_;
};

std::string first_line(const std::string& text) {
  constexpr std::size_t longest = 160;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, std::min(text.find_first_of("\r\n", begin) - begin, longest));
}

}  // namespace

std::string CommandResult::failure(double seconds) const {
  if (end == End::stopped) return "stopped";
  const std::string line = first_line(output), told = line.empty() ? "" : ": " + line;
  if (end == End::timed_out) {
    std::string limit = std::to_string(seconds);
    limit.erase(limit.find_last_not_of('0') + 1);
    if (limit.ends_with('.')) limit.pop_back();
    return "no answer within " + limit + " s" + told;
  }
  return (end == End::killed ? "killed by signal " : "exit status ") + std::to_string(status) + told;
}

CommandResult run_command(const std::vector<std::string>& words, double seconds, const std::function<bool()>& stop) {
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Running running(words);
  CommandResult result;
  while (!running.wait_a_little()) {
    if (stop && stop()) result.end = CommandResult::End::stopped;
    else if (Clock::now() > limit) result.end = CommandResult::End::timed_out;
    else continue;
    running.end_all();
    result.output = running.rest();
    return result;
  }
  result.output = running.rest();
  result.end = WIFEXITED(running.status()) ? CommandResult::End::exited : CommandResult::End::killed;
  result.status = WIFEXITED(running.status()) ? WEXITSTATUS(running.status()) : WTERMSIG(running.status());
  return result;
}

}  // namespace lastbit::tool
