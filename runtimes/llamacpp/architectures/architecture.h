#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtimes/llamacpp/architectures/arch_keys.h"
#include "runtimes/llamacpp/architectures/hf_config.h"
#include "runtimes/llamacpp/architectures/tensor_list.h"
#include "runtimes/llamacpp/base/hparams.h"

// Architectures as llama.cpp knows them: a file each in architectures/.
namespace vramfit::llamacpp {

struct Architecture {
  const char* name;  ///< general.architecture
  /// Whose checkpoints are converted to it: transformers' classes, and its model types.
  std::vector<std::string_view> hugging_face;
  /// The rest of what read_hparams reads: load_arch_hparams of src/models/<architecture>.cpp.
  void (*read)(const ArchKeys& keys, Hparams& hparams);
  /// Keys that conversion/*.py writes of a config beside those of convert_common.
  void (*convert)(const HfConfig& config, ArchWriter& keys);
  /// What conversion/*.py makes of its checkpoint.
  void (*tensors)(const Hparams& hparams, const HfConfig& config, TensorList& list);
};

const std::vector<const Architecture*>& architectures();

/// Null where it is none of ours.
const Architecture* find_architecture(std::string_view name);
/// The same, by a transformers' class or model type.
const Architecture* find_converted(std::string_view model_class);
/// Some of them, for messages, which have no room for all.
inline constexpr const char* kKnownArchitectures =
    "llama, qwen3, gemma3, gpt-oss or another that docs/llamacpp.md lists";

// Shared by files of architectures.

/// load_swa_pattern: which layers slide, by the file, or all but every `period`th.
void read_sliding_pattern(const ArchKeys& keys, std::int64_t period, Hparams& hparams);
/// n_swa; 0 where it is absent.
std::int64_t sliding_window(const ArchKeys& keys);
/// What an expert's network is wide; 0 where it is absent. expert_feed_forward_length.
std::int64_t expert_ffn(const ArchKeys& keys, const Hparams& hparams);

/// Throws BadInput where a model has no experts.
void require_experts(const ArchKeys& keys, const Hparams& hparams);
/// Layers from `first` on have experts, `ffn` wide, in place of a dense network.
void replace_ffn_by_experts(Hparams& hparams, std::int64_t ffn, std::int64_t first);
/// expert_gating_func.
Gating read_gating(const ArchKeys& keys);

/// How experts' outputs are weighed: routed_scaling_factor, norm_topk_prob.
void convert_expert_weights(const HfConfig& config, ArchWriter& keys);
/// generate_extra_tensors of conversion/llama.py: the factors of "llama3" rope.
void add_llama3_rope(const Hparams& hparams, const HfConfig& config, TensorList& list);

}  // namespace vramfit::llamacpp
