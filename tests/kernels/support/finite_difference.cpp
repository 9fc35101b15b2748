#include "tests/kernels/support/finite_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr double kStep = 1e-5;
// A step's square (third derivatives here are below 100) and fp64's rounding over it.
constexpr double kTolerance = 2e-8;

}  // namespace

double inner_product(const Tensor& a, const Tensor& b) {
  const std::vector<double> left = values_of(a);
  const std::vector<double> right = values_of(b);
  EXPECT_EQ(left.size(), right.size());
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum;
}

void expect_gradient(const Tensor& x, const std::vector<double>& gradient,
                     const std::function<double()>& objective) {
  ASSERT_EQ(x.format(), DType::Fp64);
  ASSERT_LE(gradient.size(), static_cast<std::size_t>(x.stored().elements()));
  double largest = 1;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  auto* elements = x.as<double>();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double start = elements[i];
    elements[i] = start + kStep;
    const double above = objective();
    elements[i] = start - kStep;
    const double below = objective();
    elements[i] = start;
    ASSERT_NEAR(gradient[i], (above - below) / (2 * kStep), kTolerance * largest)
        << x.name().text() << ", element " << i;
  }
}

double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  if (difference == 0) return 0;
  const double error = std::sqrt(difference / size);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

}  // namespace vramfit
