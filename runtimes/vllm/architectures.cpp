#include "runtimes/vllm/architectures.h"

#include <algorithm>
#include <array>

namespace vramfit::vllm {
namespace {

/// vllm/model_executor/models/registry.py: those whose memory is predicted here. Olmo2 and
/// Starcoder2 run by transformers' own code.
constexpr std::array kArchitectures = {
    Architecture{.name = "LlamaForCausalLM", .frees_up = true, .adapted = Adapted::Head},
    Architecture{.name = "MistralForCausalLM", .frees_up = true},
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
    Architecture{.name = "Olmo2ForCausalLM", .qk_norm = QkNorm::Whole, .frees_up = true},
    Architecture{.name = "Olmo3ForCausalLM", .qk_norm = QkNorm::Whole},
    Architecture{.name = "GraniteForCausalLM", .outlived = 1, .adapted = Adapted::Head},
    Architecture{.name = "GPT2LMHeadModel",
                 .gated = false,
                 .biased = true,
                 .norm_bias = true,
                 .tied = true,
                 .outlived = 3,
                 .adapted = Adapted::Nothing},
    Architecture{
        .name = "PhiForCausalLM", .gated = false, .biased = true, .norm_bias = true, .norms = 1},
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
                 .outlived = 1},
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
    Architecture{.name = "MixtralForCausalLM", .experts = true, .adapted = Adapted::Head},
    Architecture{.name = "Qwen2MoeForCausalLM",
                 .qkv_bias = true,
                 .experts = true,
                 .second_runner = true,
                 .shared_gate = true},
    Architecture{.name = "Qwen3MoeForCausalLM",
                 .qk_norm = QkNorm::Head,
                 .experts = true,
                 .adapted = Adapted::Head},
    Architecture{.name = "OlmoeForCausalLM", .qk_norm = QkNorm::Whole, .experts = true},
    Architecture{.name = "GptOssForCausalLM", .qkv_bias = true, .out_bias = true, .experts = true},
    Architecture{.name = "Glm4MoeForCausalLM", .experts = true},
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
                 .recurrent = Mixing::ShortConvolution},
    Architecture{.name = "GraniteMoeHybridForCausalLM",
                 .experts = true,
                 .outlived = 2,
                 .recurrent = Mixing::Mamba2},
    Architecture{.name = "FalconH1ForCausalLM",
                 .outlived = 2,
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

}  // namespace

const Architecture* architecture_named(std::string_view name) {
  const auto* found = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                   [&](const Architecture& one) { return one.name == name; });
  return found == kArchitectures.end() ? nullptr : found;
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
