#include "tests/kernels/support/coded_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace vramfit {
namespace {

/// Roundings of fp32 between what is stored and a code's threshold, one upon the other.
constexpr double kRounding = 8 * 0x1p-24;

constexpr auto kBlock = static_cast<std::size_t>(kDynamicBlock);

template <typename Codes>
double distance_to_nearest(double x) {
  static const std::array<double, 256> values = [] {
    std::array<double, 256> all{};
    for (std::size_t code = 0; code < all.size(); ++code) {
      all[code] = static_cast<double>(Codes::value(static_cast<std::uint8_t>(code)));
    }
    return all;
  }();
  double nearest = 2;
  for (const double value : values) nearest = std::min(nearest, std::abs(x - value));
  return nearest;
}

}  // namespace

ExactMoment moved(const std::vector<double>& before, float beta, const std::vector<double>& now) {
  const auto of_now = static_cast<double>(1.0F - beta);
  ExactMoment result;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double kept = double{beta} * before[i];
    const double added = of_now * now[i];
    result.values.push_back(kept + added);
    result.terms.push_back(std::abs(kept) + std::abs(added));
  }
  return result;
}

template <typename Codes>
std::vector<double> CodedMoment::values() const {
  std::vector<double> result;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    result.push_back(static_cast<double>(scales[i / kBlock] * Codes::value(codes[i])));
  }
  return result;
}

template <typename Codes>
void expect_nearest(const CodedMoment& found, const ExactMoment& exact, const std::string& what) {
  const std::size_t count = exact.values.size();
  ASSERT_EQ(found.codes.size(), count) << what;
  ASSERT_EQ(found.scales.size(), (count + kBlock - 1) / kBlock) << what;
  std::size_t neighbours = 0;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t end = std::min(first + kBlock, count);
    const auto scale = static_cast<double>(found.scales[first / kBlock]);
    double largest = 0;
    double rounding = 0;
    for (std::size_t i = first; i < end; ++i) {
      largest = std::max(largest, std::abs(exact.values[i]));
      rounding = std::max(rounding, kRounding * exact.terms[i]);
    }
    EXPECT_NEAR(scale, largest, rounding) << what << ", block " << first / kBlock;
    if (scale < double{kLeastScale}) continue;
    for (std::size_t i = first; i < end; ++i) {
      const double x = exact.values[i] / scale;
      const double too_far = std::abs(x - static_cast<double>(Codes::value(found.codes[i]))) -
                             distance_to_nearest<Codes>(x);
      if (too_far == 0) continue;
      ++neighbours;
      // By twice as much as the value is past the middle.
      EXPECT_LE(too_far, 2 * kRounding * (exact.terms[i] / scale + std::abs(x)))
          << what << ", element " << i << ": " << x << " of its block's largest has the code "
          << int{found.codes[i]};
    }
  }
  // Gradients of 8 bits of mantissa make some quotients that are the middle itself.
  EXPECT_LE(neighbours, count < kBlock ? 0 : 1 + count / 500) << what;
}

template std::vector<double> CodedMoment::values<SignedCodes>() const;
template std::vector<double> CodedMoment::values<UnsignedCodes>() const;
template void expect_nearest<SignedCodes>(const CodedMoment&, const ExactMoment&,
                                          const std::string&);
template void expect_nearest<UnsignedCodes>(const CodedMoment&, const ExactMoment&,
                                            const std::string&);

}  // namespace vramfit
