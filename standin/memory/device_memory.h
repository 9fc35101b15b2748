#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/memory/driver_addresses.h"
#include "standin/memory/address_space.h"
#include "standin/memory/small_allocations.h"
#include "standin/memory/values.h"

namespace vramfit::standin {

/// One GPU's memory. Its bytes go to the process's allocations, to driver and libraries, and to
/// others; what is left is free, as cudaMemGetInfo tells it.
class DeviceMemory {
 public:
  /// The driver maps physical memory by so much (cuMemGetAllocationGranularity).
  static constexpr std::uint64_t kPage = std::uint64_t{2} << 20;

  /// `total` as cudaMemGetInfo tells it; `taken` of it is not this process's to have.
  DeviceMemory(std::uint64_t total, std::uint64_t taken) : total_(total), taken_(taken) {}

  /// cudaMalloc: an address, or 0 where too little is free.
  std::uint64_t allocate(std::uint64_t bytes);
  /// False where nothing was allocated at `address`.
  bool free(std::uint64_t address);

  /// Physical memory that has no address yet (cuMemCreate); false where too little is free.
  bool take_pages(std::uint64_t bytes);
  void give_pages(std::uint64_t bytes) { pages_ -= bytes; }
  /// Addresses without memory (cuMemAddressReserve).
  std::uint64_t reserve_addresses(std::uint64_t bytes, std::uint64_t alignment);

  /// What driver and libraries keep to themselves grows.
  void load(DriverCode code, std::uint64_t bytes);

  bool holds(std::uint64_t address) const { return space_.holds(address); }
  /// The allocation around an address: its first byte and its bytes; bytes 0 where there is none.
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  Range around(std::uint64_t address) const;

  std::uint64_t total() const { return total_; }
  std::uint64_t free_bytes() const;
  /// By this process: allocations and libraries.
  std::uint64_t used() const { return mapped_ + pages_ + libraries_; }
  std::uint64_t peak_used() const { return peak_; }
  void reset_peak() { peak_ = used(); }
  std::uint64_t libraries() const { return libraries_; }

  /// What driver and libraries took, in order.
  struct Load {
    DriverCode code;
    std::uint64_t bytes;
    std::uint64_t allocations;  ///< that allocate() had made by then
  };
  const std::vector<Load>& loads() const { return loads_; }

  Values& values() { return values_; }

 private:
  /// Addresses of the driver's, of whole pages or of small units; none where too little is free.
  std::optional<std::uint64_t> place(std::uint64_t bytes);
  void remember_peak();

  std::uint64_t total_;
  std::uint64_t taken_;
  std::uint64_t libraries_ = 0;
  std::uint64_t made_ = 0;  ///< allocations so far
  std::vector<Load> loads_;
  std::uint64_t mapped_ = 0;  ///< by allocate()
  std::uint64_t pages_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t reserved_addresses_ = 0;
  AddressSpace space_;
  DriverAddresses addresses_;
  SmallAllocations small_{kPage};
  std::map<std::uint64_t, std::uint64_t> allocations_;  ///< bytes that they take, by address
  Values values_;
};

}  // namespace vramfit::standin
