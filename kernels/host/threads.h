#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vramfit {

/// Threads that wait for work, so that a piece of a millisecond can be shared out.
class Threads {
 public:
  using Task = std::function<void(std::int64_t)>;

  /// `count` with the caller's own; by default as many as this process may run on.
  explicit Threads(int count = static_cast<int>(std::thread::hardware_concurrency()));
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Calls `task`, which must not throw, with each number below `tasks`, and returns when all are
  /// done. The caller takes part. One call at a time.
  void for_each(std::int64_t tasks, const Task& task);

 private:
  void work();
  /// Takes tasks of the call that is numbered so until none is left.
  void take_tasks(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  const Task* task_ = nullptr;
  std::int64_t tasks_ = 0;
  std::int64_t next_ = 0;     ///< the first that nobody took
  std::int64_t pending_ = 0;  ///< tasks that are not done
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace vramfit
