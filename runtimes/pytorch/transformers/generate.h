#pragma once

#include <cstdint>

#include "runtimes/pytorch/torch/memory/playback.h"
#include "runtimes/pytorch/transformers/modules/causal_lm.h"

namespace vramfit::pytorch {

struct Generation {
  std::int64_t new_tokens;
  /// Of longer generations so many decode steps are walked, evenly spread, the last one included.
  std::int64_t samples;
  bool padded;  ///< the prompts hold pad tokens, so that the attention mask hides something
  bool static_cache;
  bool again;  ///< it was called before: cuBLAS has its workspace from the start
};

/// model.generate(ids, max_new_tokens=…, do_sample=False), as the stages prefill and decode, each
/// step played as it is known: transformers/generation/utils.py (generate, _sample), 5.17.
void generate(Context& context, Playback& playback, const CausalLm& model, const Tensor& prompt,
              const Generation& generation);

}  // namespace vramfit::pytorch
