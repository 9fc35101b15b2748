#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/dtype.h"
#include "runtimes/pytorch/torch/distributed/strategy.h"
#include "runtimes/pytorch/torch/tensor/release.h"
#include "runtimes/pytorch/transformers/modules/settings.h"
#include "runtimes/pytorch/transformers/optimizers/kinds.h"
#include "runtimes/runtime.h"

/// What a step takes of a GPU where PyTorch and transformers run it eagerly.
namespace vramfit::pytorch {

struct LoraConfig {
  std::int64_t rank = 8;
  std::vector<std::string> targets;
  double dropout = 0;  ///< lora_dropout
};

struct TorchTraining {
  DType precision = DType::Bf16;  ///< the weights'
  std::optional<DType> autocast;  ///< torch.autocast over them
  AttentionKind attention = AttentionKind::Sdpa;
  TorchOptimizer optimizer = TorchOptimizer::AdamW;
  GradientCheckpointing checkpoint = GradientCheckpointing::None;
  std::optional<LoraConfig> lora;
  std::int64_t batch = 1;
  std::int64_t seq = 2048;
  std::int64_t accumulate = 1;  ///< micro-batches in a step
  bool loss_only = false;       ///< logits go before backward: the script keeps the loss alone
  bool fused_head = false;      ///< TRL's: there are no logits
  std::optional<Pretrained> pretrained;
  std::optional<Distributed> distributed;  ///< absent: one GPU
};

/// `loss = model(ids, labels=ids).loss`, as a Trainer has it, and every script of several GPUs
/// here.
inline bool keeps_loss_only(const TorchTraining& options) {
  return options.loss_only || options.fused_head || options.distributed;
}

/// Whether what is looked at is a stage of a pipeline.
inline bool is_stage(const TorchTraining& options) {
  return options.distributed && options.distributed->strategy == DistributedStrategy::Pipeline;
}

struct TorchGeneration {
  DType precision = DType::Bf16;
  AttentionKind attention = AttentionKind::Sdpa;
  std::int64_t batch = 1;
  std::int64_t seq = 2048;
  std::int64_t generate = 1;
  bool static_cache = false;  ///< cache_implementation="static", uncompiled
  bool again = false;         ///< generate() was called before
  std::optional<Pretrained> pretrained;
  /// Prompts of unequal length: the attention mask hides something. Not said: several ones are.
  std::optional<bool> padded;
};

/// Loads the model and trains it, or calls generate() once, within `capacity` bytes of the
/// allocator's. Running out of memory is a result. `on_host`: what stays there, if anything does.
RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const TorchTraining& options, const Extent& extent = {},
              std::uint64_t capacity = kUnlimitedBytes);
/// Of several GPUs that share the model, the one that the options name.
RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const TorchGeneration& options, const Extent& extent = {},
              std::uint64_t capacity = kUnlimitedBytes, std::optional<OnHost>* on_host = nullptr);
/// Of each of them.
std::vector<RunReport> run_on_each(const Gpu& gpu, const Release& release,
                                   const ModelConfig& config, const TorchTraining& options,
                                   const Extent& extent, std::uint64_t capacity);
std::vector<RunReport> run_on_each(const Gpu& gpu, const Release& release,
                                   const ModelConfig& config, const TorchGeneration& options,
                                   const Extent& extent, std::uint64_t capacity,
                                   std::optional<OnHost>* on_host);

/// Decode steps that are walked, at most: fewer of a deep model.
std::int64_t decode_samples(const ModelConfig& config, const Extent& extent);

}  // namespace vramfit::pytorch
