#include "runtimes/vllm/architectures.h"

#include <algorithm>
#include <array>

namespace vramfit::vllm {
namespace {

/// vllm/model_executor/models/registry.py: those whose memory is predicted here. Olmo2, SmolLM3 and
/// Starcoder2 run by transformers' own code.
constexpr std::array kDense = {
    Architecture{.name = "LlamaForCausalLM",
                 .out_bias_too = true,
                 .frees_up = true,
                 .adapted = Adapted::Head},
    Architecture{.name = "MistralForCausalLM", .out_bias_too = true, .frees_up = true},
    Architecture{.name = "Qwen2ForCausalLM", .qkv_bias = true, .outlived = 1},
    Architecture{.name = "Qwen3ForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .outlived = 1,
                 .adapted = Adapted::HeadTwice},
    Architecture{.name = "GemmaForCausalLM", .tied = true, .outlived = 2},
    Architecture{
        .name = "Gemma2ForCausalLM", .tied = true, .pattern = 2, .norms = 4, .outlived = 2},
    Architecture{.name = "Gemma3ForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .tied = true,
                 .pattern = 6,
                 .norms = 4,
                 .outlived = 2},
    Architecture{
        .name = "Phi3ForCausalLM", .fused = true, .frees_up = true, .adapted = Adapted::Head},
    Architecture{.name = "Olmo2ForCausalLM",
                 .qk_norm = QkNorm::Whole,
                 .by_transformers = true,
                 .frees_up = true},
    Architecture{.name = "Olmo3ForCausalLM", .qk_norm = QkNorm::Whole},
    Architecture{.name = "GraniteForCausalLM",
                 .out_bias_too = true,
                 .outlived = 1,
                 .adapted = Adapted::Head},
    Architecture{.name = "SmolLM3ForCausalLM",
                 .tied = true,
                 .outlived = 1,
                 .by_transformers = true,
                 .frees_up = true},
    Architecture{.name = "SeedOssForCausalLM", .qkv_bias = true, .outlived = 1},
    Architecture{.name = "Exaone4ForCausalLM",
                 .out_bias_too = true,
                 .qk_norm = QkNorm::Head,
                 .outlived = 1,
                 .adapted = Adapted::Head},
    Architecture{.name = "Ernie4_5ForCausalLM", .frees_up = true, .adapted = Adapted::Head},
    Architecture{.name = "HunYuanDenseV1ForCausalLM",
                 .out_bias_too = true,
                 .qk_norm = QkNorm::Head,
                 .may_norm = true,
                 .outlived = 1,
                 .hands_on = true},
    Architecture{.name = "InternLM2ForCausalLM", .outlived = 1},
    Architecture{
        .name = "GlmForCausalLM", .rotated = 0.5, .frees_up = true, .adapted = Adapted::Head},
    Architecture{.name = "Glm4ForCausalLM", .rotated = 0.5, .norms = 4, .frees_up = true},
    Architecture{.name = "NemotronForCausalLM",
                 .gated = false,
                 .out_bias_too = true,
                 .norm_bias = true,
                 .outlived = 2,
                 .adapted = Adapted::Head},
    Architecture{
        .name = "ArceeForCausalLM", .gated = false, .out_bias_too = true, .adapted = Adapted::Head},
    Architecture{.name = "GPT2LMHeadModel",
                 .gated = false,
                 .biased = true,
                 .norm_bias = true,
                 .tied = true,
                 .outlived = 3,
                 .adapted = Adapted::Nothing},
    Architecture{.name = "PhiForCausalLM",
                 .gated = false,
                 .biased = true,
                 .head_bias = true,
                 .norm_bias = true,
                 .norms = 1},
    Architecture{.name = "GPTNeoXForCausalLM",
                 .gated = false,
                 .biased = true,
                 .norm_bias = true,
                 .outlived = 1,
                 .adapted = Adapted::Nothing},
    Architecture{.name = "FalconForCausalLM",
                 .gated = false,
                 .norm_bias = true,
                 .tied = true,
                 .adapted = Adapted::Nothing},
    Architecture{.name = "Starcoder2ForCausalLM",
                 .gated = false,
                 .biased = true,
                 .norm_bias = true,
                 .tied = true,
                 .outlived = 1,
                 .by_transformers = true},
    Architecture{.name = "CohereForCausalLM",
                 .tied = true,
                 .norms = 1,
                 .outlived = 2,
                 .adapted = Adapted::Embedding},
    Architecture{.name = "Cohere2ForCausalLM",
                 .tied = true,
                 .pattern = 4,
                 .norms = 1,
                 .outlived = 2,
                 .adapted = Adapted::Embedding},
};

constexpr std::array kMixtures = {
    Architecture{.name = "MixtralForCausalLM", .experts = true, .adapted = Adapted::Head},
    Architecture{.name = "Qwen2MoeForCausalLM",
                 .qkv_bias = true,
                 .experts = true,
                 .second_runner = true,
                 .shared_gate = true},
    Architecture{.name = "Qwen3MoeForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .experts = true,
                 .router_stored = true,
                 .adapted = Adapted::Head},
    Architecture{.name = "OlmoeForCausalLM", .qk_norm = QkNorm::Whole, .experts = true},
    Architecture{.name = "GptOssForCausalLM", .qkv_bias = true, .out_bias = true, .experts = true},
    Architecture{.name = "Glm4MoeForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .may_norm = true,
                 .experts = true,
                 .router_in_fp32 = true},
    Architecture{.name = "GraniteMoeForCausalLM",
                 .experts = true,
                 .tied = true,
                 .adapted = Adapted::Head,
                 .second_runner = true},
    Architecture{.name = "PhiMoEForCausalLM",
                 .qkv_bias = true,
                 .out_bias = true,
                 .head_bias = true,
                 .norm_bias = true,
                 .experts = true,
                 .outlived_attending = 1,
                 .adapted = Adapted::Head},
    Architecture{.name = "MiniMaxM2ForCausalLM",
                 .qk_norm = QkNorm::WholeInFp32,
                 .experts = true,
                 .router_in_fp32 = true},
    Architecture{.name = "Ernie4_5_MoeForCausalLM", .experts = true, .router_in_fp32 = true},
    Architecture{.name = "HunYuanMoEV1ForCausalLM",
                 .out_bias_too = true,
                 .qk_norm = QkNorm::Head,
                 .may_norm = true,
                 .experts = true,
                 .hands_on = true},
    Architecture{.name = "BailingMoeForCausalLM",
                 .out_bias_too = true,
                 .qk_norm = QkNorm::Head,
                 .may_norm = true,
                 .experts = true},
    Architecture{.name = "Lfm2MoeForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .experts = true,
                 .router_stored = true,
                 .tied = true,
                 .adapted = Adapted::Head,
                 .recurrent = Mixing::ShortConvolution},
    Architecture{.name = "Glm4MoeLiteForCausalLM", .experts = true},
    Architecture{.name = "Llama4ForCausalLM",
                 .qk_norm = QkNorm::Bare,
                 .may_norm = true,
                 .experts = true,
                 .frees_up = true},
    Architecture{.name = "DeepseekV2ForCausalLM", .experts = true, .second_runner = true},
    Architecture{.name = "DeepseekV3ForCausalLM", .experts = true},
    Architecture{.name = "Qwen3NextForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .experts = true,
                 .recurrent = Mixing::DeltaNet,
                 .gated_attention = true,
                 .shared_gate = true},
    Architecture{.name = "Lfm2ForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .tied = true,
                 .outlived = 1,
                 .adapted = Adapted::Head,
                 .recurrent = Mixing::ShortConvolution},
    Architecture{.name = "GraniteMoeHybridForCausalLM",
                 .out_bias_too = true,
                 .experts = true,
                 .outlived = 2,
                 .frees_up = true,
                 .adapted = Adapted::Head,
                 .recurrent = Mixing::Mamba2},
    Architecture{.name = "Qwen3_5ForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .outlived = 2,
                 .sums_elsewhere = true,
                 .recurrent = Mixing::DeltaNet,
                 .gated_attention = true},
    Architecture{.name = "Qwen3_5MoeForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .experts = true,
                 .outlived = 2,
                 .sums_elsewhere = true,
                 .recurrent = Mixing::DeltaNet,
                 .gated_attention = true,
                 .shared_gate = true},
    Architecture{.name = "Mamba2ForCausalLM",
                 .gated = false,
                 .tied = true,
                 .norms = 1,
                 .adapted = Adapted::Nothing,
                 .recurrent = Mixing::Mamba2,
                 .one_each = true,
                 .rotates = false},
    Architecture{.name = "NemotronHForCausalLM",
                 .gated = false,
                 .experts = true,
                 .norms = 1,
                 .adapted = Adapted::Head,
                 .recurrent = Mixing::Mamba2,
                 .one_each = true,
                 .rotates = false,
                 .matrices_in_fp32 = true},
    Architecture{.name = "FalconH1ForCausalLM",
                 .outlived = 2,
                 .frees_up = true,
                 .adapted = Adapted::Head,
                 .recurrent = Mixing::Mamba2,
                 .state_in_each = true},
};

constexpr std::array kFamilies = {
    Family{"llama", "LlamaForCausalLM"},
    Family{"mistral", "MistralForCausalLM"},
    Family{"qwen2", "Qwen2ForCausalLM"},
    Family{"qwen3", "Qwen3ForCausalLM"},
    Family{"gemma", "GemmaForCausalLM"},
    Family{"gemma2", "Gemma2ForCausalLM"},
    Family{"gemma3_text", "Gemma3ForCausalLM"},
    Family{"gpt2", "GPT2LMHeadModel"},
    Family{"phi", "PhiForCausalLM"},
    Family{"phi3", "Phi3ForCausalLM"},
    Family{"gpt_neox", "GPTNeoXForCausalLM"},
    Family{"olmo2", "Olmo2ForCausalLM"},
    Family{"granite", "GraniteForCausalLM"},
};

/// Classes that are another one's by another name.
struct Alias {
  std::string_view name;
  std::string_view is;
};

constexpr std::array kAliases = {
    Alias{"LLaMAForCausalLM", "LlamaForCausalLM"},
    Alias{"InternLM3ForCausalLM", "LlamaForCausalLM"},
    Alias{"CwmForCausalLM", "LlamaForCausalLM"},
    Alias{"IQuestCoderForCausalLM", "LlamaForCausalLM"},
    Alias{"TeleChat3ForCausalLM", "LlamaForCausalLM"},
    Alias{"Ministral3ForCausalLM", "MistralForCausalLM"},
    Alias{"MiMoForCausalLM", "Qwen2ForCausalLM"},
    Alias{"RWForCausalLM", "FalconForCausalLM"},
};

struct Dropped {
  std::string_view name;
  std::string_view last;
};

constexpr std::array kDropped = {
    Dropped{"BambaForCausalLM", "0.23"},
    Dropped{"BaichuanForCausalLM", "0.23"},
    Dropped{"BaiChuanForCausalLM", "0.23"},
    Dropped{"Dots1ForCausalLM", "0.23"},
    Dropped{"InternLMForCausalLM", "0.23"},
    Dropped{"MiniMaxM1ForCausalLM", "0.23"},
    Dropped{"MiniMaxForCausalLM", "0.23"},
    Dropped{"MiniMaxText01ForCausalLM", "0.23"},
    Dropped{"QWenLMHeadModel", "0.23"},
    Dropped{"XverseForCausalLM", "0.23"},
    Dropped{"AquilaForCausalLM", "0.24"},
    Dropped{"Grok1ForCausalLM", "0.24"},
    Dropped{"PersimmonForCausalLM", "0.25"},
    Dropped{"TeleChatForCausalLM", "0.25"},
    Dropped{"Phi3SmallForCausalLM", "0.9"},
    Dropped{"Phi4FlashForCausalLM", "0.10"},
    Dropped{"MllamaForConditionalGeneration", "0.10"},
};

template <typename Rows>
const Architecture* found_in(const Rows& rows, std::string_view name) {
  const auto* found = std::find_if(rows.begin(), rows.end(),
                                   [&](const Architecture& one) { return one.name == name; });
  return found == rows.end() ? nullptr : found;
}

}  // namespace

const Architecture* architecture_named(std::string_view name) {
  const auto* alias = std::find_if(kAliases.begin(), kAliases.end(),
                                   [&](const Alias& one) { return one.name == name; });
  const std::string_view is = alias == kAliases.end() ? name : alias->is;
  const Architecture* dense = found_in(kDense, is);
  return dense == nullptr ? found_in(kMixtures, is) : dense;
}

std::string_view last_release_of(std::string_view name) {
  const auto* found = std::find_if(kDropped.begin(), kDropped.end(),
                                   [&](const Dropped& one) { return one.name == name; });
  return found == kDropped.end() ? std::string_view() : found->last;
}

const Architecture* layers_of_head(std::string_view name) {
  constexpr std::array<std::string_view, 4> kOfLlama = {"LlamaForCausalLM", "EagleLlamaForCausalLM",
                                                        "LlamaForCausalLMEagle3",
                                                        "Eagle3LlamaForCausalLM"};
  const bool found = std::find(kOfLlama.begin(), kOfLlama.end(), name) != kOfLlama.end();
  return found ? architecture_named(kOfLlama.front()) : nullptr;
}

const Family* family_of(std::string_view type) {
  const auto* found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                   [&](const Family& one) { return one.type == type; });
  return found == kFamilies.end() ? nullptr : found;
}

}  // namespace vramfit::vllm
