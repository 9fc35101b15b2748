#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/ops/lora_ops.h"
#include "model/transformer/parameters.h"

namespace vramfit {

/// Low-rank adapters (Hu et al. 2021) beside linears of every block, as PEFT has them: without
/// dropout, and biases stay as they are. All else of the model is frozen.
struct LoraOptions {
  std::int64_t rank = 16;
  float alpha = 16;                  ///< adapters' outputs are weighed by alpha / rank
  std::vector<std::string> targets;  ///< some of lora_targets
};

inline constexpr std::int64_t kMaxRank = 4096;

/// What PEFT calls the linears of such a model's block.
std::vector<std::string> lora_targets(const ModelConfig& config);
/// What PEFT adapts where nothing else is said.
std::vector<std::string> usual_lora_targets(const ModelConfig& config);

/// Throws BadInput where the rank or a target, which `known` lists, cannot be.
void require_lora(const std::string& family, std::int64_t rank,
                  const std::vector<std::string>& targets, const std::vector<std::string>& known);

/// Which parameters stand beside a projection's weight.
struct AdapterRoles {
  Role beside;
  Role a;
  Role b;
  Name a_name;
  Name b_name;
};

/// The adapters beside one projection of every block.
struct ProjectionAdapters {
  AdapterRoles roles;
  AdaptersOfLinear columns;
};

/// A model's adapters, by projection. None where the options are absent.
class Adapters {
 public:
  Adapters(const ModelConfig& config, const std::optional<LoraOptions>& lora);

  bool none() const { return projections_.empty(); }
  /// Null where the projection has none.
  const ProjectionAdapters* beside(Role weight) const;
  /// Whether they stand beside the projection and beside none before it in its block.
  bool start_at(Role weight) const {
    return !none() && projections_.front().roles.beside == weight;
  }
  /// Of every block's adapters: a's, then b's, which start at 0, so that training starts from the
  /// model as it is.
  std::vector<ParameterSpec> parameters(const ModelConfig& config) const;

 private:
  std::int64_t rank_ = 0;
  std::vector<ProjectionAdapters> projections_;
};

}  // namespace vramfit
