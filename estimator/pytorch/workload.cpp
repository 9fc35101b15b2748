#include "estimator/pytorch/workload.h"

#include <algorithm>

#include "estimator/pytorch/modules/causal_lm.h"
#include "model/errors.h"
#include "model/transformer/sizes.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kMaxRank = 4096;

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
  throw BadInput("attention: no '" + text + "' under --runtime pytorch; sdpa or eager");
}

const char* name(AttentionKind kind) { return kind == AttentionKind::Sdpa ? "sdpa" : "eager"; }

std::vector<std::string> default_lora_targets(const std::string& family) {
  if (family == "gpt2") return {"c_attn"};
  if (family == "gpt_neox") return {"query_key_value"};
  if (family == "phi") return {"q_proj", "v_proj", "fc1", "fc2"};
  return {"q_proj", "v_proj"};
}

void validate(const ModelConfig& config, const Workload& workload) {
  const auto check = [&](const auto& options) {
    require_sizes(options.batch, options.seq);
    const std::int64_t limit = seq_limit(config, workload);
    if (options.seq > limit) {
      throw BadInput("seq: " + std::to_string(options.seq) + " is longer than the " +
                     std::to_string(limit) + " that " + config.name + " takes");
    }
  };
  if (const auto* generation = std::get_if<GenerationOptions>(&workload)) {
    require_size("generate", generation->generate, kMaxSeq);
    check(*generation);
    return;
  }
  const auto& training = std::get<TrainingOptions>(workload);
  check(training);
  require_size("accumulate", training.accumulate, kMaxAccumulate);
  if (training.autocast && training.precision != DType::Fp32) {
    throw BadInput("autocast: is for fp32 weights; --precision fp32, or no --autocast");
  }
  if (training.autocast && !is_16_bit(*training.autocast)) {
    throw BadInput("autocast: bf16 or fp16");
  }
  if (training.lora) require_lora(config, *training.lora);
}

std::int64_t seq_limit(const ModelConfig& config, const Workload& workload) {
  const std::int64_t positions = config.learned_positions() ? config.max_positions : kMaxSeq;
  const auto* generation = std::get_if<GenerationOptions>(&workload);
  if (generation == nullptr) return std::min(positions, kMaxSeq);
  return positions - (std::clamp<std::int64_t>(generation->generate, 1, kMaxSeq) - 1);
}

}  // namespace vramfit::pytorch
