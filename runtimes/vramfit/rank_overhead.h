#pragma once

#include "model/parallel/mesh.h"
#include "runtimes/gpu.h"

namespace vramfit {

/// A card's overhead where the process is one of these that train by this project's own step: NCCL
/// takes of each GPU what its communicator's connections need.
Overhead rank_overhead(const Overhead& overhead, const Mesh& mesh);

}  // namespace vramfit
