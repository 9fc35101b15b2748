#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/memory/run_report.h"

namespace vramfit {

/// An event apart from the program that wrote it: its name is text.
struct KeptEvent {
  Event::Kind kind;
  Stage stage;
  Category category;
  int step;
  std::string name;
  std::uint64_t bytes;
  std::uint64_t offset;
  std::uint64_t reserved;
  std::uint64_t requested;

  friend bool operator==(const KeptEvent&, const KeptEvent&) = default;
};

/// A ledger that outlives its run: in a file, or beside that of another run.
struct KeptLedger {
  std::vector<KeptEvent> events;
  std::vector<SegmentChange> segments;  ///< by event; empty under an allocator that has none
  std::vector<KeptEvent> host = {};     ///< of the host's memory; empty where nothing is there
};

KeptLedger keep(const RunReport& report);

}  // namespace vramfit
