#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/memory/ledger.h"

// What runtimes say in the same words.
namespace vramfit {

/// Says so where `stages` hold fewer repetitions of a stage in a step than the run has.
void note_left_out(const std::vector<StageRecord>& stages, Stage stage, std::int64_t in_run,
                   const char* what, std::vector<std::string>& notes);

/// ", 4 micro-batches a step", or nothing for one.
std::string micro_batches_text(std::int64_t micro_batches);

/// ", 16 new tokens".
std::string new_tokens_text(std::int64_t tokens);

}  // namespace vramfit
