#pragma once

#include <cstdint>
#include <vector>

#include "model/config/model_config.h"
#include "runtimes/vllm/options.h"
#include "runtimes/vllm/weights.h"

// What drafts tokens beside the model (vllm/v1/spec_decode/, v1/worker/gpu/spec_decode/).
namespace vramfit::vllm {

/// What drafts for a model: of EAGLE its layers, of a draft model all of it, of multi-token
/// prediction layers like the model's own.
struct Draft {
  Drafts by = Drafts::None;
  Shape shape;
  std::int64_t put_together = 0;  ///< states of the model's that EAGLE-3 starts from
  std::int64_t kept = 0;          ///< of these, layers of their own
  std::int64_t named = 0;         ///< states that it names before its layer, until that is done
  std::int64_t head = 0;          ///< words of a head of its own; 0: it has the model's
};

/// Null where no model drafts. Throws BadInput where it is none that is known here, or vLLM does
/// not have it draft for such a model.
std::shared_ptr<const Draft> draft_of(const ModelConfig& model, const Shape& shape,
                                      const Options& options);

/// Of layers that predict further tokens, how many tokens: as many as there are, or a multiple.
void settle_drafted(Options& options, const Draft& draft);

/// In the order in which they are made, behind the model's.
std::vector<Weight> draft_weights(const Draft& draft, const Shape& shape, const Options& options);

/// How what drafts is started: a quantisation that is asked for is its model's alone.
Options draft_options(const Draft& draft, const Options& options);

}  // namespace vramfit::vllm
