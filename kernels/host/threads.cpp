#include "kernels/host/threads.h"

namespace vramfit {

Threads::Threads(int count) {
  for (int i = 1; i < count; ++i) threads_.emplace_back([this] { work(); });
}

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Threads::for_each(std::int64_t tasks, const Task& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  next_ = 0;
  tasks_ = pending_ = tasks;
  if (tasks > 1) begun_.notify_all();
  take_tasks(lock);
  ended_.wait(lock, [this] { return pending_ == 0; });
  tasks_ = 0;
}

void Threads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [this] { return ends_ || next_ < tasks_; });
    if (ends_) return;
    take_tasks(lock);
  }
}

void Threads::take_tasks(std::unique_lock<std::mutex>& lock) {
  while (next_ < tasks_) {
    const std::int64_t own = next_++;
    const Task& task = *task_;
    lock.unlock();
    task(own);
    lock.lock();
    if (--pending_ == 0) ended_.notify_one();
  }
}

}  // namespace vramfit
