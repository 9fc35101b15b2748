#include "kernels/cpu/host_ranks.h"

#include <algorithm>
#include <stdexcept>

namespace vramfit {
namespace {

[[noreturn]] void fail() { throw std::runtime_error("a collective: another rank has left"); }

}  // namespace

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

void HostRanks::exchange(std::int64_t rank, const std::vector<Sent>& sent,
                         const std::vector<Received>& received) {
  std::deque<Letter> own;  // stays where it is as it grows
  std::unique_lock lock(mutex_);
  for (const Sent& one : sent) {
    own.push_back({one.offer});
    letters_[{rank, one.to}].push_back(&own.back());
  }
  changed_.notify_all();
  bool whole = true;
  for (const Received& one : received) {
    std::deque<Letter*>& inbox = letters_[{one.from, rank}];
    changed_.wait(lock, [&] { return left_ || !inbox.empty(); });
    whole = whole && !inbox.empty();
    if (!whole) break;
    Letter& letter = *inbox.front();
    inbox.pop_front();
    letter.state = Letter::State::Opened;
    lock.unlock();
    one.read(letter.offer);
    lock.lock();
    letter.state = Letter::State::Read;
    changed_.notify_all();
  }
  for (std::size_t i = 0; i < own.size(); ++i) await_reader(lock, own[i], {rank, sent[i].to});
  const auto read = [](const Letter& letter) { return letter.state == Letter::State::Read; };
  if (!whole || !std::ranges::all_of(own, read)) fail();
}

void HostRanks::await_reader(std::unique_lock<std::mutex>& lock, const Letter& letter,
                             const Ends& ends) {
  changed_.wait(lock, [&] {
    return letter.state == Letter::State::Read || (left_ && letter.state == Letter::State::Posted);
  });
  // Nobody opens it any more.
  if (letter.state == Letter::State::Posted) std::erase(letters_[ends], &letter);
}

void HostRanks::leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

void HostRanks::arrive() {
  std::unique_lock lock(mutex_);
  const std::uint64_t meeting = meetings_;
  if (++waiting_ == count()) {
    waiting_ = 0;
    ++meetings_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [&] { return left_ || meetings_ != meeting; });
  if (meetings_ == meeting) fail();
}

}  // namespace vramfit
