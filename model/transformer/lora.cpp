#include "model/transformer/lora.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/errors.h"
#include "model/printable.h"
#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

/// A linear by PEFT's name, and where its output is among a projection's.
struct Target {
  const char* name;
  Role projection;
  AdaptedColumns columns;
};

/// Linears that a projection fuses are adapted each for itself. gpt2 has q, k and v in one, and two
/// linears of one name.
std::vector<Target> targets_of(const ModelConfig& c) {
  if (c.family == "gpt2") {
    return {{"c_attn", Role::QkvWeight, {0, c.qkv_width()}},
            {"c_proj", Role::OutWeight, {0, c.hidden}},
            {"c_fc", Role::UpWeight, {0, c.up_width()}},
            {"c_proj", Role::DownWeight, {0, c.hidden}}};
  }
  const std::int64_t kv_width = (c.qkv_width() - c.q_width()) / 2;
  return {{"q_proj", Role::QkvWeight, {0, c.q_width()}},
          {"k_proj", Role::QkvWeight, {c.q_width(), kv_width}},
          {"v_proj", Role::QkvWeight, {c.q_width() + kv_width, kv_width}},
          {"o_proj", Role::OutWeight, {0, c.hidden}},
          {"gate_proj", Role::UpWeight, {0, c.ffn}},
          {"up_proj", Role::UpWeight, {c.ffn, c.ffn}},
          {"down_proj", Role::DownWeight, {0, c.hidden}}};
}

constexpr std::array<AdapterRoles, 4> kRolesOf = {{
    {Role::QkvWeight, Role::QkvLoraA, Role::QkvLoraB, "qkv.lora_a", "qkv.lora_b"},
    {Role::OutWeight, Role::OutLoraA, Role::OutLoraB, "out.lora_a", "out.lora_b"},
    {Role::UpWeight, Role::UpLoraA, Role::UpLoraB, "up.lora_a", "up.lora_b"},
    {Role::DownWeight, Role::DownLoraA, Role::DownLoraB, "down.lora_a", "down.lora_b"},
}};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

std::int64_t input_width(const ModelConfig& c, Role projection) {
  if (projection == Role::OutWeight) return c.q_width();
  return projection == Role::DownWeight ? c.ffn : c.hidden;
}

}  // namespace

std::vector<std::string> lora_targets(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const Target& target : targets_of(config)) {
    if (!contains(names, target.name)) names.emplace_back(target.name);
  }
  return names;
}

std::vector<std::string> usual_lora_targets(const ModelConfig& config) {
  if (config.family == "gpt2") return {"c_attn"};
  return {"q_proj", "v_proj"};
}

void require_lora(const std::string& family, std::int64_t rank,
                  const std::vector<std::string>& targets, const std::vector<std::string>& known) {
  require_size("lora", rank, kMaxRank);
  if (targets.empty()) throw BadInput("lora-targets: none; of " + list_of(known));
  for (auto target = targets.begin(); target != targets.end(); ++target) {
    if (!contains(known, *target)) {
      throw BadInput("lora-targets: " + family + " has no '" + shortened(*target, 40) + "'; of " +
                     list_of(known));
    }
    if (std::find(targets.begin(), target, *target) != target) {
      throw BadInput("lora-targets: " + *target + " is there twice");
    }
  }
}

Adapters::Adapters(const ModelConfig& config, const std::optional<LoraOptions>& lora) {
  if (!lora) return;
  rank_ = lora->rank;
  const float scale = lora->alpha / static_cast<float>(lora->rank);
  for (const AdapterRoles& roles : kRolesOf) {
    ProjectionAdapters adapters{roles, {{}, scale}};
    for (const Target& target : targets_of(config)) {
      if (target.projection == roles.beside && contains(lora->targets, target.name)) {
        adapters.columns.columns.push_back(target.columns);
      }
    }
    if (adapters.columns.count() > 0) projections_.push_back(adapters);
  }
}

const ProjectionAdapters* Adapters::beside(Role weight) const {
  for (const ProjectionAdapters& adapters : projections_) {
    if (adapters.roles.beside == weight) return &adapters;
  }
  return nullptr;
}

std::vector<ParameterSpec> Adapters::parameters(const ModelConfig& config) const {
  std::vector<ParameterSpec> specs;
  for (int layer = 0; layer < config.layers; ++layer) {
    for (const ProjectionAdapters& adapters : projections_) {
      const AdapterRoles& roles = adapters.roles;
      const std::int64_t in = input_width(config, roles.beside);
      const Shape a = {adapters.columns.count() * rank_, in};
      const Shape b = {adapters.columns.width(), rank_};
      // The deviation of PEFT's kaiming_uniform_(a = √5), which is uniform within 1/√in.
      const float deviation = 1.0F / std::sqrt(3.0F * static_cast<float>(in));
      specs.push_back({roles.a, layer, roles.a_name.of(layer), a, a, true, {0.0F, deviation}});
      specs.push_back({roles.b, layer, roles.b_name.of(layer), b, b, true, {0.0F, 0.0F}});
    }
  }
  return specs;
}

}  // namespace vramfit
