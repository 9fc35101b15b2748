#include "runtimes/llamacpp/weights/quantizations.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "runtimes/llamacpp/weights/tensor_names.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::array kSearched = {Recipe::Q2_K,   Recipe::Q3_K_S, Recipe::Q3_K_M,    Recipe::Q3_K_L,
                                  Recipe::IQ4_XS, Recipe::IQ4_NL, Recipe::MXFP4_MOE, Recipe::Q4_K_S,
                                  Recipe::Q4_K_M, Recipe::Q5_K_S, Recipe::Q5_K_M,    Recipe::Q6_K,
                                  Recipe::Q8_0,   Recipe::F16};

std::uint64_t bytes_of(const std::vector<ModelTensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const ModelTensor& tensor : tensors) bytes += tensor.bytes();
  return bytes;
}

void give_types(Recipe recipe, Model& model) {
  apply(recipe, model.hparams, model.tensors);
  if (!model.mxfp4_experts) return;
  for (ModelTensor& tensor : model.tensors) {
    if (ends_with(tensor.name, "_exps.weight")) tensor.type = *Format::named("mxfp4");
  }
}

}  // namespace

std::shared_ptr<const Model> Quantizations::in(Recipe recipe) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Model>& known = known_[recipe];
  if (known == nullptr) {
    Model model = untyped_;
    give_types(recipe, model);
    order_as_written(recipe, model.tensors);
    known = std::make_shared<const Model>(std::move(model));
  }
  return known;
}

const std::vector<Recipe>& Quantizations::by_size() const {
  std::call_once(sorted_, [this] {
    std::vector<std::pair<std::uint64_t, Recipe>> sizes;
    Model model = untyped_;
    for (const Recipe recipe : kSearched) {
      // Experts alone become MXFP4: of a dense model it is Q8_0.
      if (recipe == Recipe::MXFP4_MOE && untyped_.hparams.experts == 0) continue;
      give_types(recipe, model);
      sizes.emplace_back(bytes_of(model.tensors), recipe);
    }
    std::stable_sort(sizes.begin(), sizes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [bytes, recipe] : sizes) by_size_.push_back(recipe);
  });
  return by_size_;
}

}  // namespace vramfit::llamacpp
