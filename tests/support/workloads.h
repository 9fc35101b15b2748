#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "estimator/estimate.h"
#include "estimator/runtimes.h"
#include "estimator/steady_run.h"
#include "runtimes/vramfit/dry_run.h"
#include "runtimes/vramfit/runtime.h"

// Workloads as tests state them: by the options of the runtime that they are about.
namespace vramfit {

inline std::shared_ptr<const Workload> workload_of(StepOptions options) {
  return std::make_shared<StepWorkload>(std::move(options));
}

inline std::shared_ptr<const Workload> workload_of(pytorch::TorchOptions options) {
  return std::make_shared<pytorch::TorchWorkload>(current_pytorch(), std::move(options));
}

/// The options of a request, which are of this type.
template <typename Options>
const Options& options_of(const Request& request) {
  if constexpr (std::is_constructible_v<StepOptions, Options>) {
    return std::get<Options>(dynamic_cast<const StepWorkload&>(*request.workload).options());
  } else {
    return std::get<Options>(
        dynamic_cast<const pytorch::TorchWorkload&>(*request.workload).options());
  }
}

/// The request with options that `change` has changed.
template <typename Options, typename Change>
void change_options(Request& request, const Change& change) {
  Options options = options_of<Options>(request);
  change(options);
  request.workload = workload_of(options);
}

/// The step program's, on a virtual GPU.
inline RunReport steady_run(const VirtualGpu& gpu, const ModelConfig& config,
                            const StepOptions& options) {
  const Gpu rules{gpu.arch, 1, {}};
  return steady_run(*workload_of(options), rules, gpu.pool_capacity, config).report;
}

}  // namespace vramfit
