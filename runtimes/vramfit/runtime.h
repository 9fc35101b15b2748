#pragma once

#include "runtimes/options_workload.h"
#include "runtimes/vramfit/options.h"

namespace vramfit {

/// A run of this project's own step program, on a virtual GPU.
class StepWorkload final
    : public OptionsWorkload<StepWorkload, GenerationOptions, TrainingOptions> {
 public:
  using OptionsWorkload::OptionsWorkload;

  const Runtime& runtime() const override;
  DType computes_in() const override { return precision_of(options()); }
  Facts facts() const override;
  int oldest_sm() const override;
  std::int64_t stored_parameters(const ModelConfig& config) const override;
  void validate(const ModelConfig& config) const override;
  std::int64_t limit(const SearchAxis& axis, const ModelConfig& config) const override;
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override;
  std::vector<Adjustment> adjustments(const ModelConfig& config) const override;
  std::vector<Adjustment> gpu_adjustments() const override;
  nlohmann::ordered_json asked() const override;
  std::string text(const std::string& sizes) const override;
  std::string types() const override;
  std::string about() const override;
  /// Every row that was measured reserves what was predicted, to the byte.
  std::optional<double> reserved_error() const override { return 0.0; }
};

/// This project's own step program.
const Runtime& vramfit_runtime();

}  // namespace vramfit
