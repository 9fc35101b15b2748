#pragma once

#include "runtimes/vllm/weights.h"

namespace vramfit::vllm {

/// How vLLM calls what linears are stored in: what is asked for, or what the config says; empty:
/// nothing of few bits. Throws BadInput where it is none that is predicted.
std::string quantization_of(const Shape& shape, const Options& options);

/// Whether linears are stored in a byte each.
bool in_bytes(const Shape& shape, const Options& options);

Storage storage_of(const Weight& weight, const Shape& shape, const Options& options);

/// Whether what goes into products is made bytes as well, as it comes.
bool quantizes_inputs(const Shape& shape, const Options& options);

/// Whether its checkpoint has it in 16 bits, and in fewer it is kept.
bool is_quantized_as_it_loads(const Weight& weight, const Shape& shape, const Options& options);

}  // namespace vramfit::vllm
