#pragma once

#include <string>

#include "runtimes/vllm/options.h"
#include "runtimes/vllm/start.h"

// Why vLLM does not start, in its words (v1/worker/utils.py, v1/core/kv_cache_utils.py).
namespace vramfit::vllm::refusals {

std::string too_little_free(const Start& start, const Options& options);
std::string no_memory();
/// Of weights and a cache that are larger than the card, where it does not look beforehand.
std::string out_of_memory();
/// To --max-model-len -1.
std::string no_length();
std::string too_long(const Start& start);

/// Of experts in fp32, whose kernel wants more of a multiprocessor than some cards have.
std::string too_little_shared();

}  // namespace vramfit::vllm::refusals
