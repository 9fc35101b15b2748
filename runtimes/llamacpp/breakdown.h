#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/base/account.h"
#include "runtimes/llamacpp/compute_buffers.h"

namespace vramfit::llamacpp {

/// What a model and its context take: llama_get_memory_breakdown. Throws BadInput where llama.cpp
/// refuses.
Breakdown breakdown(const Model& model, const Placement& placement, const ContextOptions& options,
                    const std::vector<Device>& devices, Reservation reservation);

}  // namespace vramfit::llamacpp
