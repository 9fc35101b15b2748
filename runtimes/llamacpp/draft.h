#pragma once

#include <memory>
#include <vector>

#include "runtimes/llamacpp/base/account.h"
#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/breakdown.h"
#include "runtimes/llamacpp/options.h"

// A smaller model in the same process, whose drafts a server checks.
namespace vramfit::llamacpp {

/// How it is started beside a server that is started so: common_base_params_to_speculative of
/// common/speculative.cpp.
StartQuestion draft_start(std::shared_ptr<const Model> draft, const Options& options,
                          const Hparams& target, const std::vector<Device>& devices,
                          Reservation reservation);

/// Adds what a draft model takes to what each device holds.
void add(Breakdown& sum, const Breakdown& draft);

}  // namespace vramfit::llamacpp
