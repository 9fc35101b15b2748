#pragma once

#include <string>

#include "bench/devices/real_device.h"
#include "bench/rows/row.h"
#include "estimator/budget.h"
#include "model/transformer/generation.h"
#include "model/transformer/training.h"
#include "runtimes/vramfit/rank_overhead.h"

namespace vramfit::bench {

/// A row with all that its run needs looked up. What it points to outlives it.
struct Case {
  Row row;
  const ModelConfig* config;
  const Card* card;       ///< that it runs on, or that the device is to behave as; null for none
  RealDevice* device;     ///< null: predictions only
  std::int64_t rank = 0;  ///< of the GPUs that run it, which this process has
  bool keeps_ledger = false;  ///< whether its result is to have the run's ledger

  /// 1 where the row has no such axis: a cliff's looks for the largest.
  std::int64_t size(Axis axis) const { return row[axis].empty() ? 1 : size_of(axis, row[axis]); }
  /// GPUs that run it together.
  std::int64_t ranks() const { return size(Axis::Gpus); }
  /// They and this process's among them; how a pipeline's blocks are split is not said.
  Mesh mesh() const;
  Arch arch() const { return device != nullptr ? device->arch() : card->arch; }
  int multiprocessors() const {
    return device != nullptr ? device->multiprocessors() : card->multiprocessors;
  }
  /// Of the card, beside what the run reserves.
  Overhead overhead() const {
    return card == nullptr ? Overhead{} : rank_overhead(card->overhead, mesh());
  }
  /// What it runs on as a runtime's rules see it.
  Gpu gpu() const;
  /// Bytes a pool may map on the card; without one there is no limit.
  std::uint64_t capacity() const;
};

/// The run a row names. Throws BadInput where it cannot be.
TrainingOptions training_options(const Case& row);
GenerationOptions generation_options(const Case& row);

// As families check their rows.
void check_training(const Case& row);
void check_generation(const Case& row);

}  // namespace vramfit::bench
