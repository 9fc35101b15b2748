#include "estimator/fit/picture.h"

#include <fmt/format.h>

#include <cstdlib>

#include "estimator/fit/sums.h"
#include "estimator/fit/text.h"
#include "estimator/fit/waterfall.h"

namespace vramfit::fit {
namespace {

std::string on_text(const Budget& budget) {
  const std::string name = budget.gpu.empty() ? "" : budget.gpu + ": ";
  return fmt::format("on {}{}, sm_{}", name, budget.title, budget.arch.sm);
}

std::string largest_text(const Answer& answer, Search search) {
  const char* what = search == Search::Batch ? "batch" : "sequence";
  const std::int64_t n = *answer.largest;
  const std::string text = fmt::format("largest {} that fits: {}", what, n);
  if (n == 0) return fmt::format("{} ({} 1 is shown)\n", text, what);
  if (answer.at_limit) return text + " (larger ones are refused)\n";
  return fmt::format("{} ({} does not)\n", text, n + 1);
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
