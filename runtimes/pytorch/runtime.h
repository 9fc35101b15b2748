#pragma once

#include "runtimes/options_workload.h"
#include "runtimes/pytorch/options.h"
#include "runtimes/pytorch/torch/tensor/release.h"

namespace vramfit::pytorch {

/// PyTorch and transformers of one release in eager mode, as most people run them.
class PyTorchRuntime final : public Runtime {
 public:
  explicit PyTorchRuntime(Release versions) : versions_(std::move(versions)) {}

  const Release& versions() const { return versions_; }

  const char* name() const override { return "pytorch"; }
  const Settings& settings() const override;
  /// A config is read for its sake: transformers has every family.
  bool runs(const FamilyReader&) const override { return true; }
  const Capabilities& can() const override;
  const std::vector<SearchAxis>& axes() const override { return batch_and_seq(); }
  /// One of a type that its release has a tape of.
  std::optional<ModelConfig> read_model(const ModelSource& source) const override;
  void complete(Flags& flags, const Script& script) const override;
  nlohmann::ordered_json release() const override;

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool training,
                                       const ModelConfig& model) const override;

  Release versions_;
};

/// A run under it.
class TorchWorkload final : public OptionsWorkload<TorchWorkload, TorchGeneration, TorchTraining> {
 public:
  /// `runtime` must outlive the workload.
  TorchWorkload(const PyTorchRuntime& runtime, TorchOptions options)
      : OptionsWorkload(std::move(options)), runtime_(&runtime) {}

  const Runtime& runtime() const override { return *runtime_; }
  Facts facts() const override;
  DType computes_in() const override;
  Demand demand() const override;
  std::int64_t micro_batches() const override;
  std::int64_t stored_parameters(const ModelConfig& config) const override;
  void validate(const ModelConfig& config) const override;
  std::int64_t limit(const SearchAxis& axis, const ModelConfig& config) const override;
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override;
  std::vector<Adjustment> adjustments(const ModelConfig& config) const override;
  std::vector<Adjustment> gpu_adjustments() const override;
  std::optional<Choice> also_meant() const override;
  std::vector<std::string> cautions() const override;
  nlohmann::ordered_json asked() const override;
  std::string text(const std::string& sizes) const override;
  std::string types() const override;
  std::string about() const override;
  std::optional<double> reserved_error() const override;

  /// How its model is read, where it is read from a file.
  const std::optional<Pretrained>& pretrained() const;

 private:
  const PyTorchRuntime* runtime_;
};

}  // namespace vramfit::pytorch
