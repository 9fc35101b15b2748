#include "bench/process/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

namespace vramfit::bench {
namespace {

std::mutex mutex;
std::function<int(int)> finish_run;  // guarded by it

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

[[noreturn]] void wait_for_one() {
  const sigset_t set = interrupts();
  int number = 0;
  sigwait(&set, &number);
  // A second one ends the program at once.
  std::signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  const std::lock_guard lock(mutex);
  if (!finish_run) std::raise(number);
  _exit(finish_run(number));
}

}  // namespace

void watch_interrupts() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread(wait_for_one).detach();
}

OnInterrupt::OnInterrupt(std::function<int(int)> finish) {
  const std::lock_guard lock(mutex);
  finish_run = std::move(finish);
}

OnInterrupt::~OnInterrupt() {
  const std::lock_guard lock(mutex);
  finish_run = nullptr;
}

}  // namespace vramfit::bench
