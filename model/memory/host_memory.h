#pragma once

#include "model/memory/ledger.h"
#include "model/memory/pool.h"

namespace vramfit {

/// What a run may keep in the host's memory: a pool and its ledger, beside the card's.
class HostMemory {
 public:
  /// Both must outlive it.
  HostMemory(MemorySource& source, Ledger& card, bool keeps_events = true)
      : pool_(source), ledger_(pool_, Counts::Requested, keeps_events), card_(card) {
    card_.set_host(&ledger_);
  }
  ~HostMemory() { card_.set_host(nullptr); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  const Ledger& ledger() const { return ledger_; }

 private:
  Pool pool_;
  Ledger ledger_;
  Ledger& card_;
};

}  // namespace vramfit
