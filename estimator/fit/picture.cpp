#include "estimator/fit/picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "estimator/fit/sums.h"
#include "estimator/fit/text.h"
#include "estimator/fit/waterfall.h"

namespace vramfit::fit {
namespace {

std::string on_text(const Budget& budget) {
  const std::string name = budget.gpu.empty() ? "" : budget.gpu + ": ";
  return fmt::format("on {}{}, sm_{}", name, budget.title, budget.arch.sm);
}

/// Ranges of holes that are listed.
constexpr std::size_t kRanges = 6;

/// "106, 110-113 do not fit" of 106, 110, 111, 112, 113.
std::string holes_text(const Largest& largest) {
  const std::vector<std::int64_t>& holes = *largest.holes;
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < holes.size();) {
    std::size_t end = i + 1;
    while (end < holes.size() && holes[end] == holes[end - 1] + largest.step) ++end;
    ranges.push_back(end - i == 1 ? std::to_string(holes[i])
                                  : fmt::format("{}-{}", holes[i], holes[end - 1]));
    i = end;
  }
  const std::size_t more = ranges.size() - std::min(ranges.size(), kRanges);
  if (more > 0) ranges.resize(kRanges);
  std::string text = fmt::format("{}", fmt::join(ranges, ", "));
  if (more > 0) text += fmt::format(" and {} ranges more (--json)", more);
  text += holes.size() == 1 ? " does not fit" : " do not fit";
  return largest.without_holes() == 0
             ? text
             : fmt::format("{}; all up to {} do", text, largest.without_holes());
}

std::string largest_text(const Answer& answer, Search search) {
  const char* what = search == Search::Batch ? "batch" : "sequence";
  const Largest& largest = *answer.largest;
  std::string text = fmt::format("largest {} that fits: {}", what, largest.size);
  if (largest.size == 0) return fmt::format("{} ({} 1 is shown)\n", text, what);
  text += largest.next == 0 ? " (larger ones are refused)"
                            : fmt::format(" ({} does not)", largest.next);
  if (largest.step > 1) text += fmt::format(", tried in steps of {}", largest.step);
  text += "\n";
  if (!largest.holes) return text + "  smaller ones were not all tried\n";
  return largest.holes->empty() ? text : text + wrapped("  below it, " + holes_text(largest), 4);
}

std::string header(const Answer& answer, Search search) {
  const Request& request = answer.request;
  std::string text = fmt::format("{}: {} parameters\n", short_name(request.model),
                                 grouped(answer.estimate.parameters));
  text += wrapped(workload_text(request, Search::None), 2);
  text += wrapped(on_text(request.budget), 2);
  if (search != Search::None) text += largest_text(answer, search);
  return text;
}

std::string verdict(const Estimate& estimate, const Budget& budget) {
  const std::string margin = both_units(static_cast<std::uint64_t>(std::abs(estimate.margin)));
  const std::string of =
      both_units(budget.vram) + (budget.headroom > 0 ? " less the headroom" : "");
  if (estimate.fits) return fmt::format("FITS: {} to spare of {}", margin, of);
  const MissingMemory& missing = *estimate.missing;
  return fmt::format("OOM: {} more than {}; a run ends {}, at {} ({})", margin, of,
                     moment(missing.stage, missing.step), missing.name.text(),
                     name(missing.category));
}

}  // namespace

std::string picture(const Answer& answer, Search search) {
  const Request& request = answer.request;
  const Estimate& estimate = answer.estimate;
  std::string text = header(answer, search) + "\n";
  text += sums(estimate, request.budget) + "\n";
  text += wrapped(verdict(estimate, request.budget), 2) + "\n";
  text += waterfall(estimate) + "\n";
  for (const std::string& note : estimate.notes) text += wrapped("note: " + note, 2);
  text += wrapped("overhead: " + estimate.overhead.source, 2);
  return text + wrapped(runtime_text(request), 2);
}

}  // namespace vramfit::fit
