#include "estimator/ask/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace vramfit {
namespace {

#ifdef __cpp_lib_jthread

/// Each holds a walk of its own in memory.
constexpr unsigned kMostThreads = 8;

/// `work`, on as many threads as there are cores, but on no more than `tasks`.
void on_all_cores(std::size_t tasks, const std::function<void()>& work) {
  if (tasks < 2) return work();
  std::vector<std::jthread> threads;
  const std::size_t cores = std::min(std::thread::hardware_concurrency(), kMostThreads);
  bool more = true;
  while (more && threads.size() + 1 < std::min(cores, tasks)) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      more = false;  // the system has none left: fewer do it
    }
  }
  work();
}

#else

/// Where the standard library has no such threads, as in a browser: on this one.
void on_all_cores(std::size_t /*tasks*/, const std::function<void()>& work) { work(); }

#endif

}  // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next = 0;
  on_all_cores(count, [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace vramfit
