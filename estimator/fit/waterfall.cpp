#include "estimator/fit/waterfall.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/fit/text.h"

namespace vramfit::fit {
namespace {

constexpr const char* kStageRow = "  {:<17}{:>9}{:>9}{:>9}\n";

class StageTable {
 public:
  StageTable(const Estimate& estimate, const char* title)
      : decimals_(table_decimals(estimate)),
        lines_(fmt::format(kStageRow, title, "before", "after", "peak")) {}

  void row(const std::string& label, std::uint64_t before, std::uint64_t after,
           std::uint64_t peak) {
    lines_ += fmt::format(kStageRow, label, gb(before, decimals_), gb(after, decimals_),
                          gb(peak, decimals_));
  }
  const std::string& text() const { return lines_; }

 private:
  int decimals_;
  std::string lines_;
};

/// Stages that occur more than once in a step, as with several micro-batches, are counted.
std::string label(const std::vector<StageRecord>& stages, std::size_t at) {
  const auto same = [&](const StageRecord& record) {
    return record.stage == stages[at].stage && record.step == stages[at].step;
  };
  std::string text = name(stages[at].stage);
  if (std::count_if(stages.begin(), stages.end(), same) == 1) return text;
  const auto nth =
      std::count_if(stages.begin(), stages.begin() + static_cast<std::ptrdiff_t>(at) + 1, same);
  return fmt::format("{} {}", text, nth);
}

}  // namespace

std::string waterfall(const Estimate& estimate) {
  const std::vector<StageRecord>& stages = estimate.stages;
  const bool several_steps = stages.back().step > 1;
  StageTable table(estimate, several_steps ? "step 1, GB" : "stage, GB");
  std::size_t i = 0;
  for (; i < stages.size() && stages[i].step <= 1; ++i) {
    table.row(label(stages, i), stages[i].before, stages[i].after, stages[i].peak);
  }
  if (several_steps) {
    std::uint64_t peak = 0;
    for (std::size_t j = i; j < stages.size(); ++j) peak = std::max(peak, stages[j].peak);
    table.row("every later step", stages[i].before, stages.back().after, peak);
  }
  return table.text();
}

}  // namespace vramfit::fit
