#include "runtimes/pytorch/options.h"

#include <algorithm>

#include "model/errors.h"
#include "model/transformer/sizes.h"
#include "runtimes/pytorch/modules/causal_lm.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kMaxRank = 4096;

std::int64_t positions_of(const ModelConfig& config) {
  return config.learned_positions() ? std::min(config.max_positions, kMaxSeq) : kMaxSeq;
}

/// qwen2 slides in some layers only, each kind with a mask of its own: not modelled. One token
/// short of its window nothing slides, and no mask is made for it.
std::optional<std::int64_t> unmodelled_window(const ModelConfig& config) {
  return config.family == "qwen2" ? config.sliding_window : std::nullopt;
}

void require_below_window(const ModelConfig& config, std::int64_t positions) {
  const std::optional<std::int64_t> window = unmodelled_window(config);
  if (!window || positions < *window) return;
  throw BadInput("use_sliding_window: " + std::to_string(positions) + " tokens reach " +
                 config.name + "'s window of " + std::to_string(*window) +
                 ", and qwen2's sliding layers are not supported; fewer tokens, or false");
}

void require_sizes(const ModelConfig& config, DType precision, std::int64_t batch,
                   std::int64_t seq) {
  if (precision == DType::Fp64) {
    throw BadInput("precision: fp64 is for tests on the CPU; fp32, fp16 or bf16");
  }
  vramfit::require_sizes(batch, seq);
  require_below_window(config, seq);
  if (seq <= positions_of(config)) return;
  throw BadInput("seq: " + std::to_string(seq) + " tokens; " + config.name + " takes at most " +
                 std::to_string(positions_of(config)));
}

/// A prompt that has room by itself, but not with the new tokens.
void require_room(const ModelConfig& config, const GenerationOptions& options) {
  require_size("generate", options.generate, kMaxSeq);
  const std::int64_t needed = options.seq + options.generate - 1;
  require_below_window(config, needed);
  if (needed <= positions_of(config)) return;
  throw BadInput("generate: a prompt of " + std::to_string(options.seq) + " and " +
                 std::to_string(options.generate) + " new tokens need " + std::to_string(needed) +
                 " positions; " + config.name + " takes " + std::to_string(positions_of(config)));
}

void require_lora(const ModelConfig& config, const LoraOptions& lora) {
  require_size("lora", lora.rank, kMaxRank);
  const std::vector<std::string> known = projection_names(config);
  for (const std::string& target : lora.targets) {
    if (std::find(known.begin(), known.end(), target) != known.end()) continue;
    std::string list;
    for (const std::string& name : known) list.append(list.empty() ? "" : ", ").append(name);
    throw BadInput("lora-targets: " + config.family + " has no '" + target + "'; of " + list);
  }
}

}  // namespace

AttentionKind parse_attention(const std::string& text) {
  if (text == "sdpa") return AttentionKind::Sdpa;
  if (text == "eager") return AttentionKind::Eager;
  throw BadInput("attention: unknown '" + text + "' under --runtime pytorch; sdpa or eager");
}

const char* name(AttentionKind kind) { return kind == AttentionKind::Sdpa ? "sdpa" : "eager"; }

std::vector<std::string> default_lora_targets(const std::string& family) {
  if (family == "gpt2") return {"c_attn"};
  if (family == "gpt_neox") return {"query_key_value"};
  if (family == "phi") return {"q_proj", "v_proj", "fc1", "fc2"};
  return {"q_proj", "v_proj"};
}

void validate(const ModelConfig& config, const Options& options) {
  std::visit([&](const auto& o) { require_sizes(config, o.precision, o.batch, o.seq); }, options);
  if (const auto* generation = std::get_if<GenerationOptions>(&options)) {
    require_room(config, *generation);
    return;
  }
  const auto& training = std::get<TrainingOptions>(options);
  require_size("accumulate", training.accumulate, kMaxAccumulate);
  if (training.autocast && training.precision != DType::Fp32) {
    throw BadInput("autocast: is for fp32 weights; --precision fp32, or no --autocast");
  }
  if (training.autocast && !is_16_bit(*training.autocast)) {
    throw BadInput("autocast: bf16 or fp16");
  }
  if (training.lora) require_lora(config, *training.lora);
}

std::int64_t seq_limit(const ModelConfig& config, const Options& options) {
  std::int64_t positions = positions_of(config);
  if (const auto window = unmodelled_window(config)) positions = std::min(positions, *window - 1);
  const auto* generation = std::get_if<GenerationOptions>(&options);
  if (generation == nullptr) return positions;
  return positions - (std::clamp<std::int64_t>(generation->generate, 1, kMaxSeq) - 1);
}

}  // namespace vramfit::pytorch
