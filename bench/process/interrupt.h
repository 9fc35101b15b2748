#pragma once

#include <functional>

namespace vramfit::bench {

/// To be called once, before other threads start: SIGINT and SIGTERM then come to a thread of their
/// own, whatever the others are doing. Processes that are started inherit that neither reaches
/// them.
void watch_interrupts();

/// While one lives, such a signal calls `finish` on that thread, and then ends the program; without
/// one it ends as signals end programs.
class OnInterrupt {
 public:
  /// `finish` is given the signal and returns the exit code.
  explicit OnInterrupt(std::function<int(int)> finish);
  /// Waits for a `finish` that has begun, which is for ever.
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;
};

}  // namespace vramfit::bench
