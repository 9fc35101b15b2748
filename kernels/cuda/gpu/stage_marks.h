#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/ledger.h"
#include "model/ops/device.h"

namespace vramfit {

/// Reads, as each stage of a ledger ends and all its work is done, what the card has lost; names
/// stages for profilers (NVTX). The card's memory is everyone's: an otherwise empty card is needed.
class StageMarks final : public LedgerObserver {
 public:
  /// `device` must outlive this.
  explicit StageMarks(Device& device) : device_(device) {}

  void stage_begins(Stage stage, int step) override;
  void stage_ends(const StageRecord& record) override;

  /// Bytes, one for each stage that ended.
  const std::vector<std::uint64_t>& device_used() const { return device_used_; }

 private:
  Device& device_;
  std::vector<std::uint64_t> device_used_;
};

}  // namespace vramfit
