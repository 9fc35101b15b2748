#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/llamacpp/base/model.h"

// What types llama-quantize gives a model's tensors (src/llama-quant.cpp), without an importance
// matrix.
namespace vramfit::llamacpp {

// NOLINTBEGIN(readability-identifier-naming): as everybody spells them
/// llama_ftype.
enum class Recipe : std::uint8_t {
  F32,
  F16,
  BF16,
  Q1_0,
  Q2_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q2_K,
  Q2_K_S,
  Q3_K_S,
  Q3_K_M,
  Q3_K_L,
  Q4_K_S,
  Q4_K_M,
  Q5_K_S,
  Q5_K_M,
  Q6_K,
  IQ1_S,
  IQ1_M,
  IQ2_XXS,
  IQ2_XS,
  IQ2_S,
  IQ2_M,
  IQ3_XXS,
  IQ3_XS,
  IQ3_S,
  IQ3_M,
  IQ4_NL,
  IQ4_XS,
  TQ1_0,
  TQ2_0,
  MXFP4_MOE,
};
// NOLINTEND(readability-identifier-naming)

/// All, those that take less first.
const std::vector<Recipe>& recipes();
/// As llama-quantize spells it: "Q4_K_M".
const char* recipe_name(Recipe recipe);
/// The same from what a user typed, in any case, "MXFP4" too. Throws BadInput, which begins with
/// `field` and lists some.
Recipe parse_recipe(std::string_view text, const char* field);

/// Gives each tensor its type: what convert_hf_to_gguf writes, quantised.
void apply(Recipe recipe, const Hparams& hparams, std::vector<ModelTensor>& tensors);

/// Puts tensors in the order of the file that it writes: llama-quantize's own, where it is what
/// writes it.
void order_as_written(Recipe recipe, std::vector<ModelTensor>& tensors);

/// Whether llama-quantize makes none of it without an importance matrix: tensor_requires_imatrix.
bool requires_importance_matrix(Recipe recipe, const std::vector<ModelTensor>& tensors);

}  // namespace vramfit::llamacpp
