#include "kernels/cpu/host_ranks.h"

#include <stdexcept>

namespace vramfit {

HostRanks::HostRanks(std::int64_t ranks) : offers_(static_cast<std::size_t>(ranks)) {}

void HostRanks::meet(std::int64_t rank, const void* offer,
                     const std::function<void(const std::vector<const void*>&)>& read) {
  {
    const std::lock_guard lock(mutex_);
    offers_[static_cast<std::size_t>(rank)] = offer;
  }
  arrive();
  read(offers_);
  arrive();
}

void HostRanks::leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  all_here_.notify_all();
}

void HostRanks::arrive() {
  std::unique_lock lock(mutex_);
  const std::uint64_t meeting = meetings_;
  if (++waiting_ == count()) {
    waiting_ = 0;
    ++meetings_;
    all_here_.notify_all();
    return;
  }
  all_here_.wait(lock, [&] { return left_ || meetings_ != meeting; });
  if (meetings_ == meeting) throw std::runtime_error("a collective: another rank has left");
}

}  // namespace vramfit
