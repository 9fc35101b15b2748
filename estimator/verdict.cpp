#include "estimator/verdict.h"

#include <cmath>
#include <cstdlib>

namespace vramfit {

namespace {

/// On other cards, contexts from half of this to a little more are reported, as is what drivers
/// keep for themselves: of an overhead that is another card's so much may be wrong, either way.
constexpr std::uint64_t kAssumedPart = 2;

}  // namespace

std::uint64_t range_of(const Overhead& overhead) {
  return overhead.assumed_from.empty() ? overhead.range : overhead.total() / kAssumedPart;
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Fits:
      return "FITS";
    case Verdict::Tight:
      return "TIGHT";
    case Verdict::Oom:
      break;
  }
  return "OOM";
}

std::optional<Uncertainty> uncertainty_of(const Workload& workload, std::uint64_t reserved,
                                          const Overhead& overhead) {
  const std::optional<double> error = workload.reserved_error();
  if (!error) return std::nullopt;
  const double bytes = std::ceil(*error * static_cast<double>(reserved));
  return Uncertainty{static_cast<std::uint64_t>(bytes), range_of(overhead)};
}

std::optional<Uncertainty> uncertainty_of(const Workload& workload, const Outcome& run) {
  auto uncertainty = uncertainty_of(workload, run.report.reserved, run.overhead);
  if (uncertainty) uncertainty->reserved += run.may_reserve_more;
  return uncertainty;
}

Verdict verdict_of(bool fits, std::int64_t margin, const std::optional<Uncertainty>& uncertainty) {
  const auto distance = static_cast<std::uint64_t>(std::abs(margin));
  if (uncertainty && distance <= uncertainty->total()) return Verdict::Tight;
  return fits ? Verdict::Fits : Verdict::Oom;
}

}  // namespace vramfit
