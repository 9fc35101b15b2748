#include "bench/families/cliff.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "bench/families/memory_row.h"
#include "bench/families/pytorch.h"
#include "bench/rows/counters.h"
#include "estimator/estimate.h"
#include "estimator/largest.h"
#include "estimator/search.h"
#include "estimator/steady_run.h"
#include "runtimes/vramfit/runtime.h"

namespace vramfit::bench {
namespace {

void resize(Cliff& cliff, std::int64_t size) {
  std::visit([&](auto& o) { (cliff.axis == kBatchAxis ? o.batch : o.seq) = size; }, cliff.options);
}

/// The largest size by running rows of it, from the predicted one: two runs where that is right.
class RealSearch {
 public:
  RealSearch(const Case& c, const Cliff& cliff, const RunApart& run_apart)
      : case_(c), cliff_(cliff), run_apart_(run_apart) {}

  std::int64_t largest(std::int64_t predicted) {
    const std::int64_t limit = StepWorkload(cliff_.options).limit(cliff_.axis, *case_.config);
    return largest_near(
        predicted, [this](std::int64_t size) { return fits(size); }, limit);
  }

  /// Of the largest that fits; empty where none does.
  const Counters& counters() const { return counters_; }

 private:
  bool fits(std::int64_t size) {
    Row row = case_.row;
    row.family = find_family(cliff_.family);
    row[cliff_.axis == kBatchAxis ? Axis::Batch : Axis::Seq] = std::to_string(size);
    const Result result = run_apart_(row);
    if (!result.error.empty()) throw std::runtime_error(row.name() + ": " + result.error);
    const bool fit = result.counters.values().at("oom") == 0;
    if (fit && size > largest_) {
      largest_ = size;
      counters_ = result.counters;
    }
    return fit;
  }

  const Case& case_;
  const Cliff& cliff_;
  const RunApart& run_apart_;
  std::int64_t largest_ = 0;
  Counters counters_;
};

/// The largest that fits, and what is measured at it.
std::int64_t count_measured(Counters& counters, const Case& c, const Cliff& cliff,
                            const RunApart& run_apart, std::int64_t predicted) {
  RealSearch search(c, cliff, run_apart);
  const std::int64_t largest = search.largest(predicted);
  for (const auto& [name, value] : search.counters().values()) {
    if (name.rfind("mem_", 0) == 0 || name == "ledger_equal") counters.set(name, value);
  }
  counters.set("mem_" + cliff.counter(), static_cast<double>(largest));
  return largest;
}

/// To the last one: from 1,024 on a search leaves out sizes between its steps.
std::int64_t predicted_largest(Request request, const SearchAxis& axis) {
  const Largest found = find_largest(request, axis);
  if (found.step == 1) return found.size;
  SizedRuns runs(request, axis);
  const auto fits_at = [&](std::int64_t size) {
    set_size(request, axis, size);
    return fitting(request).fits;
  };
  return largest_near(found.size, fits_at, runs.limit());
}

/// What a run of that size takes that has all it likes.
RunReport unlimited(const Case& c, Cliff cliff, std::int64_t size) {
  resize(cliff, size);
  return steady_run(StepWorkload(cliff.options), c.gpu(), kUnlimitedBytes, *c.config,
                    {.events = false})
      .report;
}

}  // namespace

void count_curve(Counters& counters, const std::string& source, std::int64_t largest,
                 const std::function<std::uint64_t(std::int64_t)>& allocated) {
  const std::int64_t last = std::max<std::int64_t>(largest, 2);
  counters.set(source + "_cliff_base", allocated(1));
  counters.set(source + "_cliff_slope",
               static_cast<double>(allocated(last)) - static_cast<double>(allocated(last - 1)));
}

Result run_cliff(const Case& c, Cliff cliff, const RunApart& run_apart) {
  using Clock = std::chrono::steady_clock;
  Budget budget = budget_of(*c.card);
  budget.arch = c.arch();
  Result result;
  Counters& counters = result.counters;
  const auto start = Clock::now();
  const Request request{*c.config, std::make_shared<StepWorkload>(cliff.options), budget};
  std::int64_t largest = predicted_largest(request, cliff.axis);
  counters.set("pred_" + cliff.counter(), static_cast<double>(largest));
  count_curve(counters, "pred", largest,
              [&](std::int64_t size) { return unlimited(c, cliff, size).peak.allocated; });
  resize(cliff, std::max(largest, std::int64_t{1}));
  if (c.device != nullptr) largest = count_measured(counters, c, cliff, run_apart, largest);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();

  const RunReport report = unlimited(c, cliff, std::max(largest, std::int64_t{1}));
  counters.set("oom", largest == 0 ? 1.0 : 0.0);
  count_run(counters, "pred", report);
  count_card(counters, c, report.reserved);
  count_pytorch_cliff(counters, c, cliff);
  count_model(counters, *c.config);
  const std::string what(cliff.axis.noun);
  result.label =
      evidence(c) + "; figures of " + (largest == 0 ? what + " 1" : "the largest " + what);
  return result;
}

}  // namespace vramfit::bench
