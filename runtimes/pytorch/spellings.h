#pragma once

#include <string>
#include <string_view>

// Values as transformers, PEFT and bitsandbytes spell them, and what they are called here.
namespace vramfit::pytorch {

/// "torch.bfloat16"
std::string canonical_type(std::string_view flag, const std::string& alias);
/// TrainingArguments.optim's "adamw_bnb_8bit"
std::string canonical_optimizer(std::string_view flag, const std::string& alias);
/// Throws BadInput on those of the flash-attn package.
std::string canonical_attention(std::string_view flag, const std::string& alias);
/// "32k", as context lengths are called: 32768
std::string canonical_tokens(std::string_view flag, const std::string& alias);
/// "q_proj v_proj", as a list is typed; "q_proj, v_proj" stays
std::string canonical_list(std::string_view flag, const std::string& alias);

}  // namespace vramfit::pytorch
