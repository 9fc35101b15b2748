#pragma once

namespace vramfit {

/// While one lives, this thread's kernels that wait by themselves start while those before them
/// still run (programmatic dependent launch), on GPUs of sm_90 on: of small kernels in a row each
/// would otherwise leave the GPU idle at its ends. Nothing that such a kernel reads before it waits
/// may be written by those before it.
class EarlyStarts {
 public:
  explicit EarlyStarts(bool possible) { allowed_ = possible; }
  ~EarlyStarts() { allowed_ = false; }
  EarlyStarts(const EarlyStarts&) = delete;
  EarlyStarts& operator=(const EarlyStarts&) = delete;

  static bool allowed() { return allowed_; }

 private:
  inline static thread_local bool allowed_ = false;
};

}  // namespace vramfit
