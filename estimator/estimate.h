#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estimator/budget.h"
#include "estimator/verdict.h"
#include "runtimes/runtime.h"

namespace vramfit {

struct Request {
  ModelConfig model;
  std::shared_ptr<const Workload> workload;
  Budget budget;
  std::int64_t samples = Detail{}.samples;  ///< of the decode steps of a long generation
  bool beyond_positions = false;  ///< a search for the longest sequence passes the model's own
};

void set_size(Request& request, const SearchAxis& axis, std::int64_t size);

/// What a run takes at most. Bytes.
struct Levels {
  std::uint64_t allocated = 0;    ///< by tensors
  std::uint64_t reserved = 0;     ///< by the allocator
  std::uint64_t device_used = 0;  ///< by the process, its context and libraries included
  std::uint64_t managed = 0;      ///< of that, what gives way: the driver moves it to the host
  std::uint64_t host = 0;         ///< in the host's memory, beside all that
};

/// What a run takes of one of a machine's cards. Bytes.
struct CardEstimate {
  std::string name;   ///< in the catalogue
  std::string title;  ///< for people
  std::uint64_t vram = 0;
  std::uint64_t total = 0;  ///< reserved and the whole overhead
  std::int64_t margin = 0;  ///< as Estimate has it
  Verdict verdict = Verdict::Oom;
};

struct Estimate {
  bool fits = false;  ///< the run completes within the budget's capacity
  Verdict verdict = Verdict::Oom;
  std::optional<Uncertainty> uncertainty;  ///< of total; absent: nobody knows
  std::uint64_t total = 0;  ///< reserved and the whole overhead: what a card must have. Bytes
  std::int64_t margin =
      0;  ///< what the card has beyond total and what is set aside; negative: lacks
  Levels levels;
  Overhead overhead;                     ///< what the total has beside what is reserved
  std::uint64_t capacity = 0;            ///< what may be reserved on the card. Bytes
  MemoryUse peak;                        ///< what `allocated` is made of, and when
  std::vector<StageRecord> stages;       ///< as steady_run keeps them
  std::optional<MissingMemory> missing;  ///< where a run on this card ends, if it does and is told
  std::optional<OnHost> on_host;         ///< what the loader leaves there; absent: nothing
  std::vector<DeviceParts> devices;      ///< where a run is told of device by device
  std::optional<Serving> serving;        ///< of an engine that fills its share
  std::vector<CardEstimate> cards;       ///< of a machine with cards of several kinds, each
  std::size_t card = 0;  ///< of these, the one that all else is of: the one with least to spare
  std::int64_t parameters = 0;         ///< as published
  std::int64_t parameters_stored = 0;  ///< with declared padding
  std::vector<std::string> notes;      ///< what was assumed or left out, a line each
};

/// Whether an estimate says where a run that does not fit ends, which takes a run more.
enum class OomDetail : std::uint8_t { Told, Untold };

/// Throws BadInput where the model cannot be run so, or no card could ever hold it.
Estimate estimate(const Request& request, OomDetail ending = OomDetail::Told);

/// What an estimate says of that, and no more.
struct Fitting {
  bool fits = false;
  bool surely = false;  ///< the verdict is FITS
};

/// In a part of an estimate's time where it does not fit: a run ends as soon as tensors alone have
/// no room. Throws BadInput where the model cannot be run so.
Fitting fitting(const Request& request);

/// What the card leaves to a run beside which so much of it is gone; of a machine, the one at that
/// place. Bytes.
std::uint64_t capacity_beside(const Overhead& overhead, const Request& request,
                              std::size_t card = 0);

/// The run within `capacity` bytes; with its whole ledger, where `events`. Of tensors beyond
/// `most_tensors` bytes nothing is said but that they have no room.
Outcome run_within(std::uint64_t capacity, const Request& request, bool events = false,
                   std::uint64_t most_tensors = kUnlimitedBytes);

/// What the request needs where its run on the card ends: on a card of that capacity as a loader
/// sees it, whose memory goes on.
Outcome run_past(std::uint64_t capacity, const Request& request);

}  // namespace vramfit
