#pragma once

#include <cstdint>
#include <optional>

#include "runtimes/pytorch/torch/tensor/scalar_type.h"

namespace vramfit::pytorch {

/// What several GPUs share of a training run.
enum class DistributedStrategy : std::uint8_t {
  Ddp,       ///< DistributedDataParallel: nothing, but gradients are averaged
  Zero1,     ///< the same with ZeroRedundancyOptimizer, which shares optimizer states
  Fsdp,      ///< fully_shard, layer by layer: weights and gradients too
  Tp,        ///< transformers' tp_plan="auto": each layer's matrices, of one batch for all
  Pipeline,  ///< torch.distributed.pipelining: some of the layers each, of one batch for all
};

/// When a stage of a pipeline does what.
enum class PipelineSchedule : std::uint8_t {
  GPipe,                  ///< all micro-batches forward, then all backward
  OneForwardOneBackward,  ///< 1F1B: backward as soon as it can be
};

/// MixedPrecisionPolicy.
struct MixedPrecision {
  ScalarType param;   ///< what layers compute in
  ScalarType reduce;  ///< what gradients are summed in
};

/// How a training run is spread over GPUs, each of which has a batch of its own unless they cut the
/// model.
struct Distributed {
  DistributedStrategy strategy = DistributedStrategy::Ddp;
  std::int64_t gpus = 2;
  // DistributedDataParallel:
  bool bucket_view = false;                   ///< gradient_as_bucket_view
  std::optional<std::int64_t> bucket_cap_mb;  ///< absent: 25 after a first one of 1
  /// Through the second step's forward, whoever is likely to win that race: see Reducer.
  bool keeps_first_bucket = false;
  // fully_shard:
  ScalarType stored = ScalarType::BFloat16;  ///< what the model's shards are in
  bool reshard_after_forward = true;         ///< of layers; the root's stay until backward
  std::optional<MixedPrecision> mixed_precision;
  /// By Accelerate, the Trainer's --fsdp: the model comes from the host, and the embedding and the
  /// head with its norm are groups of their own.
  bool by_accelerate = false;
  // PipelineStage:
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  std::int64_t stage = 0;  ///< that is looked at
};

/// Tp and Pipeline do: GPUs share a batch, and no gradients.
inline bool cuts_model(const Distributed& distributed) {
  return distributed.strategy == DistributedStrategy::Tp ||
         distributed.strategy == DistributedStrategy::Pipeline;
}

/// Ddp and Zero1 do.
inline bool reduces_in_buckets(const Distributed& distributed) {
  return distributed.strategy == DistributedStrategy::Ddp ||
         distributed.strategy == DistributedStrategy::Zero1;
}

}  // namespace vramfit::pytorch
