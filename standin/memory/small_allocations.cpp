#include "standin/memory/small_allocations.h"

#include <algorithm>

namespace vramfit::standin {

std::optional<std::uint64_t> SmallAllocations::take(std::uint64_t bytes) {
  Page* best = nullptr;
  std::uint64_t least = page_ + 1;
  for (Page& page : pages_) {
    const std::uint64_t span = page.free.smallest_of(bytes);
    if (span == 0 || span >= least) continue;
    best = &page;
    least = span;
  }
  if (best == nullptr) return std::nullopt;
  return best->free.take(bytes);
}

void SmallAllocations::add_page(std::uint64_t offset) {
  pages_.push_back({offset, FreeSpans({{offset, page_}})});
}

std::optional<std::uint64_t> SmallAllocations::give(std::uint64_t offset, std::uint64_t bytes) {
  const auto page = std::find_if(pages_.begin(), pages_.end(), [&](const Page& each) {
    return each.offset <= offset && offset < each.offset + page_;
  });
  page->free.give({offset, bytes});
  if (page->free.largest() < page_) return std::nullopt;
  const std::uint64_t empty = page->offset;
  pages_.erase(page);
  return empty;
}

}  // namespace vramfit::standin
