#include "runtimes/llamacpp/draft.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtimes/llamacpp/base/context_params.h"

namespace vramfit::llamacpp {
namespace {

void add(Buffers& sum, const Buffers& more) {
  sum.model += more.model;
  sum.context += more.context;
  sum.compute += more.compute;
}

}  // namespace

StartQuestion draft_start(std::shared_ptr<const Model> draft, const Options& options,
                          const Hparams& target, const std::vector<Device>& devices,
                          Reservation reservation) {
  Placement placement = options.placement;
  placement.gpu_layers = options.draft.gpu_layers;
  placement.overrides = options.draft.overrides;
  placement.cpu_moe_layers = options.draft.cpu_moe_layers;
  ContextOptions context = options.context;
  context.context = settle(options.context, target).context;
  context.type_k = options.draft.type_k;
  context.type_v = options.draft.type_v;
  context.outputs_max = context.sequences;
  return {std::move(draft), std::move(placement), context, devices, reservation};
}

void add(Breakdown& sum, const Breakdown& draft) {
  for (std::size_t i = 0; i < sum.gpus.size(); ++i) {
    add(sum.gpus[i], draft.gpus[i]);
    sum.pools[i] += draft.pools[i];
  }
  add(sum.host, draft.host);
  add(sum.pinned, draft.pinned);
}

}  // namespace vramfit::llamacpp
