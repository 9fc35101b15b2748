#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/vllm/cache.h"
#include "runtimes/vllm/profile.h"

// What vLLM's runners keep on the card beside weights and cache, tensor by tensor. Bytes.
namespace vramfit::vllm {

/// Made before the model: inputs of a step (gpu/input_batch.py, gpu/states.py; of the first runner
/// gpu_model_runner.py).
std::vector<std::uint64_t> input_buffers(const Shape& shape, const Batch& batch, bool second);

/// Made before the model for what drafts: its inputs, the states that it starts from, drafts
/// (gpu/spec_decode/speculator.py; of the first runner spec_decode/llm_base_proposer.py).
std::vector<std::uint64_t> draft_buffers(const Shape& shape, const Options& options,
                                         const Batch& batch, bool second);

/// Made behind the model: sampler's states, masks of grammars (gpu/sample/, the second runner's).
std::vector<std::uint64_t> sampler_buffers(const Shape& shape, const Batch& batch,
                                           std::int64_t drafted);

/// Made with the cache: block tables and slot mappings of each group (gpu/block_table.py).
std::vector<std::uint64_t> table_buffers(const Cache& cache, const Batch& batch,
                                         std::int64_t length);

}  // namespace vramfit::vllm
