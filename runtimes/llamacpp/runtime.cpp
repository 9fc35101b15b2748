#include "runtimes/llamacpp/runtime.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model/config/families.h"
#include "model/errors.h"
#include "runtimes/llamacpp/architectures/load_model.h"
#include "runtimes/llamacpp/ollama.h"
#include "runtimes/llamacpp/read_options.h"
#include "runtimes/llamacpp/server_words.h"
#include "runtimes/llamacpp/settings.h"
#include "runtimes/llamacpp/weights/quantizations.h"
#include "runtimes/llamacpp/workload.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;  // of cudaMalloc

/// Tensors of a config's have no types yet.
Model read(const ModelSource& source) {
  if (source.gguf != nullptr) return model_of(*source.gguf);
  return model_of(HfConfig::parse(source.config, source.name));
}

/// A draft model, in that recipe unless it is a file; null where there is none.
std::shared_ptr<const Model> read_draft(const std::shared_ptr<const ModelSource>& source,
                                        const std::string& recipe) {
  if (source == nullptr) return nullptr;
  Model model = read(*source);
  if (source->gguf != nullptr) return std::make_shared<const Model>(std::move(model));
  return Quantizations(std::move(model)).in(parse_recipe(recipe, "quant-draft"));
}

class LlamaCppRuntime final : public Runtime {
 public:
  const char* name() const override { return "llama.cpp"; }
  const Settings& settings() const override { return llamacpp::settings(); }
  std::span<const ForeignWord> foreign_words() const override { return server_words(); }
  bool runs(const FamilyReader& family) const override {
    constexpr std::array<std::string_view, 9> kFamilies = {
        "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "olmo2", "granite"};
    return std::find(kFamilies.begin(), kFamilies.end(), family.model_type) != kFamilies.end();
  }

  const Capabilities& can() const override {
    static const Capabilities can = {
        .no_training = "llama.cpp generates; without --train, or another runtime",
        .no_timelines = "llama.cpp takes a few buffers, once; without --runtime llama.cpp",
        .no_formulas = "they are of PyTorch's runs; without --runtime llama.cpp",
        .machines = true,
        .other_platforms = true,
        .as_stored = false,
        .assumed = {"quant", "ctx", "parallel"},
        .granularity = kGranularity,
        .measured_parts = {"context", "kernels", "cublas"},
    };
    return can;
  }

  const std::vector<SearchAxis>& axes() const override {
    static const std::vector<SearchAxis> axes = {kContextAxis, kSlotsAxis, kLayersAxis, kQuantAxis};
    return axes;
  }

  std::optional<ModelConfig> read_model(const ModelSource& source) const override {
    const Hparams hparams = llamacpp::read(source).hparams;
    ModelConfig config;
    config.name = source.name;
    config.family = hparams.arch;
    config.layers = hparams.run_layers();
    config.hidden = hparams.embd;
    config.vocab = hparams.vocab;
    config.max_positions = hparams.context_train;
    config.rope.emplace();
    return config;
  }

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool /*training*/,
                                       const ModelConfig& model) const override {
    Options options = read_options(flags, model.source->gguf != nullptr);
    std::shared_ptr<const Model> draft = read_draft(model.source->draft, options.draft.recipe);
    Model own = llamacpp::read(*model.source);
    start_as_ollama(options.context, own.hparams);
    set_outputs(options);
    if (options.recipe.empty()) {
      return std::make_shared<ServerWorkload>(std::make_shared<const Model>(std::move(own)),
                                              std::move(options), nullptr, std::move(draft));
    }
    const auto all = std::make_shared<const Quantizations>(std::move(own));
    auto quantized = all->in(parse_recipe(options.recipe, "quant"));
    return std::make_shared<ServerWorkload>(std::move(quantized), std::move(options), all,
                                            std::move(draft));
  }
};

}  // namespace

const Runtime& llamacpp_runtime() {
  static const LlamaCppRuntime runtime;
  return runtime;
}

const Runtime& ServerWorkload::runtime() const { return llamacpp_runtime(); }

}  // namespace vramfit::llamacpp
