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
#include <memory>
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

/// How a process ended, where that was not as it should be.
std::string abnormal_end(int status) {
  if (WIFSIGNALED(status)) {
    return "died of signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

/// A process that was asked something.
class Asked {
 public:
  explicit Asked(const Command& command) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
    from_ = std::make_unique<Descriptor>(ends[0]);
    // The child's copy becomes the last one, and closing it ends the text.
    const Descriptor to(ends[1]);
    child_ = start(command, to.number());
  }
  ~Asked() {
    kill();
    if (child_ > 0) end();
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  /// -1 once it has said all.
  int descriptor() const { return done_ ? -1 : from_->number(); }
  /// Takes what there is of its answer.
  void read_some() {
    std::array<char, 1 << 14> part{};
    const ssize_t bytes = read(from_->number(), part.data(), part.size());
    if (bytes < 0 && errno == EINTR) return;
    if (bytes < 0) fail("read");
    done_ = bytes == 0;
    text_.append(part.data(), static_cast<std::size_t>(bytes));
  }
  bool done() const { return done_; }

  /// Waits for its end.
  Result result() {
    const int status = end();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return failure("the row's process " + abnormal_end(status));
    }
    try {
      return from_line(text_);
    } catch (const BadInput& error) {
      return failure("the row's process answered with " + std::string(error.what()));
    }
  }
  void kill() const {
    if (child_ > 0) ::kill(child_, SIGKILL);
  }

 private:
  int end() {
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
    return status;
  }

  std::unique_ptr<Descriptor> from_;
  pid_t child_ = 0;
  std::string text_;
  bool done_ = false;
};

bool out_of_memory(const Result& result) {
  const auto found = result.counters.values().find("oom");
  return found != result.counters.values().end() && found->second != 0;
}

/// Waits until one of them that had not has said all.
std::size_t next_done(const std::vector<std::unique_ptr<Asked>>& asked) {
  for (;;) {
    std::vector<pollfd> waiting;
    for (const auto& one : asked) waiting.push_back({one->descriptor(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) fail("poll");
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      asked[i]->read_some();
      if (asked[i]->done()) return i;
    }
  }
}

}  // namespace

Command this_program(std::vector<std::string> arguments) {
  return {"/proc/self/exe", std::move(arguments), {}};
}

Result ask(const Command& command) { return ask_together({command}).front(); }

std::vector<Result> ask_together(const std::vector<Command>& commands) {
  std::vector<std::unique_ptr<Asked>> asked;
  for (const Command& command : commands) asked.push_back(std::make_unique<Asked>(command));
  std::vector<Result> results(commands.size());
  for (std::size_t left = commands.size(); left > 0; --left) {
    const std::size_t i = next_done(asked);
    results[i] = asked[i]->result();
    const bool failed = !results[i].error.empty();
    if (!failed && !out_of_memory(results[i])) continue;
    // The others would wait for it for ever.
    for (const auto& other : asked) other->kill();
    const std::string who = commands.size() == 1 ? "" : "rank " + std::to_string(i) + ": ";
    const Result answer = failed ? failure(who + results[i].error) : results[i];
    return std::vector<Result>(commands.size(), answer);
  }
  return results;
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
