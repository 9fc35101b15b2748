#include "estimator/fit/dry_run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/fit/sums.h"
#include "estimator/fit/terminal.h"
#include "estimator/fit/text.h"
#include "estimator/fit/verdict_text.h"
#include "model/printable.h"

namespace vramfit::fit {
namespace {

constexpr std::size_t kLongestCommand = 200;  // bytes

/// As python/vramfit/standin/_components.py names them.
constexpr std::array kComponents = {"parameters",  "gradients", "optimizer_state",
                                    "activations", "logits",    "kv_cache",
                                    "workspace",   "inputs",    "communication"};

std::string verdict_line(const DryRun& run, const Estimate& estimate, bool colours) {
  if (run.refused > 0) {
    return fmt::format("{}: vLLM does not start: it lacks {}",
                       verdict_word(estimate.verdict, colours), both_units(run.refused));
  }
  if (!run.out_of_memory) return verdict_text(estimate, run.budget, colours);
  const DryRun::OutOfMemory& end = *run.out_of_memory;
  std::string text =
      fmt::format("{}: at least {}; it runs out {}, asking for {} GB with {} GB free",
                  verdict_word(estimate.verdict, colours), margin_text(estimate, run.budget),
                  moment(end.stage, end.step), gb(end.requested), gb(end.free));
  return end.line.empty() ? text : text + " (" + printable(end.line) + ")";
}

class StagesTable {
 public:
  StagesTable(const Estimate& estimate, const std::string& title)
      : decimals_(table_decimals(estimate)),
        lines_(fmt::format(kRow, title, "before", "after", "peak", "reserved", "used")) {}

  void row(const std::string& label, const DryRun::StageLevels& stage) {
    const auto size = [this](std::uint64_t bytes) { return gb(bytes, decimals_); };
    lines_ += fmt::format(kRow, label, size(stage.before), size(stage.after), size(stage.peak),
                          size(stage.peak_reserved), size(stage.peak_device_used));
  }
  const std::string& text() const { return lines_; }

 private:
  static constexpr const char* kRow = "  {:<17}{:>9}{:>9}{:>9}{:>10}{:>9}\n";

  int decimals_;
  std::string lines_;
};

/// Loading and step 1 stage by stage, the steps after it in one line, where training has its peak.
std::string stages_table(const DryRun& run, const Estimate& estimate) {
  const std::vector<DryRun::StageLevels>& stages = run.stages;
  const auto later = std::find_if(stages.begin(), stages.end(),
                                  [](const DryRun::StageLevels& stage) { return stage.step > 1; });
  StagesTable table(estimate, later == stages.end() ? "stage, GB" : "step 1, GB");
  for (auto stage = stages.begin(); stage != later; ++stage) {
    std::string label = stage->stage == Stage::Loaded ? "load" : name(stage->stage);
    std::replace(label.begin(), label.end(), '_', ' ');
    table.row(label, *stage);
  }
  if (later == stages.end()) return table.text();
  DryRun::StageLevels all = *later;
  all.after = stages.back().after;
  for (auto stage = later; stage != stages.end(); ++stage) {
    all.peak = std::max(all.peak, stage->peak);
    all.peak_reserved = std::max(all.peak_reserved, stage->peak_reserved);
    all.peak_device_used = std::max(all.peak_device_used, stage->peak_device_used);
  }
  table.row("every later step", all);
  return table.text();
}

/// In the order of `fit`'s, and what no tensor asked for: the allocator's unsplit remainders.
std::vector<Component> components(const DryRun& run) {
  std::vector<Component> found;
  std::uint64_t left = run.levels.allocated;
  for (const char* name : kComponents) {
    std::uint64_t bytes = 0;
    for (const DryRun::Holder& holder : run.holders) {
      if (holder.component == name) bytes += holder.bytes;
    }
    if (bytes > 0) found.push_back({name, bytes});
    left -= std::min(left, bytes);
  }
  if (!found.empty() && left > 0) found.push_back({"rounding", left});
  return found;
}

/// "llama/modeling_llama.py:66", of a path.
std::string place(const std::string& line, int folders) {
  std::size_t from = line.size();
  for (int i = 0; i <= folders && from != std::string::npos; ++i) {
    from = from == 0 ? std::string::npos : line.rfind('/', from - 1);
  }
  return printable(from == std::string::npos ? line : line.substr(from + 1));
}

std::string where(const DryRun::Holder& holder) {
  if (holder.line.empty()) return "no line of Python";
  std::string text = holder.in_backward ? "backward of " : "";
  text += place(holder.line, holder.line == holder.script ? 0 : 1);
  if (!holder.script.empty() && holder.script != holder.line) {
    text += " from " + place(holder.script, 0);
  }
  return text;
}

std::string top_table(const DryRun& run, const Estimate& estimate, std::size_t top) {
  if (top == 0 || run.holders.empty()) return "";
  constexpr const char* kRow = "  {:<17}{:>9}{:>9}   {}\n";
  std::string lines = fmt::format(kRow, "held at the peak", "GB", "blocks", "asked for by");
  for (std::size_t i = 0; i < std::min(top, run.holders.size()); ++i) {
    const DryRun::Holder& holder = run.holders[i];
    std::string label = holder.component;
    std::replace(label.begin(), label.end(), '_', ' ');
    lines += fmt::format(kRow, label, gb(holder.bytes, table_decimals(estimate)), holder.blocks,
                         where(holder));
  }
  return lines + "\n";
}

}  // namespace

std::string dry_run_text(const DryRun& run, std::size_t top, bool colours) {
  const Estimate estimate = judged(run);
  std::string text = wrapped(shortened(run.command, kLongestCommand), 2);
  text += wrapped("  " + on_text(run.budget), 2);
  for (const std::string& line : run.about) text += wrapped("  " + printable(line), 2);
  text += "\n" + sums(estimate, run.budget, components(run)) + "\n";
  text += wrapped(verdict_line(run, estimate, colours), 2) + "\n";
  text += stages_table(run, estimate) + "\n";
  text += top_table(run, estimate, top);
  for (const std::string& note : run.notes) text += wrapped("note: " + printable(note), 2);
  return text + wrapped("driver and context overhead: " + run.budget.overhead.source, 2);
}

}  // namespace vramfit::fit
