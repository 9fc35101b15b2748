#include "runtimes/pytorch/transformers/parallel/tp_plan.h"

#include <algorithm>
#include <string>

#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

using enum TpStyle;

// transformers/models/<family>/configuration_<family>.py, 5.17.
constexpr TpRule kLlama[] = {
    {"layers.*.self_attn.q_proj", Colwise}, {"layers.*.self_attn.k_proj", Colwise},
    {"layers.*.self_attn.v_proj", Colwise}, {"layers.*.self_attn.o_proj", Rowwise},
    {"layers.*.mlp.gate_proj", Colwise},    {"layers.*.mlp.up_proj", Colwise},
    {"layers.*.mlp.down_proj", Rowwise}};
constexpr TpRule kQwen3[] = {{"layers.*.self_attn.q_proj", Colwise},
                             {"layers.*.self_attn.k_proj", Colwise},
                             {"layers.*.self_attn.v_proj", Colwise},
                             {"layers.*.self_attn.q_norm", ReplicatedGradients},
                             {"layers.*.self_attn.k_norm", ReplicatedGradients},
                             {"layers.*.self_attn.o_proj", Rowwise},
                             {"layers.*.mlp.gate_proj", Colwise},
                             {"layers.*.mlp.up_proj", Colwise},
                             {"layers.*.mlp.down_proj", Rowwise}};
// q_norm and k_norm are of all heads.
constexpr TpRule kOlmo2[] = {{"layers.*.self_attn.q_proj", ColwiseGatherOutput},
                             {"layers.*.self_attn.k_proj", ColwiseGatherOutput},
                             {"layers.*.self_attn.v_proj", ColwiseGatherOutput},
                             {"layers.*.self_attn.o_proj", RowwiseSplitInput},
                             {"layers.*.mlp.gate_proj", Colwise},
                             {"layers.*.mlp.up_proj", Colwise},
                             {"layers.*.mlp.down_proj", Rowwise}};
constexpr TpRule kPhi3[] = {{"layers.*.self_attn.qkv_proj", ColwiseGatherOutput},
                            {"layers.*.self_attn.o_proj", RowwiseSplitInput},
                            {"layers.*.mlp.gate_up_proj", ColwiseGatherOutput},
                            {"layers.*.mlp.down_proj", RowwiseSplitInput}};
constexpr TpRule kPhi[] = {
    {"layers.*.self_attn.q_proj", Colwise}, {"layers.*.self_attn.k_proj", Colwise},
    {"layers.*.self_attn.v_proj", Colwise}, {"layers.*.self_attn.dense", Rowwise},
    {"layers.*.mlp.fc1", Colwise},          {"layers.*.mlp.fc2", Rowwise}};
constexpr TpRule kGptNeox[] = {{"layers.*.attention.query_key_value", Colwise},
                               {"layers.*.attention.dense", Rowwise},
                               {"layers.*.mlp.dense_h_to_4h", Colwise},
                               {"layers.*.mlp.dense_4h_to_h", Rowwise}};

struct PlanRow {
  std::string_view family;
  std::span<const TpRule> plan;
};
constexpr PlanRow kPlans[] = {{"llama", kLlama}, {"mistral", kLlama},     {"qwen2", kLlama},
                              {"gemma", kLlama}, {"gemma2", kLlama},      {"granite", kLlama},
                              {"qwen3", kQwen3}, {"gemma3_text", kQwen3}, {"olmo2", kOlmo2},
                              {"phi3", kPhi3},   {"phi", kPhi},           {"gpt_neox", kGptNeox}};

// _tp_plan of each family's ForCausalLM; a tied embedding's is PreTrainedConfig's.
constexpr TpRule kHead = {"lm_head", ColwiseGatherOutput};
constexpr TpRule kTiedEmbedding = {"embed_tokens", EmbeddingRowwise};

void require_multiple(const ModelConfig& config, std::int64_t gpus, const char* what,
                      std::int64_t count) {
  if (count % gpus == 0) return;
  std::int64_t nearest = gpus - 1;
  while (count % nearest != 0) --nearest;
  const std::string of = config.name + "'s " + std::to_string(count) + " " + what;
  const std::string instead = nearest > 1
                                  ? "--gpus " + std::to_string(nearest) + ", or --strategy fsdp"
                                  : "--strategy fsdp";
  throw BadInput("gpus: tp cuts " + of + " in equal parts, not in " + std::to_string(gpus) + "; " +
                 instead);
}

/// Heads are cut whole, but where projections are put together again before they are told apart.
bool cuts_heads(std::span<const TpRule> plan) { return plan.front().style == Colwise; }

}  // namespace

std::span<const TpRule> tp_plan(const ModelConfig& config) {
  for (const PlanRow& row : kPlans) {
    if (row.family == config.family) return row.plan;
  }
  return {};
}

std::optional<TpStyle> tp_style(const ModelConfig& config, const std::string& name,
                                std::optional<std::int64_t> layer) {
  const std::size_t base = name.find('.');
  if (base == std::string::npos) return kHead.style;  // alone beside the base model
  std::string path = name.substr(base + 1);
  if (layer) {
    const std::string number = "." + std::to_string(*layer) + ".";
    path.replace(path.find(number), number.size(), ".*.");
  }
  if (config.tied_head && path == kTiedEmbedding.path) return kTiedEmbedding.style;
  for (const TpRule& rule : tp_plan(config)) {
    if (rule.path == path) return rule.style;
  }
  return std::nullopt;
}

void require_tp(const ModelConfig& config, std::int64_t gpus) {
  const std::span<const TpRule> plan = tp_plan(config);
  if (plan.empty()) {
    throw BadInput("strategy: transformers has no tensor parallel plan for " + config.family +
                   ", and cuts nothing of it; --strategy fsdp");
  }
  // Its embedding is called embed_in, which the plan of a tied one does not name.
  if (config.tied_head && config.family == "gpt_neox") {
    throw BadInput(
        "strategy: tp fails with gpt_neox's tied head, whose weight is not cut with it; "
        "--strategy fsdp");
  }
  if (cuts_heads(plan)) {
    require_multiple(config, gpus, "attention heads", config.heads);
    require_multiple(config, gpus, "key and value heads", config.kv_heads);
  } else if (config.family == "phi3") {
    require_multiple(config, gpus, "rows of q, k and v", config.qkv_width());
  } else {
    require_multiple(config, gpus, "rows of k", config.kv_width());
  }
  require_multiple(config, gpus, "rows of the MLP", config.ffn);
  require_multiple(config, gpus, "tokens of the vocabulary", config.vocab);
}

}  // namespace vramfit::pytorch
