// What could be changed about a start of llama.cpp so that it takes less of the card.
#include <algorithm>
#include <array>

#include "runtimes/llamacpp/weights/recipe.h"
#include "runtimes/llamacpp/workload.h"

namespace vramfit::llamacpp {
namespace {

/// From what is as good as the original down to what few use; none needs an importance matrix.
constexpr std::array kUsualRecipes = {Recipe::Q8_0,   Recipe::Q6_K,   Recipe::Q5_K_M,
                                      Recipe::Q4_K_M, Recipe::IQ4_XS, Recipe::Q3_K_M,
                                      Recipe::Q2_K};
constexpr std::int64_t kLeastContext = 4096;

std::size_t place_of(Recipe recipe) {
  const std::vector<Recipe>& all = recipes();
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), recipe) - all.begin());
}

Adjustment quants(Recipe now) {
  Adjustment adjustment{.parts = {"quant"}, .choices = {}};
  for (const Recipe recipe : kUsualRecipes) {
    if (place_of(recipe) >= place_of(now)) continue;
    const std::string to = recipe_name(recipe);
    adjustment.choices.push_back({.label = "weights in " + to,
                                  .changes = {{"quant", recipe_name(now), to}},
                                  .flags = {{"quant", to}}});
  }
  return adjustment;
}

Adjustment caches(const std::string& now) {
  Adjustment adjustment{.parts = {"cache"}, .choices = {}};
  for (const char* to : {"q8_0", "q4_0"}) {
    adjustment.choices.push_back(
        {.label = std::string("the cache in ") + to,
         .changes = {{"cache", now, to}},
         .flags = {{"cache-type-k", to}, {"cache-type-v", to}, {"flash-attn", "on"}}});
  }
  return adjustment;
}

/// In the words that it was asked for in: `flag` is ctx, or num-ctx of each slot.
Adjustment contexts(const char* flag, std::int64_t now) {
  Adjustment adjustment{.parts = {"context"}, .choices = {}, .of_sizes = true};
  for (std::int64_t size = now / 2; size >= std::max(now / 8, kLeastContext); size /= 2) {
    adjustment.choices.push_back({.label = "a context of " + std::to_string(size),
                                  .flags = {{flag, std::to_string(size)}},
                                  .keeps = static_cast<double>(size) / static_cast<double>(now)});
  }
  return adjustment;
}

}  // namespace

std::vector<Adjustment> ServerWorkload::adjustments(const ModelConfig&) const {
  std::vector<Adjustment> list;
  const auto add = [&](Adjustment adjustment) {
    if (!adjustment.choices.empty()) list.push_back(std::move(adjustment));
  };
  const ContextOptions& context = options_.context;
  if (!options_.recipe.empty()) add(quants(parse_recipe(options_.recipe, "quant")));
  if (context.type_k == Format(DType::Fp16) && context.type_v == Format(DType::Fp16)) {
    add(caches("f16"));
  }
  const bool of_ollama = context.context_a_slot > 0;
  add(of_ollama ? contexts("num-ctx", positions()) : contexts("ctx", size(kContextAxis)));
  if (options_.fits_itself) return list;
  if (model_->hparams.experts > 0 && options_.placement.cpu_moe_layers == 0) {
    add(adjustment_of("experts", {.label = "experts on the host",
                                  .changes = {{"experts", "gpu", "host"}},
                                  .flags = {{"cpu-moe", ""}}}));
  }
  add(adjustment_of("layers", {.label = "layers on the host, as llama.cpp chooses",
                               .changes = {{"layers", "gpu", "host"}},
                               .flags = {{"fit", "on"}},
                               .without = {"gpu-layers", "ctx", "cpu-moe", "n-cpu-moe"}}));
  return list;
}

}  // namespace vramfit::llamacpp
