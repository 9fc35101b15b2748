#pragma once

#include <string>
#include <string_view>

// Values as transformers, PEFT and bitsandbytes spell them, and what they are called here.
namespace vramfit::pytorch {

/// "torch.bfloat16"
std::string own_type(std::string_view flag, const std::string& theirs);
/// TrainingArguments.optim's "adamw_bnb_8bit"
std::string own_optimizer(std::string_view flag, const std::string& theirs);
/// Throws BadInput on those of the flash-attn package.
std::string own_attention(std::string_view flag, const std::string& theirs);
/// "32k", as context lengths are called: 32768
std::string own_tokens(std::string_view flag, const std::string& theirs);
/// "q_proj v_proj", as a list is typed; "q_proj, v_proj" stays
std::string own_list(std::string_view flag, const std::string& theirs);

}  // namespace vramfit::pytorch
