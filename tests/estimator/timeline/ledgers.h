#pragma once

#include "estimator/card_names.h"
#include "estimator/models.h"
#include "model/memory/kept_ledger.h"
#include "tests/support/workloads.h"

// Ledgers of small runs that tests of timelines are about.
namespace vramfit {

inline KeptLedger small_ledger(const char* runtime, std::uint64_t capacity = kUnlimitedBytes) {
  ModelConfig model = model_named("gpt2-124m");
  model.layers = 2;
  const Runtime& of = runtime_named(runtime);
  const auto workload =
      of.workload({{"batch", "2"}, {"seq", "256"}, {"optimizer", "adamw"}}, true, model);
  const Gpu gpu = gpu_of(budget_of(card_named("h200")));
  return keep(steady_run(*workload, gpu, capacity, model).report);
}

}  // namespace vramfit
