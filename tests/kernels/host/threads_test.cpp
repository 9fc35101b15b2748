#include "kernels/host/threads.h"

#include <gtest/gtest.h>

#include <atomic>

namespace vramfit {
namespace {

TEST(Threads, DoEveryTaskOnceBeforeTheCallReturns) {
  for (const int count : {1, 2, 5}) {
    Threads threads(count);
    // Call after call, so that a thread late for one would be seen in the next.
    for (const std::int64_t tasks : {0, 1, 2, 3, 100, 1, 0, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(tasks));
      threads.for_each(tasks, [&](std::int64_t task) { ++done[static_cast<std::size_t>(task)]; });
      for (const std::atomic<int>& times : done) ASSERT_EQ(times, 1) << count << ", " << tasks;
    }
  }
}

TEST(Threads, WorkAtTheSameTime) {
  Threads threads(2);
  std::atomic<int> begun = 0;
  // Each waits for the other: one thread alone would never return.
  threads.for_each(2, [&](std::int64_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 2);
}

}  // namespace
}  // namespace vramfit
