#include "estimator/verdict.h"

#include <cmath>
#include <cstdlib>

namespace vramfit {

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

std::optional<Uncertainty> uncertainty_of(const Runtime& runtime, std::uint64_t reserved,
                                          const Overhead& overhead) {
  const std::optional<double> error = runtime.reserved_error();
  if (!error) return std::nullopt;
  const double bytes = std::ceil(*error * static_cast<double>(reserved));
  return Uncertainty{static_cast<std::uint64_t>(bytes), overhead.range};
}

Verdict verdict_of(bool fits, std::int64_t margin, const std::optional<Uncertainty>& uncertainty) {
  const auto distance = static_cast<std::uint64_t>(std::abs(margin));
  if (uncertainty && distance <= uncertainty->total()) return Verdict::Tight;
  return fits ? Verdict::Fits : Verdict::Oom;
}

}  // namespace vramfit
