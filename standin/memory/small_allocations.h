#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/memory/free_spans.h"

namespace vramfit::standin {

/// Allocations of less than a page share pages (seen on an H200,
/// data/reference/driver_addresses.jsonl).
class SmallAllocations {
 public:
  static constexpr std::uint64_t kUnit = 512;

  explicit SmallAllocations(std::uint64_t page) : page_(page) {}

  /// Bytes are whole units. None where no page has room.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  void add_page(std::uint64_t offset);
  /// The page around it if nothing is left in it: it is none of these any more.
  std::optional<std::uint64_t> give(std::uint64_t offset, std::uint64_t bytes);

 private:
  struct Page {
    std::uint64_t offset;
    FreeSpans free;
  };
  std::uint64_t page_;
  std::vector<Page> pages_;
};

}  // namespace vramfit::standin
