#include "runtimes/pytorch/transformers/make_model.h"

#include "runtimes/pytorch/transformers/modules/families/families.h"
#include "runtimes/pytorch/transformers/modules/written_lm.h"
#include "runtimes/pytorch/transformers/taped/taped_lm.h"
#include "runtimes/pytorch/transformers/taped/tapes.h"

namespace vramfit::pytorch {

std::unique_ptr<CausalLm> make_model(Context& context, const ModelConfig& config,
                                     const ModelSettings& settings) {
  if (config.taped) {
    const OpTape& tape = *tape_of(context.release, config.taped->tape);
    return std::make_unique<TapedLm>(context, tape, config, settings);
  }
  return std::make_unique<WrittenLm>(context, family_of(config), config, settings);
}

}  // namespace vramfit::pytorch
