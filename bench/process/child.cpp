#include "bench/process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "model/errors.h"

extern char** environ;

namespace vramfit::bench {
namespace {

/// Where a child writes its answer: standard output is for what libraries have to say.
constexpr int kAnswer = 3;

[[noreturn]] void fail(const char* call) {
  throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  int number() const { return number_; }

 private:
  int number_;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// `own`, then this process's own environment: of two values the first counts.
std::vector<std::string> environment_with(const std::vector<std::string>& own) {
  std::vector<std::string> all = own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& mine : own) replaced |= mine.compare(0, name.size(), name) == 0;
    if (!replaced) all.push_back(text);
  }
  return all;
}

pid_t start(const Command& command, int answer) {
  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.begin(), command.program);
  std::vector<std::string> environment = environment_with(command.environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer, kAnswer);
  pid_t child = 0;
  const int error = posix_spawn(&child, command.program.c_str(), &actions, nullptr,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  throw std::runtime_error(command.program + " could not be started: " + std::strerror(error));
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 1 << 14> part{};
  for (;;) {
    const ssize_t bytes = read(from, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail("read");
    if (bytes == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
}

/// How a process ended, where that was not as it should be.
std::string abnormal_end(int status) {
  if (WIFSIGNALED(status)) {
    return "died of signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Command this_program(std::vector<std::string> arguments) {
  return {"/proc/self/exe", std::move(arguments), {}};
}

Result ask(const Command& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t child = start(command, to.number());
  to.close();  // so that the child's copy is the last one, and closing it ends the text
  const std::string text = read_all(from.number());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return failure("the row's process " + abnormal_end(status));
  }
  try {
    return from_line(text);
  } catch (const BadInput& error) {
    return failure("the row's process answered with " + std::string(error.what()));
  }
}

void answer(const Result& result) {
  const std::string text = to_line(result);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t bytes = write(kAnswer, text.data() + written, text.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail("write");
    written += static_cast<std::size_t>(bytes);
  }
}

void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that died before that no longer waits for the answer.
  pollfd answer{kAnswer, 0, 0};
  if (poll(&answer, 1, 0) > 0 && (answer.revents & POLLERR) != 0) _exit(EXIT_FAILURE);
}

}  // namespace vramfit::bench
