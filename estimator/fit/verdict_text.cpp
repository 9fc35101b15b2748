#include "estimator/fit/verdict_text.h"

#include <fmt/format.h>

#include <cstdlib>

#include "estimator/fit/terminal.h"
#include "estimator/fit/text.h"

namespace vramfit::fit {
namespace {

/// "25.76 GB (23.99 GiB) less the headroom".
std::string room_text(const Budget& budget) {
  std::string text = both_units(budget.vram);
  if (budget.headroom > 0) text += " less the headroom";
  if (budget.held > 0) {
    text += budget.headroom > 0 ? " and what others hold" : " less what others hold";
  }
  return text;
}

}  // namespace

std::string on_text(const Budget& budget) {
  const std::string name = budget.gpu.empty() ? "" : budget.gpu + ": ";
  return fmt::format("on {}{}, {}", name, budget.title, arch_text(budget));
}

std::string margin_text(const Estimate& estimate, const Budget& budget) {
  const std::string margin = both_units(static_cast<std::uint64_t>(std::abs(estimate.margin)));
  return estimate.margin >= 0 ? fmt::format("{} to spare of {}", margin, room_text(budget))
                              : fmt::format("{} more than {}", margin, room_text(budget));
}

std::string verdict_text(const Estimate& estimate, const Budget& budget, bool colours) {
  std::string text = verdict_word(estimate.verdict, colours) + ": " + margin_text(estimate, budget);
  if (estimate.verdict == Verdict::Tight) {
    text += fmt::format("; figures may be off by {} GB",
                        gb(estimate.uncertainty->against(estimate.fits)));
  }
  return text;
}

}  // namespace vramfit::fit
