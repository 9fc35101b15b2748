#pragma once

#include "runtimes/options_workload.h"
#include "runtimes/pytorch/options.h"

namespace vramfit::pytorch {

/// A run of PyTorch and transformers in eager mode.
class TorchWorkload final
    : public OptionsWorkload<TorchWorkload, GenerationOptions, TrainingOptions> {
 public:
  using OptionsWorkload::OptionsWorkload;

  const Runtime& runtime() const override;
  std::int64_t stored_parameters(const ModelConfig& config) const override;
  void validate(const ModelConfig& config) const override;
  std::int64_t seq_limit(const ModelConfig& config) const override;
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override;
  nlohmann::ordered_json asked() const override;
  std::string text(const std::string& sizes) const override;
};

/// PyTorch and transformers in eager mode, as most people run it.
const Runtime& pytorch_runtime();

}  // namespace vramfit::pytorch
