#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace vramfit {

/// The ranks of a mesh as threads of one process, which meet to read each other's tensors.
class HostRanks {
 public:
  explicit HostRanks(std::int64_t ranks);

  std::int64_t count() const { return static_cast<std::int64_t>(offers_.size()); }

  /// Each rank calls it with what the others may read: runs `read` on all ranks' offers, by rank,
  /// once all are there, and returns when all have read. Throws std::runtime_error where one of
  /// them has left.
  void meet(std::int64_t rank, const void* offer,
            const std::function<void(const std::vector<const void*>&)>& read);

  /// A rank that is over, or failed: those who wait for it wait no more.
  void leave();

 private:
  void arrive();

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<const void*> offers_;
  std::int64_t waiting_ = 0;
  std::uint64_t meetings_ = 0;
  bool left_ = false;
};

}  // namespace vramfit
