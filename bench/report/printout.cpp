#include "bench/report/printout.h"

#include <fmt/format.h>

namespace vramfit::bench {
namespace {

struct HarnessStage {
  const char* title;
  const char* stage;
};

constexpr HarnessStage kHarness[] = {{"Model Loading", "loaded"},
                                     {"Forward Pass", "forward"},
                                     {"Backward Pass", "backward"},
                                     {"Optimizer Step", "optimizer"}};
constexpr HarnessStage kWaterfall[] = {{"Model loaded", "loaded"},
                                       {"After forward", "forward"},
                                       {"After backward", "backward"},
                                       {"After optimizer", "optimizer"},
                                       {"After zero_grad", "zero_grad"}};
constexpr HarnessStage kPeaks[] = {{"Peak during forward", "forward"},
                                   {"Peak during backward", "backward"},
                                   {"Peak during optimizer", "optimizer"}};

/// Bytes of one moment of a stage of step 1; null where the run did not get there.
class Stages {
 public:
  explicit Stages(const Counters& counters)
      : values_(counters.values()),
        prefix_(values_.count("mem_allocated") != 0 ? "mem_step1_" : "pred_step1_") {}

  const double* find(const std::string& stage, const char* moment) const {
    const auto found = values_.find(prefix_ + stage + "_" + moment);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  const std::map<std::string, double>& values_;
  std::string prefix_;
};

/// MB of 1e6 bytes. 20 characters of stage, 62 in all.
std::string harness(const Stages& stages) {
  std::string text = fmt::format("{:<20}{:>10}{:>10}{:>10}{:>12}\n{:-<62}\n", "Stage", "Before",
                                 "After", "Peak", "Delta", "");
  double before = 0;
  for (const HarnessStage& row : kHarness) {
    const double* after = stages.find(row.stage, "after");
    const double* peak = stages.find(row.stage, "peak");
    if (after == nullptr || peak == nullptr) break;
    text += fmt::format("{:-<20}{:>9.1f}M{:>9.1f}M{:>9.1f}M{:>+11.1f}M\n", row.title, before / 1e6,
                        *after / 1e6, *peak / 1e6, (*after - before) / 1e6);
    before = *after;
  }
  return text;
}

template <std::size_t N>
std::string lines(const Stages& stages, const HarnessStage (&rows)[N], const char* moment) {
  std::string text;
  for (const HarnessStage& row : rows) {
    const double* bytes = stages.find(row.stage, moment);
    if (bytes == nullptr) break;
    text += fmt::format("{:<23}{:>7.1f} GB\n", std::string(row.title) + ":", *bytes / 1e9);
  }
  return text;
}

}  // namespace

std::string article_waterfall(const Counters& counters) {
  const Stages stages(counters);
  return harness(stages) + "\n" + lines(stages, kWaterfall, "after") +
         lines(stages, kPeaks, "peak");
}

std::string article_record(const Counters& counters, const std::string& precision,
                           const std::string& batch) {
  const Stages stages(counters);
  const double* model = stages.find("loaded", "after");
  const double* peak = stages.find("prefill", "peak");
  if (model == nullptr || peak == nullptr) return "";
  return fmt::format(
      "{{'precision': '{}', 'batch_size': {}, 'model_gb': {:.1f}, 'peak_gb': {:.1f}, "
      "'kv_cache_gb': {:.1f}}}\n",
      precision, batch, *model / 1e9, *peak / 1e9, (*peak - *model) / 1e9);
}

}  // namespace vramfit::bench
