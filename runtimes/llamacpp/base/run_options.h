#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/format.h"

// How llama.cpp is started: llama_model_params and llama_context_params (include/llama.h), as its
// server's flags set them.
namespace vramfit::llamacpp {

enum class SplitMode : std::uint8_t { None, Layer, Row };
enum class FlashAttention : std::uint8_t { Auto, On, Off };

/// All of them, and --fit may set it: the default.
inline constexpr std::int64_t kLayersLeftOpen = -1;
inline constexpr std::int64_t kAllLayers = -2;

/// Where weights lie.
struct Placement {
  /// -ngl: from the back, the output first; below 0 all.
  std::int64_t gpu_layers = kLayersLeftOpen;
  SplitMode split = SplitMode::Layer;  ///< -sm
  int main_gpu = 0;                    ///< -mg
  std::vector<double> tensor_split;    ///< -ts, a share a GPU; none: by what is free
  /// -ot: a pattern of tensors' names, and the buffer type ("CPU", "CUDA0") they go to; the first
  /// that matches holds.
  std::vector<std::pair<std::string, std::string>> overrides;
  /// The experts of the first so many layers stay on the host: --n-cpu-moe; --cpu-moe: of all.
  std::int64_t cpu_moe_layers = 0;
  bool mmap = true;         ///< not --load-mode none: weights on the host are mapped, not read
  bool load_nextn = false;  ///< layers of next-token prediction too: --spec-type draft-mtp

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct ContextOptions {
  std::int64_t context = 0;                     ///< -c; 0: as trained
  std::int64_t context_a_slot = 0;              ///< Ollama's num_ctx; 0: -c says all
  std::int64_t batch = 2048;                    ///< -b
  std::int64_t ubatch = 512;                    ///< -ub
  bool batch_left_open = false;                 ///< both as Ollama sets them by the card
  std::int64_t sequences = 1;                   ///< -np, slots
  std::int64_t outputs_max = 0;                 ///< rows of logits at most; 0: batch
  bool unified = false;                         ///< -kvu: one cache for all sequences
  Format type_k = DType::Fp16;                  ///< -ctk
  Format type_v = DType::Fp16;                  ///< -ctv
  FlashAttention flash = FlashAttention::Auto;  ///< -fa
  bool swa_full = false;                        ///< --swa-full
  bool offload_kqv = true;                      ///< not -nkvo
  bool offload_ops = true;                      ///< not --no-op-offload

  friend bool operator==(const ContextOptions&, const ContextOptions&) = default;
};

}  // namespace vramfit::llamacpp
