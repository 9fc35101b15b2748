#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/timeline/recording.h"
#include "model/memory/kept_ledger.h"

namespace vramfit {

/// Allocations of one size and kind, as the caching allocator rounds them.
struct Alike {
  std::uint64_t bytes;  ///< of each
  std::int64_t count;   ///< of a difference at the peak: negative, the run has fewer
  std::string what;     ///< of the prediction: tensor and category; of the run: who asked for it

  std::int64_t total() const { return static_cast<std::int64_t>(bytes) * count; }
};

/// Where in the prediction something is.
struct Moment {
  Stage stage = Stage::Outside;
  int step = 0;
};

/// An allocation that only one side has, or that both have and one of them frees sooner.
struct Parting {
  Moment moment;
  std::size_t recorded = 0;                ///< allocations of the recording before it
  std::optional<std::uint64_t> run_bytes;  ///< of the run's; absent: the prediction's alone
  std::string run_what;                    ///< who asked for it; empty: nobody knows
  std::optional<std::uint64_t> predicted_bytes;
  std::string predicted_what;
  bool frees = false;  ///< both have the allocation; where they part is its end
};

/// A recording that begins with memory in use.
struct Late {
  Moment moment;
  std::uint64_t run_bytes = 0;  ///< in use by then
  std::uint64_t predicted_bytes = 0;
};

/// A prediction to set beside a recording.
struct Expected {
  KeptLedger ledger;                  ///< goes on where the card of the question has no room left
  std::optional<std::size_t> room{};  ///< its allocations until then; absent: the run fits
};

/// Runs that end otherwise: one of them runs out of memory, the other goes on.
enum class Ending { Alike, RunRanOut, PredictionRanOut };

/// A recorded run beside a predicted one. Bytes are what is asked for, rounded up to 512 as the
/// caching allocator rounds, of both.
struct Verification {
  bool agree() const { return !first && !reserved_differs && ending == Ending::Alike; }

  std::optional<Parting> first;  ///< where they part
  std::size_t recorded = 0;      ///< allocations that were compared
  std::size_t predicted = 0;
  std::size_t matched = 0;
  bool loading_alone = false;  ///< nothing is compared of what comes after the model is loaded
  std::vector<Alike> extra;    ///< what the run has that the prediction has not, the most first
  std::vector<Alike> missing;  ///< the reverse
  std::uint64_t run_peak = 0;
  std::uint64_t predicted_peak = 0;
  Moment peak_moment;          ///< of the prediction's
  std::vector<Alike> at_peak;  ///< what their difference is made of, the most first
  std::uint64_t run_reserved = 0;
  std::uint64_t predicted_reserved = 0;
  /// Of a recording that ran out of memory it is the limit that says what was reserved: no verdict.
  bool reserved_differs = false;
  Ending ending = Ending::Alike;
  std::optional<Late> late;
  std::optional<Moment> ends;       ///< where the recording does, if the prediction goes on
  std::size_t freed_elsewhere = 0;  ///< blocks of both that are freed at another point
  bool overflowed = false;          ///< as the recording says
  bool out_of_memory = false;
  std::vector<std::string> notes;
};

/// What is expected may go on for longer than the recording does. What comes and goes while a model
/// is loaded is not compared, what stays is: from_pretrained() reads files in ways of its own.
Verification verify(const Recording& recording, const Expected& expected);

}  // namespace vramfit
