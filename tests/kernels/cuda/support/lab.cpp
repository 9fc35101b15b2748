#include "tests/kernels/cuda/support/lab.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

/// The distance of `a` from `b`, and the element where it is largest.
struct Difference {
  double error = 0;
  std::size_t worst = 0;
};

Difference difference(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  double size = 0;
  double largest = -1;
  Difference result;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double d =
        std::isnan(a[i] - b[i]) ? std::numeric_limits<double>::infinity() : std::abs(a[i] - b[i]);
    if (d > largest) {
      largest = d;
      result.worst = i;
    }
    sum += d * d;
    size += b[i] * b[i];
  }
  result.error = sum == 0 ? 0 : std::sqrt(sum / size);
  return result;
}

std::string text(const Shape& shape) {
  std::string text;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    text += (i == 0 ? "" : " x ") + std::to_string(shape[i]);
  }
  return text;
}

/// Sums in another order; one result in some hundreds rounded the other way.
constexpr Bound kOnce{5e-6, 4e-4, 3e-3};

}  // namespace

const Bound Bound::once = kOnce;

double Bound::of(Format format) const {
  if (format == DType::Fp16) return fp16;
  return format == DType::Bf16 ? bf16 : fp32;
}

Twin Lab::make(Format format, const Shape& shape, const Shape& stored) {
  return {Tensor(cpu_ledger_, "cpu", Category::Activations, format, shape, stored),
          Tensor(gpu_ledger_, "gpu", Category::Activations, format, shape, stored)};
}

Twin Lab::bytes(std::uint64_t count) {
  const Shape shape = {static_cast<std::int64_t>((count + 3) / 4)};
  return make(DType::Int32, shape, shape);
}

void Lab::upload(Twin& twin) { gpu().upload(twin.gpu, twin.cpu.data(), twin.cpu.bytes()); }

Twin Lab::random(const Shape& shape, const Shape& stored, float deviation) {
  Twin twin = empty(shape, stored);
  cpu_.run(FillNormal{twin.cpu, 0.0F, deviation, seed_++});
  upload(twin);
  return twin;
}

Twin Lab::tokens(const Shape& shape, std::int64_t vocab) {
  Twin twin = make(DType::Int32, shape, shape);
  cpu_.run(FillTokens{twin.cpu, vocab, seed_++});
  upload(twin);
  return twin;
}

Twin Lab::integers(std::int64_t count, std::int32_t first, std::int32_t step) {
  Twin twin = make(DType::Int32, {count}, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    twin.cpu.as<std::int32_t>()[i] = first + static_cast<std::int32_t>(i) * step;
  }
  upload(twin);
  return twin;
}

Twin Lab::target(const Shape& shape, const Shape& stored, bool accumulate) {
  return accumulate ? random(shape, stored) : empty(shape, stored);
}

Twin Lab::values(DType dtype, const Shape& shape, const std::vector<float>& values) {
  Twin twin = make(dtype, shape, shape);
  set_values(twin.cpu, {values.begin(), values.end()});
  upload(twin);
  return twin;
}

void Lab::run(const std::function<void(Device&, Side)>& op) {
  op(cpu_, Side(false));
  op(gpu(), Side(true));
  gpu().synchronize();
  gpu_memory_.expect_whole_guards();
}

void Lab::expect_close(const Twin& result, const Bound& bound, const std::string& what) {
  const std::vector<double> expected = values_of(result.cpu);
  const std::vector<double> actual = downloaded_values(gpu(), result.gpu);
  ASSERT_EQ(actual.size(), expected.size());
  const auto [error, worst] = difference(actual, expected);
  const double limit = bound.of(result.cpu.format());
  if (std::getenv("VRAMFIT_PRINT_ERRORS") != nullptr) {
    std::printf("error %.2e of %.2e: %s, %s\n", error, limit, what.c_str(), name(dtype_));
  }
  EXPECT_LE(error, limit) << what << ", " << name(dtype_) << ", result "
                          << text(result.cpu.stored()) << " in " << result.cpu.format().name()
                          << ": worst at element " << worst << ", gpu " << actual[worst] << ", cpu "
                          << expected[worst];
}

void Lab::expect_equal(const Twin& result, const std::string& what) {
  expect_close(result, {0, 0, 0}, what);
}

void Lab::expect_same_bytes(const Twin& result, const std::string& what) {
  std::vector<std::uint8_t> actual(result.gpu.bytes());
  gpu().download(actual.data(), result.gpu, actual.size());
  const auto* expected = result.cpu.as<std::uint8_t>();
  std::size_t apart = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] != expected[i]) ++apart;
  }
  EXPECT_EQ(apart, 0U) << what << ": bytes of " << actual.size();
}

}  // namespace vramfit
