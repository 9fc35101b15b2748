#include "model/ops/outliers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <tuple>

namespace vramfit {
namespace {

constexpr double kThreshold = 6;     // BitsAndBytesConfig's llm_int8_threshold
constexpr double kDeviation = 0.02;  // initializer_range

/// P(|x| >= bound) of a normal x.
double beyond(double bound, double deviation) {
  return std::erfc(bound / deviation / std::numbers::sqrt2);
}

double activated(bool silu, double x) {
  if (silu) return x / (1 + std::exp(-x));
  return x / 2 * std::erfc(-x / std::numbers::sqrt2);  // gelu, and what approximates it
}

/// Of activation(g), or activation(g) · u, with both normal.
double integrated_chance(bool silu, bool gated, double deviation) {
  constexpr int kSteps = 600;
  constexpr double kRange = 8;
  constexpr double kStep = 2 * kRange / kSteps;
  double chance = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double z = -kRange + (i + 0.5) * kStep;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi) * kStep;
    const double a = std::abs(activated(silu, z * deviation));
    if (gated) {
      if (a > 0) chance += density * beyond(kThreshold / a, deviation);
    } else if (a >= kThreshold) {
      chance += density;
    }
  }
  return chance;
}

}  // namespace

double outlier_chance(double deviation) { return beyond(kThreshold, deviation); }

/// A search asks for the same thousands of times.
double hidden_outlier_chance(std::string_view activation, bool gated, std::int64_t hidden,
                             double stream) {
  const bool silu = activation == "silu" || activation == "swish";
  const double deviation = kDeviation * std::sqrt(static_cast<double>(hidden)) * stream;
  thread_local std::map<std::tuple<bool, bool, double>, double> known;
  const auto [at, fresh] = known.try_emplace({silu, gated, deviation}, 0.0);
  if (fresh) at->second = integrated_chance(silu, gated, deviation);
  return at->second;
}

std::int64_t outlier_columns(double chance, std::int64_t rows, std::int64_t columns,
                             double quantile) {
  const auto count = static_cast<double>(columns);
  const double any = 1 - std::pow(1 - chance, static_cast<double>(rows));
  // The logistic distribution stands in for the normal one.
  const double deviations = std::log(quantile / (1 - quantile)) * std::sqrt(3.0) / std::numbers::pi;
  const double found = count * any + deviations * std::sqrt(count * any * (1 - any));
  return std::clamp<std::int64_t>(std::llround(found), 0, columns);
}

}  // namespace vramfit
