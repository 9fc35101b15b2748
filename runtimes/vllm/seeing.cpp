#include "runtimes/vllm/seeing.h"

#include <algorithm>
#include <array>

namespace vramfit::vllm {
namespace {

/// transformers' Gemma3TextConfig, of which published configs say what differs.
constexpr const char* kGemma3 =
    R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "max_position_embeddings": 131072})";

constexpr std::array kSeeing = {
    Seeing{.name = "Qwen2VLForConditionalGeneration",
           .text = "Qwen2ForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Qwen2_5_VLForConditionalGeneration",
           .text = "Qwen2ForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Qwen3VLForConditionalGeneration",
           .text = "Qwen3ForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Qwen3VLMoeForConditionalGeneration",
           .text = "Qwen3MoeForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Qwen3_5ForConditionalGeneration",
           .text = "Qwen3_5ForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Qwen3_5MoeForConditionalGeneration",
           .text = "Qwen3_5MoeForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Gemma3ForConditionalGeneration", .text = "Gemma3ForCausalLM", .usual = kGemma3},
    Seeing{.name = "Mistral3ForConditionalGeneration", .text = "MistralForCausalLM"},
    // Of these the text alone: nothing here knows what sees.
    Seeing{.name = "KimiK25ForConditionalGeneration", .text = "DeepseekV3ForCausalLM"},
    Seeing{.name = "Cohere2VisionForConditionalGeneration", .text = "Cohere2ForCausalLM"},
    Seeing{.name = "Glm4vForConditionalGeneration",
           .text = "Glm4ForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Glm4vMoeForConditionalGeneration",
           .text = "Glm4MoeForCausalLM",
           .rows = 4,
           .videos = true,
           .may_be_whole = true},
    Seeing{.name = "Llama4ForConditionalGeneration",
           .text = "Llama4ForCausalLM",
           .may_be_whole = true},
};

}  // namespace

const Seeing* seeing_named(std::string_view name) {
  const auto* found = std::find_if(kSeeing.begin(), kSeeing.end(),
                                   [&](const Seeing& one) { return one.name == name; });
  return found == kSeeing.end() ? nullptr : found;
}

bool has_tower(const Shape& shape, const Options& options) {
  const bool shown = !options.no_images || (shape.sees_videos && !options.no_videos);
  return shape.sees && !options.text_only && shown;
}

bool shares_tower(const Shape& shape, const Options& options) {
  return !(options.whole_tower && shape.tower_may_be_whole);
}

}  // namespace vramfit::vllm
