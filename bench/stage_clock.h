#pragma once

#include <chrono>

#include "bench/real_device.h"

namespace vramfit::bench {

/// Times a ledger's stages, waiting for the device at both ends. All must outlive it.
class StageClock final : public StageObserver {
 public:
  StageClock(Device& device, StageSeconds& seconds) : device_(device), seconds_(seconds) {}

  void stage_begins(Stage, int) override {
    device_.synchronize();
    began_ = Clock::now();
  }
  void stage_ends(const StageRecord& record) override {
    device_.synchronize();
    const std::chrono::duration<double> took = Clock::now() - began_;
    seconds_[{record.stage, record.step}] += took.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Device& device_;
  StageSeconds& seconds_;
  Clock::time_point began_;
};

}  // namespace vramfit::bench
