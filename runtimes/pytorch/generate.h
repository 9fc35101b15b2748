#pragma once

#include <cstdint>

#include "runtimes/pytorch/modules/causal_lm.h"

namespace vramfit::pytorch {

/// Of longer generations so many decode steps are walked, evenly spread, the last one included.
inline constexpr std::int64_t kMaxDecodes = 512;

/// model.generate(ids, max_new_tokens=…, do_sample=False) with a DynamicCache, as the stages
/// prefill and decode: transformers/generation/utils.py (generate, _sample), 5.17. `padded`: the
/// prompts hold pad tokens, so that the attention mask hides something.
void generate(Context& context, const CausalLm& model, const ModelConfig& config,
              const Tensor& prompt, std::int64_t new_tokens, bool padded);

}  // namespace vramfit::pytorch
