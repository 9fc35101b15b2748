#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/config/hugging_face.h"

namespace vramfit {

/// Keys of a config and what they are to hold, as JSON spells it; empty: the key is left out.
using Keys = std::vector<std::pair<std::string, std::string>>;

/// A small valid config.json of the family, with `keys` in place of what it says: 2 layers, hidden
/// 64, 4 heads (2 for keys and values but in gpt2, phi and gpt_neox), ffn 128 (gpt2: 256), vocab
/// 1000, 128 positions.
std::string config_text(const std::string& family, const Keys& keys = {});

/// That config, read, under the name tiny.
ModelConfig parsed(const std::string& family, const Keys& keys = {});

/// The message with which a config is refused, having checked that it is one line of a length that
/// can be read; empty where it is not refused.
std::string refusal(const std::string& text);

}  // namespace vramfit
