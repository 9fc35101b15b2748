#pragma once

#include <cstdint>
#include <optional>

#include "runtimes/runtime.h"

namespace vramfit {

/// From good to bad. Tight: the margin, on whichever side, is no larger than what figures may be
/// off by.
enum class Verdict : std::uint8_t { Fits, Tight, Oom };

/// "FITS", "TIGHT", "OOM".
const char* name(Verdict verdict);

/// How far the figures may be off, either way. Bytes.
struct Uncertainty {
  std::uint64_t reserved = 0;  ///< by the runtime's worst published error, and what a race decides
  std::uint64_t overhead = 0;  ///< what driver and libraries take, by its range

  std::uint64_t total() const { return reserved + overhead; }
};

/// What a run's overhead may be off by, either way. Bytes.
std::uint64_t range_of(const Overhead& overhead);

/// Of a card on which a run reserves so much beside such an overhead; absent where nobody held the
/// runtime against measurements.
std::optional<Uncertainty> uncertainty_of(const Workload& workload, std::uint64_t reserved,
                                          const Overhead& overhead);
/// Of what a run took, with what a race decides.
std::optional<Uncertainty> uncertainty_of(const Workload& workload, const Outcome& run);

/// `margin` is what a card has beyond what a run must have; negative: lacks. Bytes.
Verdict verdict_of(bool fits, std::int64_t margin, const std::optional<Uncertainty>& uncertainty);

}  // namespace vramfit
