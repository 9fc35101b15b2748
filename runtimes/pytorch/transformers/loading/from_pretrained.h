#pragma once

#include "runtimes/pytorch/torch/memory/fold.h"
#include "runtimes/pytorch/transformers/loading/device_map.h"
#include "runtimes/pytorch/transformers/modules/causal_lm.h"

namespace vramfit::pytorch {

/// Where from_pretrained puts the parts of such a model.
DeviceMap device_map(Context& context, CausalLm& model, const ModelConfig& config,
                     const Pretrained& arguments);

/// Whether a model that is placed so has no run on GPUs that are no larger. What is quantised is
/// not left on the host (validate_environment raises), and what is all on the host runs there.
bool has_no_room(const DeviceMap& map, const Pretrained& arguments);

/// Reads a model that was made on the meta device from safetensors, as transformers 5.17 does:
/// modeling_utils.py (from_pretrained, caching_allocator_warmup), core_model_loading.py
/// (convert_and_load_state_dict_in_model), integrations/bitsandbytes.py. What stays on the host
/// stays on the meta device. Returns where everything went.
///
/// The model may be a fold of one of more layers. `map`: where it is known already.
DeviceMap from_pretrained(Context& context, CausalLm& model, const ModelConfig& config,
                          const Pretrained& arguments, const Fold& fold,
                          const DeviceMap* map = nullptr);

}  // namespace vramfit::pytorch
