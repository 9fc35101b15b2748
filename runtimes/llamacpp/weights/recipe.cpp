#include "runtimes/llamacpp/weights/recipe.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>

#include "model/errors.h"
#include "runtimes/llamacpp/weights/tensor_names.h"
#include "runtimes/llamacpp/weights/type_choice.h"

namespace vramfit::llamacpp {
namespace {

struct Row {
  Recipe recipe;
  const char* name;
  const char* type;  ///< llama_ftype_get_default_type
};

constexpr std::array kRows = {
    Row{Recipe::IQ1_S, "IQ1_S", "iq1_s"},
    Row{Recipe::Q1_0, "Q1_0", "q1_0"},
    Row{Recipe::TQ1_0, "TQ1_0", "tq1_0"},
    Row{Recipe::IQ1_M, "IQ1_M", "iq1_m"},
    Row{Recipe::IQ2_XXS, "IQ2_XXS", "iq2_xxs"},
    Row{Recipe::TQ2_0, "TQ2_0", "tq2_0"},
    Row{Recipe::Q2_0, "Q2_0", "q2_0"},
    Row{Recipe::IQ2_XS, "IQ2_XS", "iq2_xs"},
    Row{Recipe::IQ2_S, "IQ2_S", "iq2_xs"},
    Row{Recipe::IQ2_M, "IQ2_M", "iq2_s"},
    Row{Recipe::Q2_K_S, "Q2_K_S", "q2_K"},
    Row{Recipe::Q2_K, "Q2_K", "q2_K"},
    Row{Recipe::IQ3_XXS, "IQ3_XXS", "iq3_xxs"},
    Row{Recipe::IQ3_XS, "IQ3_XS", "iq3_s"},
    Row{Recipe::Q3_K_S, "Q3_K_S", "q3_K"},
    Row{Recipe::IQ3_S, "IQ3_S", "iq3_s"},
    Row{Recipe::IQ3_M, "IQ3_M", "iq3_s"},
    Row{Recipe::Q3_K_M, "Q3_K_M", "q3_K"},
    Row{Recipe::Q3_K_L, "Q3_K_L", "q3_K"},
    Row{Recipe::IQ4_XS, "IQ4_XS", "iq4_xs"},
    Row{Recipe::IQ4_NL, "IQ4_NL", "iq4_nl"},
    Row{Recipe::MXFP4_MOE, "MXFP4_MOE", "mxfp4"},
    Row{Recipe::Q4_0, "Q4_0", "q4_0"},
    Row{Recipe::Q4_K_S, "Q4_K_S", "q4_K"},
    Row{Recipe::Q4_K_M, "Q4_K_M", "q4_K"},
    Row{Recipe::Q4_1, "Q4_1", "q4_1"},
    Row{Recipe::Q5_0, "Q5_0", "q5_0"},
    Row{Recipe::Q5_K_S, "Q5_K_S", "q5_K"},
    Row{Recipe::Q5_K_M, "Q5_K_M", "q5_K"},
    Row{Recipe::Q5_1, "Q5_1", "q5_1"},
    Row{Recipe::Q6_K, "Q6_K", "q6_K"},
    Row{Recipe::Q8_0, "Q8_0", "q8_0"},
    Row{Recipe::F16, "F16", "fp16"},
    Row{Recipe::BF16, "BF16", "bf16"},
    Row{Recipe::F32, "F32", "fp32"},
};

const Row& row_of(Recipe recipe) {
  return *std::find_if(kRows.begin(), kRows.end(),
                       [recipe](const Row& row) { return row.recipe == recipe; });
}

/// As convert_hf_to_gguf stores it where the rest is in 16 bits: prepare_tensors of
/// conversion/base.py.
Format source_type(const ModelTensor& tensor) {
  const bool plain = tensor.dims() < 2 || !ends_with(tensor.name, ".weight") ||
                     ends_with(tensor.name, "_norm.weight") ||
                     contains(tensor.name, "ffn_gate_inp") || contains(tensor.name, "ssm_conv1d") ||
                     contains(tensor.name, "shortconv.conv");
  return plain ? DType::Fp32 : DType::Fp16;
}

/// tensor_allows_quantization.
bool allows_quantization(const ModelTensor& tensor) {
  return tensor.dims() >= 2 && ends_with(tensor.name, "weight") &&
         !contains(tensor.name, "_norm.weight") && !contains(tensor.name, "ffn_gate_inp.weight") &&
         !contains(tensor.name, "per_layer_model_proj") && !contains(tensor.name, "ssm_conv1d") &&
         !contains(tensor.name, "shortconv.conv.weight");
}

/// llama-quantize's order, in which its counters count: weight_name_comparer.
std::vector<std::size_t> by_layer_and_name(const std::vector<ModelTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::int64_t> layers;
  for (const ModelTensor& tensor : tensors) layers.push_back(layer_of(tensor.name));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return layers[a] != layers[b] ? layers[a] < layers[b] : tensors[a].name < tensors[b].name;
  });
  return order;
}

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> result;
    for (const Row& row : kRows) result.push_back(row.recipe);
    return result;
  }();
  return all;
}

const char* recipe_name(Recipe recipe) { return row_of(recipe).name; }

Recipe parse_recipe(std::string_view text, const char* field) {
  std::string upper;
  for (const char c : text) {
    upper.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  if (upper == "MXFP4") upper = "MXFP4_MOE";
  if (upper == "Q3_K" || upper == "Q4_K" || upper == "Q5_K") upper += "_M";
  for (const Row& row : kRows) {
    if (upper == row.name) return row.recipe;
  }
  throw BadInput(std::string(field) + ": unknown '" + shortened(text, 24) +
                 "'; Q4_K_M, Q5_K_M, Q6_K, Q8_0, Q4_0, IQ4_XS, Q3_K_M, Q2_K, MXFP4, F16, BF16, …");
}

void apply(Recipe recipe, const Hparams& hparams, std::vector<ModelTensor>& tensors) {
  const Format type = *Format::named(row_of(recipe).type);
  TypeChoice choice(recipe, type, hparams, tensors);
  for (const std::size_t i : by_layer_and_name(tensors)) {
    ModelTensor& tensor = tensors[i];
    tensor.type = recipe == Recipe::F32 ? Format(DType::Fp32) : source_type(tensor);
    if (!allows_quantization(tensor)) continue;
    tensor.type = is_quantized(type) ? choice.of(tensor) : type;
  }
}

void order_as_written(Recipe recipe, std::vector<ModelTensor>& tensors) {
  if (!is_quantized(*Format::named(row_of(recipe).type))) return;  // by convert_hf_to_gguf
  std::vector<ModelTensor> ordered;
  for (const std::size_t i : by_layer_and_name(tensors)) ordered.push_back(std::move(tensors[i]));
  tensors = std::move(ordered);
}

bool requires_importance_matrix(Recipe recipe, const std::vector<ModelTensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [recipe](const ModelTensor& tensor) {
    if (is_embedding(tensor.name) || tensor.name == "output.weight") return false;
    const std::string_view type = tensor.type.name();
    return type == "iq3_xxs" || type == "iq2_xxs" || type == "iq2_xs" || type == "iq2_s" ||
           type == "iq1_m" || type == "iq1_s" || (type == "q2_K" && recipe == Recipe::Q2_K_S);
  });
}

}  // namespace vramfit::llamacpp
