#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "runtimes/pytorch/run.h"

namespace vramfit::pytorch {

/// What is done with a model.
using TorchOptions = std::variant<TorchGeneration, TorchTraining>;

/// "sdpa" or "eager"
const char* name(AttentionKind kind);

/// BitsAndBytesConfig by name: "int8", "nf4" or "fp4".
Quantization::Format parse_format(const std::string& text);
const char* name(Quantization::Format format);
/// "bf16"
const char* name(ScalarType type);
ScalarType parse_type(const std::string& text);  ///< of type_names(); throws BadInput on another
std::vector<std::string> type_names();

/// What LoRA can adapt in a layer, by the names that target_modules have.
std::vector<std::string> projection_names(const ModelConfig& config);
/// What PEFT adapts where none are named; nothing: it does not say.
std::vector<std::string> peft_targets(const ModelConfig& config);
/// The same. Throws BadInput where it does not say.
std::vector<std::string> default_lora_targets(const ModelConfig& config);

/// Throws BadInput where the model cannot be run so.
void validate(const ModelConfig& config, const TorchOptions& options);

/// The longest sequence the model takes in such a run, batch and memory apart.
std::int64_t seq_limit(const ModelConfig& config, const TorchOptions& options);

}  // namespace vramfit::pytorch
