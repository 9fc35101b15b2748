#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "estimator/estimate.h"

namespace vramfit {

/// What somebody's script took of a GPU that is not there, as `vramfit run` hands it over.
struct DryRun {
  /// One stage of one step, on one GPU. Bytes; `before`, `after` and `peak` are allocated ones.
  struct StageLevels {
    int step = 0;
    Stage stage = Stage::Loaded;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::uint64_t peak = 0;
    std::uint64_t peak_reserved = 0;
    std::uint64_t peak_device_used = 0;
  };
  /// PyTorch's OutOfMemoryError that ended the script.
  struct OutOfMemory {
    Stage stage = Stage::Loaded;
    int step = 0;
    std::uint64_t requested = 0;  ///< bytes
    std::uint64_t free = 0;       ///< on the card, bytes
    std::string line;             ///< of the script; empty: nobody knows
  };

  /// What lived when most was allocated, and was for the same and asked for in the same place.
  struct Holder {
    std::string component;  ///< "optimizer_state"
    std::string line;       ///< outside of torch, "/…/modeling_llama.py:66"; empty: nobody knows
    std::string script;     ///< the script's; empty where none was running
    bool in_backward = false;  ///< in backward of what that line computes
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
  };

  std::string command;
  std::vector<std::string> about;  ///< what ran and where it ended, a line each
  Budget budget;
  Levels levels;               ///< at most
  Stage peak = Stage::Loaded;  ///< when most was allocated
  int peak_step = 0;
  Uncertainty uncertainty;
  std::optional<OutOfMemory> out_of_memory;
  std::uint64_t refused = 0;  ///< bytes that an engine lacks, which would not start; 0: it did
  std::vector<StageLevels> stages;
  std::vector<Holder> holders;  ///< those of most first; empty: nobody knows
  std::vector<std::string> notes;
};

/// Throws nlohmann::json::exception where it is none of its kind.
DryRun read_dry_run(const std::string& json);

/// The verdict of it. Where memory ran out the margin is what the card lacked at least: nobody
/// knows what would have come after.
Estimate judged(const DryRun& run);

/// The same as keys of `vramfit run --json`.
nlohmann::json verdict_json(const Estimate& estimate);

}  // namespace vramfit
