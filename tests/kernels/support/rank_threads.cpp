#include "tests/kernels/support/rank_threads.h"

#include <exception>
#include <mutex>
#include <thread>

namespace vramfit {

void on_ranks(std::int64_t ranks, const std::function<void(std::int64_t, RankHost&)>& body,
              Arch arch) {
  HostRanks meeting(ranks);
  std::mutex mutex;
  std::exception_ptr first;  // the others leave because it did
  const auto run = [&](std::int64_t rank) {
    try {
      RankHost host(arch, meeting, rank);
      body(rank, host);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      meeting.leave();
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace vramfit
