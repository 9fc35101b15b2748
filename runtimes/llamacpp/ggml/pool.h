#pragma once

#include <cstdint>

#include "runtimes/llamacpp/ggml/backend.h"

// Temporary buffers of ggml-cuda's ops: a stack in memory of its own (ggml_cuda_pool_vmm), which
// each op leaves empty and which never shrinks.
namespace vramfit::llamacpp::ggml {

/// The most that an op has on the stack, in bytes. Where experts are multiplied one by one
/// (weights that are not quantised, many tokens) it depends on what is routed to each; all tokens
/// to one is the most.
std::uint64_t pool_bytes(const Backend& backend, const Tensor& op);

/// What the card loses to a stack of so many bytes: pages of 2 MiB.
std::uint64_t pool_mapped(std::uint64_t most);

}  // namespace vramfit::llamacpp::ggml
