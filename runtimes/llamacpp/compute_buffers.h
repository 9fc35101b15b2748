#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/base/run_options.h"
#include "runtimes/llamacpp/ggml/pool.h"
#include "runtimes/llamacpp/graphs/memory.h"
#include "runtimes/llamacpp/weights/placement.h"

namespace vramfit::llamacpp {

/// A GPU as llama.cpp meets it.
struct Device {
  std::uint64_t free = 0;   ///< before the model is loaded, bytes: what layers are shared out by
  int capability = 0;       ///< of compute, as ggml counts it: 890 is 8.9
  int multiprocessors = 0;  ///< which its pool alone depends on

  friend bool operator==(const Device&, const Device&) = default;
};

/// What a device loses to the temporary buffers of these.
std::uint64_t pool_of(const ggml::PoolOps& ops, const Device& device);

/// How compute buffers come about.
enum class Reservation : std::uint8_t {
  Allocated,  ///< by a context that runs
  Measured,   ///< by --fit, without memory (no_alloc): of a prompt's graph alone, in which no norm
              ///< is held to its layer's device
};

/// What a context takes for its graphs, and for what it keeps between them. Bytes.
struct ComputeBuffers {
  std::vector<std::uint64_t> gpus;
  std::vector<MemoryBytes> caches;  ///< and states, on each GPU
  MemoryBytes host_caches;          ///< pageable
  /// Of each GPU's ops, those that have temporary buffers: where caches are full, by prompts that
  /// end in one output a sequence and by tokens after them; no breakdown has them.
  std::vector<ggml::PoolOps> pool_ops;
  std::uint64_t host = 0;    ///< page-locked, where there is a GPU
  std::uint64_t output = 0;  ///< rows of logits, on the host as well; no breakdown has them
  bool flash = false;        ///< whether flash attention is used, which `Auto` leaves open
};

/// What llama_context::sched_reserve reserves. Throws BadInput where llama.cpp refuses,
/// UnknownModel where an architecture's graph is not written down.
ComputeBuffers compute_buffers(const Model& model, const Placement& placement,
                               const WeightPlaces& places, const ContextOptions& options,
                               const std::vector<Device>& devices, Reservation reservation);

}  // namespace vramfit::llamacpp
