#include "runtimes/llamacpp/weights/type_choice.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/llamacpp/weights/tensor_names.h"

namespace vramfit::llamacpp {
namespace {

consteval Format named(const char* name) { return *Format::named(name); }

/// tensor_get_category.
Category category_of(const std::string& name) {
  if (name == "output.weight") return Category::Output;
  if (is_embedding(name)) return Category::Embedding;
  if (contains(name, "attn_qkv.weight")) return Category::Qkv;
  if (contains(name, "attn_kv_b.weight")) return Category::KvB;
  if (contains(name, "attn_v.weight")) return Category::V;
  if (contains(name, "attn_k.weight")) return Category::K;
  if (contains(name, "attn_q.weight")) return Category::Q;
  if (contains(name, "attn_output.weight")) return Category::AttentionOutput;
  if (contains(name, "ffn_up")) return Category::FfnUp;
  if (contains(name, "ffn_gate")) return Category::FfnGate;
  if (contains(name, "ffn_down")) return Category::FfnDown;
  return Category::Other;
}

/// category_is_attn_v.
bool holds_values(Category category) {
  return category == Category::V || category == Category::Qkv || category == Category::KvB;
}

/// The first eighth, the last, and every third between.
bool use_more_bits(std::int64_t i, std::int64_t all) {
  return i < all / 8 || i >= 7 * all / 8 || (i - all / 8) % 3 == 2;
}

/// LLM_TYPE_70B, by which alone heads of values are told that eight others share.
bool is_70b(const Hparams& h) {
  if (h.run_layers() != 80) return false;
  const Layer& first = h.layers.front();
  return h.arch == "qwen2" ||
         (h.arch == "llama" && h.experts != 8 && first.heads != first.kv_heads);
}

/// tensor_type_fallback: what rows have whole blocks of.
Format fallback(Format type, std::int64_t columns) {
  if (columns % type.row().block == 0) return type;
  const std::string_view name = type.name();
  Format other = type;
  if (name.substr(0, 2) == "iq") other = named("iq4_nl");
  if (name == "q2_0" || name == "q2_K" || name == "q3_K" || name == "tq1_0" || name == "tq2_0") {
    other = named("q4_0");
  }
  if (name == "q4_K") other = named("q5_0");
  if (name == "q5_K") other = named("q5_1");
  if (name == "q6_K") other = named("q8_0");
  if (name == "q1_0") {
    throw BadInput("quant: llama-quantize makes no Q1_0 of rows of " + std::to_string(columns) +
                   "; another recipe");
  }
  return columns % other.row().block == 0 ? other : Format(DType::Fp16);
}

}  // namespace

TypeChoice::TypeChoice(Recipe recipe, Format type, const Hparams& hparams,
                       const std::vector<ModelTensor>& tensors)
    : recipe_(recipe),
      type_(type),
      hparams_(hparams),
      tied_(true),
      falcon_(hparams.arch == "falcon"),
      group_(0) {
  const auto layers = static_cast<std::int64_t>(hparams.layers.size());
  down_.all = gate_.all = up_.all = layers;
  for (const ModelTensor& tensor : tensors) {
    const Category category = category_of(tensor.name);
    if (holds_values(category)) ++values_.all;
    if (category == Category::Output) tied_ = false;
  }
  const Layer& first = hparams.layers.front();
  if (first.kv_heads > 0) group_ = first.heads / first.kv_heads;
}

bool TypeChoice::is(std::initializer_list<Recipe> recipes) const {
  return std::find(recipes.begin(), recipes.end(), recipe_) != recipes.end();
}

TypeChoice::Counter TypeChoice::layer(const Counter& counter, const ModelTensor& tensor) const {
  return {hparams_.experts > 1 ? layer_of(tensor.name) : counter.next, counter.all};
}

Format TypeChoice::of(const ModelTensor& tensor) {
  return fallback(chosen(tensor, category_of(tensor.name)), tensor.ne[0]);
}

/// llama_tensor_get_type_impl.
Format TypeChoice::chosen(const ModelTensor& tensor, Category category) {
  if (category == Category::Output || (tied_ && category == Category::Embedding)) {
    return of_output(tensor);
  }
  if (recipe_ == Recipe::MXFP4_MOE) return tensor.ne[2] > 1 ? named("mxfp4") : named("q8_0");
  if (category == Category::Embedding) return of_embedding();
  if (is({Recipe::IQ2_XXS, Recipe::IQ2_XS, Recipe::IQ1_S, Recipe::IQ2_S, Recipe::IQ2_M,
          Recipe::IQ1_M})) {
    return of_two_bits(category);
  }
  if (holds_values(category)) return of_values();
  switch (category) {
    case Category::K:
      return of_keys();
    case Category::Q:
      return of_queries();
    case Category::FfnDown:
      return of_down(tensor);
    case Category::AttentionOutput:
      return of_attention_output();
    case Category::FfnGate:
      return of_gate_or_up(gate_, tensor);
    case Category::FfnUp:
      return of_gate_or_up(up_, tensor);
    default:
      return type_;
  }
}

Format TypeChoice::of_output(const ModelTensor& tensor) const {
  if (recipe_ == Recipe::MXFP4_MOE || falcon_ || tensor.ne[0] % type_.row().block != 0) {
    return named("q8_0");
  }
  if (is({Recipe::IQ2_XXS, Recipe::IQ2_XS, Recipe::IQ3_XXS, Recipe::IQ1_S, Recipe::IQ2_S,
          Recipe::IQ2_M, Recipe::IQ1_M})) {
    return named("q5_K");
  }
  return type_ == named("q8_0") ? type_ : named("q6_K");
}

Format TypeChoice::of_embedding() const {
  if (is({Recipe::IQ2_XXS, Recipe::IQ2_XS, Recipe::IQ1_S, Recipe::IQ1_M})) return named("q2_K");
  if (is({Recipe::IQ2_S, Recipe::IQ2_M, Recipe::IQ3_XXS})) return named("iq3_s");
  if (is({Recipe::TQ1_0, Recipe::TQ2_0, Recipe::Q2_0})) return named("q4_K");
  return type_;
}

Format TypeChoice::of_two_bits(Category category) {
  const bool larger = is({Recipe::IQ2_S, Recipe::IQ2_M});
  const Format above = larger ? named("iq3_s") : named("q2_K");
  if (holds_values(category)) {
    ++values_.next;
    return group_ >= 4 || hparams_.experts >= 4 ? named("q4_K") : above;
  }
  if (category == Category::K && more_experts()) return named("q4_K");
  if (category == Category::FfnDown) return down_.next++ < down_.all / 8 ? above : type_;
  if (category == Category::AttentionOutput) {
    if (more_experts()) return named("q5_K");
    if (is({Recipe::IQ1_S, Recipe::IQ1_M})) return named("iq2_xxs");
    if (larger) return named("iq3_s");
  }
  return type_;
}

Format TypeChoice::of_values() {
  const Counter at = values_;
  ++values_.next;
  if (more_experts()) return named("q8_0");
  const Format type = of_values_by_recipe(at);
  const bool few = type == named("q3_K") || type == named("q4_K");
  return is_70b(hparams_) && few ? named("q5_K") : type;
}

Format TypeChoice::of_values_by_recipe(const Counter& at) const {
  const bool grouped = group_ >= 4;
  if (recipe_ == Recipe::Q2_K) return grouped ? named("q4_K") : named("q3_K");
  if (recipe_ == Recipe::IQ3_XXS) return grouped ? named("q4_K") : named("iq3_s");
  if (recipe_ == Recipe::IQ3_M) return named("q4_K");
  if (recipe_ == Recipe::Q3_K_M) return at.next < 2 ? named("q5_K") : named("q4_K");
  if (recipe_ == Recipe::Q3_K_L) return named("q5_K");
  if (is({Recipe::Q2_K_S, Recipe::IQ3_XS, Recipe::IQ3_S}) && grouped) return named("q4_K");
  if (is({Recipe::IQ4_NL, Recipe::IQ4_XS}) && grouped) return named("q5_K");
  const bool more = use_more_bits(at.next, at.all);
  if (is({Recipe::Q4_K_M, Recipe::Q5_K_M}) && more) return named("q6_K");
  return recipe_ == Recipe::Q4_K_S && at.next < 4 ? named("q5_K") : type_;
}

Format TypeChoice::of_keys() const { return more_experts() ? named("q8_0") : of_queries(); }

Format TypeChoice::of_queries() const {
  if (recipe_ == Recipe::IQ3_XS) return named("iq3_xxs");
  return recipe_ == Recipe::IQ3_XXS ? named("iq2_s") : type_;
}

Format TypeChoice::of_down(const ModelTensor& tensor) {
  const auto [i, all] = layer(down_, tensor);
  ++down_.next;
  const bool first_eighth = i < all / 8;
  switch (recipe_) {
    case Recipe::Q2_K:
      return named("q3_K");
    case Recipe::Q2_K_S:
      return first_eighth ? named("q4_K") : type_;
    case Recipe::IQ3_XXS:
      return first_eighth ? named("q4_K") : named("q3_K");
    case Recipe::Q3_K_M:
      if (i < all / 16) return named("q5_K");
      return !falcon_ || use_more_bits(i, all) ? named("q4_K") : named("q3_K");
    case Recipe::IQ3_M:
      return first_eighth || (more_experts() && use_more_bits(i, all)) ? named("q4_K") : type_;
    case Recipe::Q3_K_L:
      return falcon_ ? named("q4_K") : named("q5_K");
    case Recipe::Q4_K_M:
      if (!use_more_bits(i, all)) return named("q4_K");
      return falcon_ && i >= all / 16 ? named("q5_K") : named("q6_K");
    case Recipe::IQ4_NL:
    case Recipe::IQ4_XS:
      return first_eighth ? named("q5_K") : type_;
    case Recipe::Q5_K_M:
      return use_more_bits(i, all) ? named("q6_K") : type_;
    case Recipe::Q4_K_S:
      return first_eighth && !falcon_ ? named("q5_K") : type_;
    default:
      return type_;
  }
}

Format TypeChoice::of_attention_output() const {
  if (falcon_) return recipe_ == Recipe::Q3_K_L ? named("q4_K") : type_;
  if (more_experts()) {
    return is({Recipe::Q2_K, Recipe::IQ3_XS, Recipe::IQ3_XXS, Recipe::Q3_K_S, Recipe::Q3_K_M,
               Recipe::IQ4_NL, Recipe::Q4_K_S, Recipe::Q4_K_M, Recipe::IQ3_S, Recipe::IQ3_M,
               Recipe::IQ4_XS})
               ? named("q5_K")
               : type_;
  }
  if (recipe_ == Recipe::Q2_K) return named("q3_K");
  if (recipe_ == Recipe::IQ3_XXS) return named("iq3_s");
  if (is({Recipe::Q3_K_M, Recipe::IQ3_M})) return named("q4_K");
  return recipe_ == Recipe::Q3_K_L ? named("q5_K") : type_;
}

Format TypeChoice::of_gate_or_up(Counter& counter, const ModelTensor& tensor) {
  const auto [i, all] = layer(counter, tensor);
  ++counter.next;
  const bool middle = i >= all / 8 && i < 7 * all / 8;
  return recipe_ == Recipe::IQ3_XS && middle ? named("iq3_xxs") : type_;
}

}  // namespace vramfit::llamacpp
