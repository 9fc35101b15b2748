#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runtimes/runtime.h"

namespace vramfit {

/// From good to bad. Tight: the margin, on whichever side, is no larger than what figures may be
/// off by.
enum class Verdict : std::uint8_t { Fits, Tight, Oom };

/// "FITS", "TIGHT", "OOM".
const char* name(Verdict verdict);

/// How much less or more than it is said to be something may be. Bytes.
struct Range {
  std::uint64_t less = 0;
  std::uint64_t more = 0;

  /// What may turn a verdict: more, of what fits; less, of what does not.
  std::uint64_t against(bool fits) const { return fits ? more : less; }
};

/// How far the figures may be off. Bytes.
struct Uncertainty {
  /// Either way, by the runtime's worst published error, and what a race decides.
  std::uint64_t reserved = 0;
  Range overhead;  ///< of what driver and libraries take

  std::uint64_t against(bool fits) const { return reserved + overhead.against(fits); }
};

/// How far a run's overhead may lie from what it is said to be. Bytes.
Range range_of(const Overhead& overhead);

/// As answers tell it of a run that fits or not: what may turn that, and the overhead's both ways.
nlohmann::ordered_json as_json(const Uncertainty& uncertainty, bool fits);

/// Of a card on which a run reserves so much beside such an overhead; absent where nobody held the
/// runtime against measurements.
std::optional<Uncertainty> uncertainty_of(const Workload& workload, std::uint64_t reserved,
                                          const Overhead& overhead);
/// Of what a run took, with what a race decides.
std::optional<Uncertainty> uncertainty_of(const Workload& workload, const Outcome& run);

/// `margin` is what a card has beyond what a run must have; negative: lacks. Bytes.
Verdict verdict_of(bool fits, std::int64_t margin, const std::optional<Uncertainty>& uncertainty);

}  // namespace vramfit
