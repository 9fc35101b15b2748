#pragma once

#include <gtest/gtest.h>

#include "model/memory/pool.h"
#include "tests/kernels/cuda/support/gpu.h"

namespace vramfit {

/// What the card says is used beyond a baseline, beside what the pool says it took, at every stage
/// mark. The baseline is what is used before the run, once libraries have loaded all they will.
class Witness final : public LedgerObserver {
 public:
  explicit Witness(const Pool& pool) : pool_(pool), baseline_(device_memory().used()) {}

  void stage_begins(Stage stage, int step) override { look(stage, step, "begins"); }
  void stage_ends(const StageRecord& record) override {
    EXPECT_EQ(record.reserved, pool_.reserved());
    look(record.stage, record.step, "ends");
  }

  int looks = 0;
  int differences = 0;
  std::string first;  ///< of the differences

 private:
  void look(Stage stage, int step, const char* mark) {
    ++looks;
    const std::uint64_t used = device_memory().used() - baseline_;
    if (used == pool_.reserved()) return;
    if (differences++ == 0) {
      first = std::string(name(stage)) + " of step " + std::to_string(step) + " " + mark +
              ": the card lost " + std::to_string(used) + " bytes, the pool took " +
              std::to_string(pool_.reserved());
    }
  }

  const Pool& pool_;
  const std::uint64_t baseline_;
};

}  // namespace vramfit
