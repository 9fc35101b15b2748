#pragma once

#include <vector>

#include "runtimes/llamacpp/base/account.h"
#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/compute_buffers.h"
#include "runtimes/llamacpp/options.h"

// A smaller model in the same process, whose drafts a server checks.
namespace vramfit::llamacpp {

/// What it takes beside a server that is started so: common_base_params_to_speculative of
/// common/speculative.cpp. Throws BadInput where llama.cpp refuses.
Breakdown draft_breakdown(const Model& draft, const Options& options, const Hparams& target,
                          const std::vector<Device>& devices, Reservation reservation);

/// Adds what a draft model takes to what each device holds.
void add(Breakdown& sum, const Breakdown& draft);

}  // namespace vramfit::llamacpp
