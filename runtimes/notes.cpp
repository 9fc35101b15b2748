#include "runtimes/notes.h"

#include <algorithm>

namespace vramfit {

void note_left_out(const std::vector<StageRecord>& stages, Stage stage, std::int64_t in_run,
                   const char* what, std::vector<std::string>& notes) {
  const auto shown = std::count_if(stages.begin(), stages.end(), [&](const StageRecord& record) {
    return record.stage == stage && record.step == 1;
  });
  if (shown >= in_run) return;
  notes.push_back("stages show " + std::to_string(shown) + " of " + std::to_string(in_run) + " " +
                  what + ": the others are like the last of them");
}

std::string micro_batches_text(std::int64_t micro_batches) {
  if (micro_batches <= 1) return "";
  return ", " + std::to_string(micro_batches) + " micro-batches a step";
}

std::string new_tokens_text(std::int64_t tokens) {
  return ", " + std::to_string(tokens) + " new token" + (tokens == 1 ? "" : "s");
}

}  // namespace vramfit
