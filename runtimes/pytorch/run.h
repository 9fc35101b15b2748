#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config/model_config.h"
#include "model/dtype.h"
#include "model/ops/arch.h"
#include "model/transformer/run.h"
#include "runtimes/pytorch/memory/libraries.h"
#include "runtimes/pytorch/memory/memory.h"
#include "runtimes/pytorch/modules/settings.h"
#include "runtimes/pytorch/optimizers/optimizer.h"
#include "runtimes/pytorch/tensor/release.h"
#include "runtimes/pytorch/tensor/scalar_type.h"

/// What a step takes of a GPU where PyTorch and transformers run it eagerly.
namespace vramfit::pytorch {

/// What of a card shows in a run.
struct Gpu {
  Arch arch;
  int multiprocessors = 0;
  LibrarySizes libraries;
  std::uint64_t allocator_capacity = ~std::uint64_t{0};  ///< bytes that may be reserved
};

/// Micro-batches repeat from the second on; of more than these the others are left out.
inline constexpr std::int64_t kMaxMicroBatches = 3;

struct LoraOptions {
  std::int64_t rank = 8;
  std::vector<std::string> targets;
};

struct TrainingOptions {
  DType precision = DType::Bf16;  ///< the weights'
  std::optional<DType> autocast;  ///< torch.autocast over them
  AttentionKind attention = AttentionKind::Sdpa;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  bool checkpoint = false;  ///< every layer's activations, use_reentrant=False
  std::optional<LoraOptions> lora;
  std::int64_t batch = 1;
  std::int64_t seq = 2048;
  std::int64_t accumulate = 1;  ///< micro-batches in a step
};

struct GenerationOptions {
  DType precision = DType::Bf16;
  AttentionKind attention = AttentionKind::Sdpa;
  std::int64_t batch = 1;
  std::int64_t seq = 2048;
  std::int64_t generate = 1;
  /// Prompts of unequal length: the attention mask hides something. Not said: several ones are.
  std::optional<bool> padded;
};

/// Loads the model and trains it. Running out of memory is a result.
RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const TrainingOptions& options, int steps = kDefaultSteps,
              Memory::Observer observer = {});

/// Loads the model and calls generate() once.
RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const GenerationOptions& options, Memory::Observer observer = {});

}  // namespace vramfit::pytorch
