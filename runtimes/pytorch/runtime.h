#pragma once

#include "runtimes/options_workload.h"
#include "runtimes/pytorch/options.h"
#include "runtimes/pytorch/torch/tensor/release.h"

namespace vramfit::pytorch {

/// PyTorch and transformers in eager mode, as most people run them.
class PyTorchRuntime final : public Runtime {
 public:
  /// At least one, the oldest first; `usual` is one of them, by its name.
  PyTorchRuntime(std::vector<Release> releases, const std::string& usual);
  PyTorchRuntime(const PyTorchRuntime&) = delete;
  PyTorchRuntime& operator=(const PyTorchRuntime&) = delete;

  /// What is asked about where nobody names one.
  const Release& usual() const { return *usual_; }
  /// Throws BadInput that lists those there are.
  const Release& release_named(const std::string& name) const;

  const char* name() const override { return "pytorch"; }
  const Settings& settings() const override { return settings_; }
  /// A config is read for its sake: transformers has every family.
  bool runs(const FamilyReader&) const override { return true; }
  const Capabilities& can() const override;
  const std::vector<SearchAxis>& axes() const override { return batch_and_seq(); }
  /// One of a type that there is a tape of.
  std::optional<ModelConfig> read_model(const ModelSource& source) const override;
  void complete(Flags& flags, const Script& script) const override;

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool training,
                                       const ModelConfig& model) const override;

  std::vector<Release> releases_;
  const Release* usual_;
  Settings settings_;
};

/// A run under it.
class TorchWorkload final : public OptionsWorkload<TorchWorkload, TorchGeneration, TorchTraining> {
 public:
  /// `runtime` must outlive the workload. `release`: one of its, where it is not the usual one.
  TorchWorkload(const PyTorchRuntime& runtime, TorchOptions options,
                const Release* release = nullptr)
      : OptionsWorkload(std::move(options)),
        runtime_(&runtime),
        release_(release != nullptr ? release : &runtime.usual()) {}

  const Runtime& runtime() const override { return *runtime_; }
  nlohmann::ordered_json release() const override;
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
  const Release* release_;
};

}  // namespace vramfit::pytorch
