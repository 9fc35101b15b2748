#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/driver_code.h"
#include "model/memory/free_spans.h"

namespace vramfit {

/// Where cudaMalloc puts segments. Addresses decide nothing but which of two free blocks of one
/// size is taken first, the lower one; but that is enough to shape what a run reserves.
///
/// As seen on an H200 with driver 580 (data/reference/driver_addresses.jsonl): addresses are had by
/// the region, a multiple of 32 MiB. What is allocated goes into the newest region that has room,
/// there into the smallest free span that is enough, the lowest of those. Where no region has room
/// there is a new one, at the top of the highest gap that is larger than it by 32 MiB. A region all
/// of which is free is a gap again. The context has one, and the first kernel.
class DriverAddresses {
 public:
  DriverAddresses();
  /// Bytes: a multiple of 2 MiB.
  std::uint64_t take(std::uint64_t bytes);
  void give(std::uint64_t offset, std::uint64_t bytes);

  /// The driver's own come to lie among them, once for each kind, of handles each time.
  void load(DriverCode code);

 private:
  struct Region {
    Span span;
    FreeSpans free;
    bool stays;  ///< the driver's own is in it
  };
  void load_first_kernel();
  Region make_region(std::uint64_t bytes);
  void add_gap(Span span);

  std::vector<Region> regions_;  ///< the newest last
  std::vector<Span> gaps_;       ///< the highest first, the last without end
  std::uint64_t most_;           ///< no region has a larger span
};

}  // namespace vramfit
