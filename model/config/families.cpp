#include "model/config/families.h"

#include <algorithm>

#include "model/config/readers.h"
#include "model/errors.h"

namespace vramfit {
namespace {

// A row each.
// clang-format off
constexpr FamilyReader kFamilies[] = {
    {"llama", read_llama, true},
    {"mistral", read_mistral, true},
    {"qwen2", read_qwen2, true},
    {"gpt2", read_gpt2, true},
    {"gemma", read_gemma, false},
    {"phi", read_phi, false},
    {"gpt_neox", read_gpt_neox, false},
    {"qwen3", read_qwen3, true},
    {"olmo2", read_olmo2, false},
    {"phi3", read_phi3, false},
    {"granite", read_granite, false},
    {"gemma2", read_gemma2, false},
    {"gemma3_text", read_gemma3, false},
};
// clang-format on

}  // namespace

std::span<const FamilyReader> families() { return kFamilies; }

bool runs_on_vramfit(const ModelConfig& config) {
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](const FamilyReader& family) {
    return family.in_step_program && config.family == family.model_type;
  });
}

void require_own_family(const ModelConfig& config) {
  if (runs_on_vramfit(config)) {
    if (!config.rope || config.rope->computed_here()) return;
    throw BadInput("model: " + config.name +
                   " is rotated as vramfit's own step program does not (rope_scaling is neither "
                   "linear nor llama3); vramfit has another --runtime for it");
  }
  std::string others;
  for (const FamilyReader& family : kFamilies) {
    if (!family.in_step_program) continue;
    others.append(others.empty() ? "" : ", ").append(family.model_type);
  }
  throw BadInput("model: " + config.name + " is of the family " + config.family +
                 ", which vramfit's own step program does not run; a model of " + others +
                 ", or in vramfit another --runtime");
}

}  // namespace vramfit
