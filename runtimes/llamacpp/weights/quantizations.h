#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/weights/recipe.h"

namespace vramfit::llamacpp {

/// A config's model, whose tensors have no types yet, in recipes that files of one are published
/// in. Shared by all that ask about it, in parallel too.
class Quantizations {
 public:
  explicit Quantizations(Model untyped) : untyped_(std::move(untyped)) {}

  std::shared_ptr<const Model> in(Recipe recipe) const;
  /// Those that are worth a search, by what this model's tensors take, the least first: none needs
  /// an importance matrix, is for models that were trained in such types, or gives way to another
  /// of its size.
  const std::vector<Recipe>& by_size() const;

 private:
  Model untyped_;
  mutable std::mutex mutex_;
  mutable std::map<Recipe, std::shared_ptr<const Model>> known_;
  mutable std::once_flag sorted_;
  mutable std::vector<Recipe> by_size_;
};

}  // namespace vramfit::llamacpp
