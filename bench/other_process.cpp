// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "other_process.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "lastbit/error.hpp"

namespace lastbit::bench {

OtherProcess::OtherProcess(const std::vector<std::string>& command, const std::string& variable) : name_(command[0]) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw Error(ErrorCode::bad_input, name_, "cannot be talked to");
  process_ = fork();
  if (process_ == 0) {
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    if (!variable.empty()) putenv(const_cast<char*>(variable.c_str()));
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(1);
  }
  close(ends[1]);
  socket_ = ends[0];
}

OtherProcess::~OtherProcess() {
  close(socket_);  // the end of its input, and so its own
  waitpid(process_, nullptr, 0);
}

double OtherProcess::seconds(std::int64_t runs) {
  const std::string question = std::to_string(runs) + "\n";
  std::string answer;
  char letter = 0;
  if (send(socket_, question.data(), question.size(), MSG_NOSIGNAL) > 0)
    while (read(socket_, &letter, 1) == 1 && letter != '\n') answer += letter;
  if (letter != '\n') throw Error(ErrorCode::bad_input, name_, "does not answer");
  return std::stod(answer);
}

}  // namespace lastbit::bench
