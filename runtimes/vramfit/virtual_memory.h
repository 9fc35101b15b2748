#pragma once

#include "model/memory/host_memory.h"
#include "model/memory/pool.h"
#include "runtimes/vramfit/virtual_device.h"

namespace vramfit {

/// What a run allocates from where nothing stands behind it: a virtual GPU's memory, and the host's
/// beside it.
class VirtualMemory {
 public:
  /// Of the GPU: so many bytes.
  explicit VirtualMemory(std::uint64_t capacity = kUnlimitedBytes, bool events = true)
      : source_(capacity),
        pool_(source_),
        ledger_(pool_, Counts::Requested, events),
        host_(host_source_, ledger_, events) {}
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  /// The GPU's.
  Ledger& ledger() { return ledger_; }

 private:
  VirtualSource source_;
  Pool pool_;
  Ledger ledger_;
  VirtualSource host_source_;
  HostMemory host_;
};

}  // namespace vramfit
