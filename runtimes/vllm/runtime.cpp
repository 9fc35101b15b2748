#include "runtimes/vllm/runtime.h"

#include <nlohmann/json.hpp>

#include "model/config/families.h"
#include "model/config/model_source.h"
#include "model/errors.h"
#include "runtimes/vllm/config.h"
#include "runtimes/vllm/drafts.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/engine_words.h"
#include "runtimes/vllm/read_options.h"
#include "runtimes/vllm/releases.h"
#include "runtimes/vllm/settings.h"
#include "runtimes/vllm/speculation.h"
#include "runtimes/vllm/workload.h"

namespace vramfit::vllm {
namespace {

/// Of a config of which keys are overridden.
Shape changed(const ModelConfig& model, const Options& options) {
  if (model.source == nullptr || model.source->config.empty()) {
    throw BadInput("hf-overrides: this model is read of no config.json; --config PATH of one");
  }
  ModelSource source = *model.source;
  source.config = overridden(source.config, options.overrides);
  return shape_of(source);
}

class VllmRuntime final : public Runtime {
 public:
  const char* name() const override { return "vllm"; }
  const Settings& settings() const override { return vllm::settings(); }
  std::span<const ForeignWord> foreign_words() const override { return engine_words(); }
  bool runs(const FamilyReader& family) const override { return runs_family(family.model_type); }

  const Capabilities& can() const override {
    static const Capabilities can = {
        .no_training = "vLLM generates; without --train, or another runtime",
        .no_timelines = "vLLM fills its card once; without --runtime vllm",
        .no_formulas = "they are of PyTorch's runs; without --runtime vllm",
        .assumed = {"max-model-len", "gpu-memory-utilization", "compile-cache"},
        .granularity = kGranularity,
        .measured_parts = {},
    };
    return can;
  }

  const std::vector<SearchAxis>& axes() const override {
    static const std::vector<SearchAxis> axes = {kLengthAxis, kConcurrencyAxis};
    return axes;
  }

  std::optional<std::string> draft_named(const Flags& flags) const override {
    return read_speculation(flags).model;
  }

  std::optional<ModelConfig> read_model(const ModelSource& source) const override {
    return described(source);
  }

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool /*training*/,
                                       const ModelConfig& model) const override {
    Options options = read_options(flags);
    Shape shape = options.overrides.empty() ? shape_of(model) : changed(model, options);
    shape.draft = draft_of(model, shape, options);
    if (options.drafts == Drafts::Mtp) settle_drafted(options, *shape.draft);
    return std::make_shared<EngineWorkload>(std::make_shared<const Shape>(std::move(shape)),
                                            std::move(options));
  }
};

}  // namespace

const Runtime& vllm_runtime() {
  static const VllmRuntime runtime;
  return runtime;
}

const Runtime& EngineWorkload::runtime() const { return vllm_runtime(); }

}  // namespace vramfit::vllm
