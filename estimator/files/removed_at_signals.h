#pragma once

#include <atomic>
#include <filesystem>
#include <string>

namespace vramfit {

/// A file that goes where the process is ended by a signal that it does not handle itself: SIGINT,
/// SIGTERM or SIGHUP.
class RemovedAtSignals {
 public:
  explicit RemovedAtSignals(const std::filesystem::path& path);
  ~RemovedAtSignals();
  RemovedAtSignals(const RemovedAtSignals&) = delete;
  RemovedAtSignals& operator=(const RemovedAtSignals&) = delete;

 private:
  const std::string path_;
  std::atomic<const char*>* entry_ = nullptr;  ///< where the handler finds it
};

}  // namespace vramfit
