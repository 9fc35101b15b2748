#include "estimator/timeline/history.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "model/checked.h"
#include "model/memory/pool.h"

namespace vramfit {
namespace {

using Kind = Event::Kind;

/// How many events there are until memory runs out or the last stage ends.
std::size_t events_of_run(const std::vector<KeptEvent>& events) {
  const auto is = [](Kind kind) { return [kind](const KeptEvent& e) { return e.kind == kind; }; };
  const auto oom = std::find_if(events.begin(), events.end(), is(Kind::OutOfMemory));
  if (oom != events.end()) return static_cast<std::size_t>(oom - events.begin()) + 1;
  const auto end = std::find_if(events.rbegin(), events.rend(), is(Kind::StageEnd));
  return static_cast<std::size_t>(events.rend() - end);
}

/// The pool's: it maps granules at the end of one range.
std::vector<SegmentChange> growth(const std::vector<KeptEvent>& events, std::size_t count) {
  std::vector<SegmentChange> changes;
  std::uint64_t reserved = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (events[i].reserved <= reserved) continue;
    changes.push_back({i, reserved, static_cast<std::int64_t>(events[i].reserved - reserved)});
    reserved = events[i].reserved;
  }
  return changes;
}

void find_peak(const std::vector<KeptEvent>& events, History& history) {
  std::uint64_t allocated = 0;
  for (std::size_t i = 0; i < history.events; ++i) {
    if (events[i].kind == Kind::Allocate) allocated += events[i].bytes;
    if (events[i].kind == Kind::Free) allocated -= events[i].bytes;
    if (allocated <= history.peak) continue;
    history.peak = allocated;
    history.peak_event = i;
  }
}

std::uint64_t block_bytes(const KeptEvent& e, bool one_range) {
  return one_range ? round_up(std::max<std::uint64_t>(e.bytes, 1), Pool::kAlignment) : e.bytes;
}

void follow_allocations(const std::vector<KeptEvent>& events, History& history) {
  std::unordered_map<std::uint64_t, std::size_t> at;  // allocations that live, by offset
  history.whose.assign(history.events, History::kNone);
  for (std::size_t i = 0; i < history.events; ++i) {
    const KeptEvent& e = events[i];
    if (e.kind == Kind::Allocate) {
      at[e.offset] = history.whose[i] = history.allocations.size();
      history.allocations.push_back(
          {i, Allocation::kLives, e.name, e.category, block_bytes(e, history.one_range), e.bytes});
      continue;
    }
    if (e.kind != Kind::Free && e.kind != Kind::Relabel) continue;
    const auto found = at.find(e.offset);
    if (found == at.end()) continue;
    history.whose[i] = found->second;
    Allocation& allocation = history.allocations[found->second];
    if (e.kind == Kind::Relabel) {
      const bool counted_at_peak = allocation.born <= history.peak_event && history.peak_event < i;
      if (!counted_at_peak) allocation.category = e.category;
      allocation.name = e.name;
    } else {
      allocation.died = i;
      at.erase(found);
    }
  }
}

}  // namespace

History history_of(const KeptLedger& ledger) {
  History history;
  history.events = events_of_run(ledger.events);
  history.one_range = ledger.segments.empty();
  if (history.one_range) {
    history.segments = growth(ledger.events, history.events);
  } else {
    history.segments = ledger.segments;
    const auto beyond = [&](const SegmentChange& c) { return c.event >= history.events; };
    std::erase_if(history.segments, beyond);
  }
  find_peak(ledger.events, history);
  follow_allocations(ledger.events, history);
  return history;
}

std::vector<PlacedSegment> segments_at_end(const KeptLedger& ledger, const History& history) {
  std::map<std::uint64_t, PlacedSegment> segments;
  for (const SegmentChange& change : history.segments) {
    if (change.bytes < 0) {
      segments.erase(change.offset);
    } else if (history.one_range && !segments.empty()) {
      segments.begin()->second.bytes += static_cast<std::uint64_t>(change.bytes);
    } else {
      segments[change.offset] = {change.offset, static_cast<std::uint64_t>(change.bytes), {}};
    }
  }
  std::vector<PlacedBlock> blocks;
  for (std::size_t i = 0; i < history.allocations.size(); ++i) {
    const Allocation& a = history.allocations[i];
    if (a.died != Allocation::kLives) continue;
    blocks.push_back({ledger.events[a.born].offset, a.block_bytes, i});
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const PlacedBlock& a, const PlacedBlock& b) { return a.offset < b.offset; });
  std::vector<PlacedSegment> placed;
  auto block = blocks.begin();
  for (auto& [offset, there] : segments) {
    PlacedSegment& segment = there;
    std::uint64_t filled = offset;
    const std::uint64_t end = offset + segment.bytes;
    const auto fill_to = [&](std::uint64_t to) {
      if (to > filled) segment.blocks.push_back({filled, to - filled, History::kNone});
      filled = to;
    };
    for (; block != blocks.end() && block->offset < end; ++block) {
      fill_to(block->offset);
      segment.blocks.push_back(*block);
      filled = block->offset + block->bytes;
    }
    fill_to(end);
    placed.push_back(std::move(segment));
  }
  return placed;
}

}  // namespace vramfit
