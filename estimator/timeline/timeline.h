#pragma once

#include <cstdint>
#include <string>

#include "model/memory/kept_ledger.h"

namespace vramfit {

/// A run over time, to be written for tools that draw it. A unit of time is an event of the ledger.
struct Timeline {
  std::string title;  ///< what ran: model, workload, card. UTF-8
  KeptLedger ledger;
  std::uint64_t capacity = 0;  ///< what its allocator may reserve. Bytes
  std::uint64_t beside = 0;    ///< what context and libraries take of the card. Bytes
};

}  // namespace vramfit
