#include "runtimes/pytorch/transformers/modules/families/families.h"

#include <stdexcept>

#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {
namespace {

// A row each.
// clang-format off
constexpr const Family* kFamilies[] = {
    &kLlama,
    &kMistral,
    &kQwen2,
    &kGpt2,
    &kGemma,
    &kPhi,
    &kGptNeox,
    &kQwen3,
    &kOlmo2,
    &kPhi3,
    &kGranite,
    &kGemma2,
    &kGemma3Text,
};
// clang-format on

}  // namespace

const Family& family_of(const ModelConfig& config) {
  for (const Family* family : kFamilies) {
    if (config.family == family->model_type) return *family;
  }
  throw std::logic_error("PyTorch's runtime has no family " + config.family);
}

}  // namespace vramfit::pytorch
