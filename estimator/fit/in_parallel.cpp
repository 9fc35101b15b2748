#include "estimator/fit/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace vramfit::fit {
namespace {

/// Each holds a walk of its own in memory.
constexpr unsigned kMostThreads = 8;

}  // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t cores = std::min(std::thread::hardware_concurrency(), kMostThreads);
    bool more = true;
    while (more && threads.size() + 1 < std::min(cores, count)) {
      try {
        threads.emplace_back(work);
      } catch (const std::system_error&) {
        more = false;  // the system has none left: fewer do it
      }
    }
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace vramfit::fit
