#pragma once

#include <optional>
#include <vector>

#include "model/config/json_reader.h"
#include "model/config/model_config.h"

namespace vramfit {

// Keys that several families share.

/// Hidden size and heads. Heads are `head_dim` wide where the file does not say; absent: hidden
/// size / heads.
void read_heads(const JsonReader& json, ModelConfig& config, const char* hidden_key,
                const char* heads_key, std::optional<std::int64_t> head_dim = std::nullopt);

/// num_key_value_heads: as many as heads where it is null, or left out in a family that
/// `may_leave_out`; elsewhere transformers' default is a number of its own, so it must be given.
void read_kv_heads(const JsonReader& json, ModelConfig& config, bool may_leave_out);

/// num_hidden_layers, intermediate_size, vocab_size, max_position_embeddings.
void read_sizes(const JsonReader& json, ModelConfig& config, std::int64_t default_positions);

void read_norm(const JsonReader& json, ModelConfig& config, NormKind kind, const char* eps_key,
               double default_eps);

/// The activation by Hugging Face's name, the first of `valid` where it is left out.
void read_activation(const JsonReader& json, ModelConfig& config, ActivationKind kind,
                     const char* key, const std::vector<const char*>& valid);

/// A dropout's rate.
double read_rate(const JsonReader& json, const char* key, double fallback = 0.0);

}  // namespace vramfit
