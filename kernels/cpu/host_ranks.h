#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
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

  /// What a rank lets another one read, and what it reads of another.
  struct Sent {
    std::int64_t to;
    const void* offer;
  };
  struct Received {
    std::int64_t from;
    std::function<void(const void*)> read;
  };
  /// All at once; returns when all is read. Between two ranks, in the order of sending. Throws as
  /// meet does.
  void exchange(std::int64_t rank, const std::vector<Sent>& sent,
                const std::vector<Received>& received);

  /// A rank that is over, or failed: those who wait for it wait no more.
  void leave();

 private:
  struct Letter {
    const void* offer;
    enum class State { Posted, Opened, Read } state = State::Posted;
  };
  using Ends = std::pair<std::int64_t, std::int64_t>;  ///< from, to

  void arrive();
  void await_reader(std::unique_lock<std::mutex>& lock, const Letter& letter, const Ends& ends);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Ends, std::deque<Letter*>> letters_;  ///< that nobody has opened
  std::vector<const void*> offers_;
  std::int64_t waiting_ = 0;
  std::uint64_t meetings_ = 0;
  bool left_ = false;
};

}  // namespace vramfit
