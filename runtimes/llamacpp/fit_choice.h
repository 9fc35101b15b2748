#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtimes/llamacpp/base/account.h"
#include "runtimes/llamacpp/base/hparams.h"
#include "runtimes/llamacpp/base/run_options.h"

// What llama.cpp's --fit sets: common_params_fit_impl of common/fit.cpp.
namespace vramfit::llamacpp {

struct FitTargets {
  std::vector<std::uint64_t> free;  ///< of each GPU before the model is loaded, bytes
  /// To be left (-fitt) of each GPU that the model is on; 1 GiB by default.
  std::vector<std::uint64_t> margins;
  std::uint32_t least_context = 4096;  ///< of a stream (-fitc); the largest number: as trained
};

struct FitChoice {
  Placement placement;
  std::int64_t context = 0;  ///< n_ctx
  /// Why it gave up, as llama.cpp says it, and starts as asked but for the context; else empty.
  std::string failure;

  bool fits() const { return failure.empty(); }
};

/// What a start would take, as it is measured without allocating (no_alloc, no mmap). A draft model
/// that follows the context is added by who measures.
using Measure = std::function<Breakdown(const Placement&, const ContextOptions&)>;

/// Where memory is short, the context becomes smaller unless one was asked for, then layers stay
/// on the host, experts before all else. Only what was left at its default is set.
FitChoice choose_fit(const Hparams& hparams, const Placement& placement,
                     const ContextOptions& options, const FitTargets& targets,
                     const Measure& measure);

}  // namespace vramfit::llamacpp
