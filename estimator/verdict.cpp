#include "estimator/verdict.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace vramfit {

namespace {

/// Where nobody tells of a card: contexts from half of another's to a little more are reported, as
/// is what drivers keep for themselves.
constexpr std::uint64_t kAssumedPart = 2;

Range range_of(const Overhead& overhead, const OverheadDoubt& doubt) {
  const auto beside = static_cast<double>(overhead.context + overhead.libraries);
  return {doubt.driver_less + static_cast<std::uint64_t>(doubt.beside_less * beside),
          doubt.driver_more + static_cast<std::uint64_t>(doubt.beside_more * beside)};
}

}  // namespace

Range range_of(const Overhead& overhead) {
  if (overhead.assumed_from.empty()) return {overhead.range, overhead.range};
  if (overhead.doubt) return range_of(overhead, *overhead.doubt);
  return {overhead.total() / kAssumedPart, overhead.total() / kAssumedPart};
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

nlohmann::ordered_json as_json(const Uncertainty& uncertainty, bool fits) {
  return {{"reserved", uncertainty.reserved},
          {"overhead", uncertainty.overhead.against(fits)},
          {"overhead_less", uncertainty.overhead.less},
          {"overhead_more", uncertainty.overhead.more},
          {"total", uncertainty.against(fits)}};
}

Verdict verdict_of(bool fits, std::int64_t margin, const std::optional<Uncertainty>& uncertainty) {
  const auto distance = static_cast<std::uint64_t>(std::abs(margin));
  if (uncertainty && distance <= uncertainty->against(fits)) return Verdict::Tight;
  return fits ? Verdict::Fits : Verdict::Oom;
}

}  // namespace vramfit
