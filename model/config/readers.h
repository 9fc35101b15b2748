#pragma once

#include "model/config/json_reader.h"
#include "model/config/model_config.h"

namespace vramfit {

// One reader a family, each in a file of its own. Keys and defaults are those of transformers
// 5.17's configuration_<family>.py; keys that the shape hangs on must be there. What is refused or
// ignored whatever the rest says, key_table.cpp has.

ModelConfig read_llama(const JsonReader& json);
ModelConfig read_mistral(const JsonReader& json);
ModelConfig read_qwen2(const JsonReader& json);
ModelConfig read_gpt2(const JsonReader& json);
ModelConfig read_gemma(const JsonReader& json);
ModelConfig read_phi(const JsonReader& json);
ModelConfig read_gpt_neox(const JsonReader& json);
ModelConfig read_qwen3(const JsonReader& json);
ModelConfig read_olmo2(const JsonReader& json);
ModelConfig read_phi3(const JsonReader& json);
ModelConfig read_granite(const JsonReader& json);
ModelConfig read_gemma2(const JsonReader& json);
ModelConfig read_gemma3(const JsonReader& json);

}  // namespace vramfit
