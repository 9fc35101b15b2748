#include "estimator/files/removed_at_signals.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace vramfit {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

/// As many as a process has open at a time; the handler may neither allocate nor lock.
std::array<std::atomic<const char*>, 8> to_remove;

void remove_and_end(int signal) {
  for (const auto& entry : to_remove) {
    if (const char* path = entry.load()) ::unlink(path);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// In place of the default alone: an interpreter's own handler goes on, and so does what it writes.
void handle_signals() {
  for (const int signal : kSignals) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    std::signal(signal, remove_and_end);
  }
}

}  // namespace

RemovedAtSignals::RemovedAtSignals(const std::filesystem::path& path) : path_(path.string()) {
  for (auto& entry : to_remove) {
    const char* nothing = nullptr;
    if (!entry.compare_exchange_strong(nothing, path_.c_str())) continue;
    entry_ = &entry;
    handle_signals();
    return;
  }
}

RemovedAtSignals::~RemovedAtSignals() {
  if (entry_ != nullptr) entry_->store(nullptr);
}

}  // namespace vramfit
