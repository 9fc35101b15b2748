#include "estimator/ask/card_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/ask/budgets.h"
#include "estimator/attributes.h"
#include "estimator/releases.h"
#include "estimator/verdict.h"
#include "model/errors.h"
#include "runtimes/pytorch/torch/memory/libraries.h"

namespace vramfit {
namespace {

constexpr int kDriverVersion = 13000;  ///< as the CUDA that it comes with, 13.0
constexpr const char* kDriverName = "580.159.04";

Budget one_budget(const FitOptions& options, const Environment& environment) {
  std::vector<Budget> budgets = budgets_of(options, environment);
  if (budgets.size() > 1) {
    throw BadInput(
        "gpu: which one the script shall find, as this machine has none: --gpu rtx4090, or any "
        "other by its size, --vram 24GiB");
  }
  if (!budgets.front().machine.empty()) throw BadInput("gpu: one card at a time");
  if (budgets.front().platform != Platform::Cuda) throw BadInput("gpu: a card with CUDA");
  return std::move(budgets.front());
}

nlohmann::json loads_of(const Overhead& overhead) {
  // Where nobody measured PyTorch, its kernels are as large as the libraries were.
  const pytorch::LibrarySizes torch =
      pytorch::measured_sizes(overhead, current_release().name)
          .value_or(pytorch::LibrarySizes{.context = overhead.context + overhead.libraries});
  return {{"context", overhead.context},
          {"kernels", torch.context - std::min(torch.context, overhead.context)},
          {"blas", torch.blas},
          {"more_blas", torch.backward_blas},
          {"attention", torch.attention},
          {"backward_attention", torch.backward_attention},
          {"streams", torch.streams},
          {"process_group", torch.process_group},
          {"collectives", torch.collectives},
          {"more_communicators", torch.more_communicators},
          {"more_collectives", torch.more_collectives}};
}

}  // namespace

nlohmann::json card_facts(const FitOptions& options, const Environment& environment) {
  const Budget budget = one_budget(options, environment);
  const Overhead& overhead = budget.overhead;
  const Range range = range_of(overhead);
  const std::uint64_t total = budget.vram - std::min(budget.vram, overhead.driver_reserved);
  KnownAttributes attributes = attributes_of(budget);
  nlohmann::json by_number = nlohmann::json::object();
  for (const auto& [number, value] : attributes.values) by_number[std::to_string(number)] = value;
  std::vector<std::string> notes = budget.notes;
  notes.insert(notes.end(), attributes.notes.begin(), attributes.notes.end());
  return {{"title", budget.title},
          {"devices", 1},
          {"total", total},
          {"listed_total", budget.vram},
          {"taken", std::min(budget.set_aside(), total)},
          {"attributes", by_number},
          {"loads", loads_of(overhead)},
          {"driver_version", kDriverVersion},
          {"driver_name", kDriverName},
          {"late_events", false},
          {"strict", false},
          {"gpu", budget.gpu.empty() ? nlohmann::json() : nlohmann::json(budget.gpu)},
          {"arch", "sm_" + std::to_string(budget.arch.sm)},
          {"headroom", budget.headroom},
          {"held", budget.held},
          {"overhead_source", overhead.source},
          {"assumed_from", overhead.assumed_from},
          {"uncertainty", {{"less", range.less}, {"more", range.more}}},
          {"int8_reserved_error", current_release().int8_reserved_error},
          {"notes", notes}};
}

}  // namespace vramfit
