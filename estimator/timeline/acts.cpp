#include "estimator/timeline/acts.h"

#include <algorithm>

#include "estimator/timeline/history.h"
#include "model/checked.h"
#include "model/memory/layer_name.h"

namespace vramfit {
namespace {

/// round_size of PyTorch's caching allocator.
std::uint64_t rounded(std::uint64_t requested) {
  constexpr std::uint64_t kMinBlockSize = 512;
  return round_up(std::max<std::uint64_t>(requested, 1), kMinBlockSize);
}

/// In what order a run frees what it no longer needs is nobody's promise.
void order_frees(Acts& acts) {
  const auto allocates = [](const Acts::Act& act) { return act.allocates; };
  for (auto at = acts.acts.begin(); at != acts.acts.end();) {
    const auto end = std::find_if(at, acts.acts.end(), allocates);
    std::sort(at, end, [&](const Acts::Act& a, const Acts::Act& b) {
      return std::pair(acts.owners[a.owner].bytes, a.event) <
             std::pair(acts.owners[b.owner].bytes, b.event);
    });
    at = end == acts.acts.end() ? end : end + 1;
  }
}

/// PyTorch's tensors have no names; what they are for says more.
std::string what_of(const Allocation& allocation) {
  std::string category = name(allocation.category);
  std::replace(category.begin(), category.end(), '_', ' ');
  if (allocation.name == "a tensor") return category;
  return layer_name(allocation.name).of_all_layers() + " (" + category + ")";
}

}  // namespace

std::vector<std::int64_t> Acts::tokens(std::size_t first) const {
  std::vector<std::int64_t> tokens;
  tokens.reserve(acts.size() - first);
  for (std::size_t i = first; i < acts.size(); ++i) {
    const auto bytes = static_cast<std::int64_t>(bytes_of(i));
    tokens.push_back(acts[i].allocates ? bytes : -bytes);
  }
  return tokens;
}

std::vector<std::size_t> Acts::live_before(std::size_t act) const {
  std::vector<bool> live(owners.size(), false);
  for (const std::size_t owner : before) live[owner] = true;
  for (std::size_t i = 0; i < act; ++i) live[acts[i].owner] = acts[i].allocates;
  std::vector<std::size_t> list;
  for (std::size_t owner = 0; owner < owners.size(); ++owner) {
    if (live[owner]) list.push_back(owner);
  }
  return list;
}

std::vector<std::uint64_t> Acts::levels() const {
  std::vector<std::uint64_t> levels(1, 0);
  levels.reserve(acts.size() + 1);
  for (const std::size_t owner : before) levels.front() += owners[owner].bytes;
  for (std::size_t i = 0; i < acts.size(); ++i) {
    levels.push_back(acts[i].allocates ? levels.back() + bytes_of(i) : levels.back() - bytes_of(i));
  }
  return levels;
}

Acts acts_of(const Recording& recording) {
  Acts acts;
  for (const Recording::Allocation& allocation : recording.allocations) {
    acts.owners.push_back({rounded(allocation.requested), recording.stacks[allocation.stack]});
  }
  for (std::size_t i = 0; i < recording.from_start; ++i) acts.before.push_back(i);
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    acts.acts.push_back({recording.events[i].allocates, recording.events[i].allocation, i});
  }
  order_frees(acts);
  return acts;
}

Acts acts_of(const KeptLedger& ledger) {
  const History history = history_of(ledger);
  Acts acts;
  for (const Allocation& allocation : history.allocations) {
    acts.owners.push_back({rounded(ledger.events[allocation.born].requested), what_of(allocation)});
  }
  for (std::size_t i = 0; i < history.events; ++i) {
    const Event::Kind kind = ledger.events[i].kind;
    if (kind != Event::Kind::Allocate && kind != Event::Kind::Free) continue;
    if (history.whose[i] == History::kNone) continue;
    acts.acts.push_back({kind == Event::Kind::Allocate, history.whose[i], i});
  }
  order_frees(acts);
  return acts;
}

}  // namespace vramfit
