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
    try {
      const std::size_t cores = std::min(std::thread::hardware_concurrency(), kMostThreads);
      for (std::size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads are to be had: fewer do it
    }
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace vramfit::fit
