#include "bench/rows/sweep.h"

#include <chrono>
#include <cstdlib>

#include "bench/rows/case.h"
#include "bench/rows/families.h"
#include "estimator/models.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/kernels/cuda/support/gpu_run.h"

// The central test over every row of the default sweep: minutes, so only where the environment's
// VRAMFIT_SWEEP is set, to a part of the rows' names or to nothing.

namespace vramfit {
namespace {

bool is_about(const bench::Row& row, const char* family) {
  return row.family->name == std::string(family);
}

/// A row's measured run and its prediction.
std::pair<RunReport, RunReport> both(const bench::Row& row, std::uint64_t capacity) {
  const ModelConfig config = model_named(row[bench::Axis::Model]);
  const bench::Case the_case = {row, &config, nullptr, nullptr};
  const VirtualGpu card = {gpu().arch(), capacity};
  GpuRun run(capacity);
  if (is_about(row, "Training")) {
    const TrainingOptions options = bench::training_options(the_case);
    return {run_training(gpu(), run.ledger, config, options), dry_run(card, config, options)};
  }
  const GenerationOptions options = bench::generation_options(the_case);
  return {run_generation(gpu(), run.ledger, config, options), dry_run(card, config, options)};
}

TEST(SweepLedgerTest, OfEveryRowIsTheSame) {
  VRAMFIT_NEEDS_GPU();
  const char* part = std::getenv("VRAMFIT_SWEEP");
  if (part == nullptr) GTEST_SKIP() << "skipped: VRAMFIT_SWEEP is not set";
  gpu();
  const std::uint64_t capacity = free_capacity();
  int rows = 0;
  for (const bench::Row& row : bench::expand(bench::default_sweep())) {
    const std::string name = row.name();
    const bool runs =
        is_about(row, "Training") || is_about(row, "Inference") || is_about(row, "KvCache");
    if (!runs || name.find(part) == std::string::npos) continue;
    SCOPED_TRACE(name);
    const auto begin = std::chrono::steady_clock::now();
    const auto [real, predicted] = both(row, capacity);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(first_difference(real, predicted), std::nullopt);
    EXPECT_EQ(real.reserved, predicted.reserved);
    std::printf("%s: %zu events, %.2f GB reserved%s, %.1f s\n", name.c_str(), real.events.size(),
                static_cast<double>(real.reserved) / 1e9, real.missing ? ", out of memory" : "",
                seconds.count());
    std::fflush(stdout);
    ++rows;
  }
  EXPECT_GT(rows, 0) << "no row's name has '" << part << "' in it";
}

}  // namespace
}  // namespace vramfit
