#include "estimator/fit/search_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "estimator/fit/text.h"
#include "estimator/fit/verdict_text.h"

namespace vramfit::fit {
namespace {

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

/// Whether a search for the longest sequence ended at what the model was made for.
bool ended_at_positions(const Answer& answer, const SearchAxis& axis) {
  const ModelConfig& model = answer.request.model;
  return axis.of_positions && answer.largest->next == 0 &&
         answer.request.workload->positions() == model.max_positions && !model.learned_positions();
}

/// What is above the largest: "14 is not".
std::string above_text(const Answer& answer, const SearchAxis& axis) {
  const Largest& largest = *answer.largest;
  if (ended_at_positions(answer, axis)) {
    return fmt::format("its config's {}; --beyond-positions goes on",
                       positions_key(answer.request.model));
  }
  if (largest.next == 0) return "larger ones are refused";
  return fmt::format("{} is not", largest.next) +
         (largest.step > 1 ? fmt::format(", tried in steps of {}", largest.step) : "");
}

/// "largest quantisation: Q4_K_M surely, up to Q5_K_S; shown: Q5_K_S, and Q5_K_M would need 1.2
/// GB".
std::string named_text(const Answer& answer, const SearchAxis& axis) {
  const auto name = [&](std::int64_t size) { return size_name(answer, axis, size); };
  const Band& band = answer.band;
  std::string text = fmt::format("largest {}: {}", axis.noun, name(band.surely));
  if (band.possibly > band.surely) text += " surely, up to " + name(band.possibly);
  const std::int64_t size = answer.largest->size;
  text += size == 0 ? fmt::format(" ({} is shown)", name(1)) : "; shown: " + name(size);
  if (answer.next && size > 0) {
    text += fmt::format(", and {} would need {}", name(answer.largest->next),
                        margin_text(*answer.next, answer.request.budget));
  }
  return wrapped(text, 2);
}

}  // namespace

std::string size_name(const Answer& answer, const SearchAxis& axis, std::int64_t size) {
  if (axis.of_names && size == 0) return "none";
  return answer.request.workload->name_of(axis, size);
}

std::string search_text(const Answer& answer, const SearchAxis& axis) {
  if (axis.of_names) return named_text(answer, axis);
  const std::string_view what = axis.noun;
  const Largest& largest = *answer.largest;
  const Band& band = answer.band;
  std::string text = fmt::format("largest {}: {}", what, band.surely);
  text += band.possibly > band.surely ? fmt::format(" surely, up to {}", band.possibly) : "";
  if (largest.size == 0) return wrapped(fmt::format("{} ({} 1 is shown)", text, what), 2);
  text += band.possibly > band.surely ? fmt::format("; shown: {}, predicted to fit ({})",
                                                    largest.size, above_text(answer, axis))
                                      : fmt::format(" ({})", above_text(answer, axis));
  text = wrapped(text, 2);
  if (!largest.holes && largest.size > 1) return text + "  smaller ones were not all tried\n";
  if (!largest.holes) return text;
  return largest.holes->empty() ? text : text + wrapped("  below it, " + holes_text(largest), 4);
}

}  // namespace vramfit::fit
