#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/base/run_options.h"
#include "runtimes/llamacpp/weights/placement.h"

namespace vramfit::llamacpp {

/// How compute buffers come about.
enum class Reservation : std::uint8_t {
  Allocated,  ///< by a context that runs
  Measured,   ///< by --fit, without memory (no_alloc): of a prompt's graph alone, in which no norm
              ///< is held to its layer's device
};

/// What a context takes for its graphs. Bytes.
struct ComputeBuffers {
  std::vector<std::uint64_t> gpus;
  std::uint64_t host = 0;    ///< page-locked, where there is a GPU
  std::uint64_t output = 0;  ///< rows of logits, on the host as well; no breakdown has them
  bool flash = false;        ///< whether flash attention is used, which `Auto` leaves open
};

/// What llama_context::sched_reserve reserves. `capabilities` are the GPUs' compute capabilities as
/// ggml counts them: 890 is 8.9. Throws BadInput where llama.cpp refuses, UnknownModel where an
/// architecture's graph is not written down.
ComputeBuffers compute_buffers(const Model& model, const Placement& placement,
                               const WeightPlaces& places, const ContextOptions& options,
                               const std::vector<int>& capabilities, Reservation reservation);

}  // namespace vramfit::llamacpp
