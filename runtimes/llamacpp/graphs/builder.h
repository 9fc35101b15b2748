#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/llamacpp/base/context_params.h"
#include "runtimes/llamacpp/ggml/graph.h"
#include "runtimes/llamacpp/ggml/ops.h"
#include "runtimes/llamacpp/ggml/scheduler.h"
#include "runtimes/llamacpp/graphs/memory.h"
#include "runtimes/llamacpp/graphs/weights.h"

namespace vramfit::llamacpp {

/// What a graph is built for: llm_graph_params, as llama_context::graph_reserve sets them.
struct GraphShape {
  std::int64_t tokens = 1;  ///< a multiple of the sequences
  std::int64_t sequences = 1;
  std::int64_t outputs = 1;  ///< rows of logits
  bool flash = true;
};

/// What every graph of a question has in common.
struct GraphModel {
  const Hparams& hparams;
  const Weights& weights;
  const Memory& memory;
  const Residence& residence;
  const ContextParams& params;
  bool offload_kqv;
  const ggml::Backends& backends;
};

/// Of a norm that goes where its neighbours are, whichever layer's it is.
inline constexpr std::size_t kNoLayer = SIZE_MAX;

enum class NormKind : std::uint8_t { Rms, Layer };

struct Qkv {
  ggml::Tensor* q;
  ggml::Tensor* k;
  ggml::Tensor* v;
};

/// Dimensions that queries, keys and values of a layer are split into.
struct QkvHeads {
  std::int64_t size_q;
  std::int64_t heads;
  std::int64_t size_k;
  std::int64_t size_v;
  std::int64_t kv_heads;
};

/// Of one cache: where tokens are written, and what each may look at.
struct CacheInputs {
  const KvCache* cache = nullptr;
  ggml::Tensor* k_rows = nullptr;
  ggml::Tensor* v_rows = nullptr;
  ggml::Tensor* mask = nullptr;
  ggml::Tensor* rotation_k = nullptr;
  ggml::Tensor* rotation_v = nullptr;
};

/// llm_graph_input_attn_kv, and of models whose layers slide llm_graph_input_attn_kv_iswa.
struct AttentionInputs {
  CacheInputs base;
  CacheInputs sliding;
};

/// Which sequence's state each sequence goes on from: llm_graph_input_rs.
struct StateInputs {
  ggml::Tensor* own = nullptr;     ///< of this batch's sequences
  ggml::Tensor* others = nullptr;  ///< of those that are only moved
};

/// Whether an architecture's graph uses what a file scales products of its network by: those of
/// nvfp4 have such tensors.
enum class Scales : std::uint8_t { Ignored, Used };

/// What tokens do not all go through, and how they are told: build_moe_ffn's arguments.
struct ExpertsOptions {
  Gating gating = Gating::Softmax;
  bool norm_weights = true;
  double scale = 0;  ///< of weights; 0 and 1: none
  bool with_selection_bias = false;
  Scales scales = Scales::Ignored;
  ggml::Tensor* logits = nullptr;  ///< computed already
};

/// Blocks that models' graphs are built of: llm_graph_context. An architecture's file puts them
/// together. Tensors are ggml's, shapes as there: the first dimension is the contiguous one.
class GraphBuilder {
 public:
  GraphBuilder(const GraphModel& model, const GraphShape& shape, ggml::Ops& ops, ggml::Graph& graph,
               ggml::Scheduler& scheduler);

  const Hparams& hparams() const { return model_.hparams; }
  const Weights& weights() const { return model_.weights; }
  const LayerWeights& layer(std::size_t il) const { return model_.weights.layers[il]; }
  const Memory& memory() const { return model_.memory; }
  const GraphShape& shape() const { return shape_; }
  std::int64_t tokens() const { return shape_.tokens; }
  std::int64_t tokens_per_sequence() const { return shape_.tokens / shape_.sequences; }
  /// Without those of next-token prediction, which are not run.
  std::size_t layer_count() const;
  bool is_last(std::size_t il) const { return il + 1 == layer_count(); }
  ggml::Ops& ops() { return ops_; }
  void expand(ggml::Tensor* tensor) { graph_.expand(tensor); }

  // Inputs.
  ggml::Tensor* embed_tokens();  ///< build_inp_embd: [embd, tokens]
  ggml::Tensor* positions();
  ggml::Tensor* output_rows();
  ggml::Tensor* attention_scale();  ///< build_inp_attn_scale: one for each token
  AttentionInputs attention_inputs();
  StateInputs state_inputs();

  // Blocks.
  ggml::Tensor* norm(ggml::Tensor* x, ggml::Tensor* weight, ggml::Tensor* bias, NormKind kind,
                     std::size_t il = kNoLayer);
  ggml::Tensor* rms_norm(ggml::Tensor* x, ggml::Tensor* weight, std::size_t il = kNoLayer) {
    return norm(x, weight, nullptr, NormKind::Rms, il);
  }
  QkvHeads heads(std::size_t il) const;
  /// build_qkv: [size, heads, tokens] each, of one product or of three.
  Qkv qkv(ggml::Tensor* x, const QkvHeads& heads, std::size_t il);
  Qkv qkv(ggml::Tensor* x, std::size_t il) { return qkv(x, heads(il), il); }
  /// The same, [size x heads, tokens].
  Qkv flat_qkv(ggml::Tensor* x, const QkvHeads& heads, std::size_t il);
  /// Attention to what a layer has cached: build_attn. Without keys and values, another layer's.
  ggml::Tensor* attention(const AttentionInputs& inputs, const Qkv& qkv, std::size_t il);
  /// The same without the last product.
  ggml::Tensor* attention_heads(const AttentionInputs& inputs, const Qkv& qkv, std::size_t il);
  /// To compressed keys, which values are a part of; they are decompressed by `wv_b`.
  ggml::Tensor* latent_attention(const AttentionInputs& inputs, const Qkv& qkv, ggml::Tensor* wv_b,
                                 std::size_t il);
  /// build_ffn with a gate beside it: silu and gelu alike.
  ggml::Tensor* gated_ffn(ggml::Tensor* x, std::size_t il, Scales scales = Scales::Ignored);
  /// build_ffn of an activation between two products.
  ggml::Tensor* plain_ffn(ggml::Tensor* x, std::size_t il);
  /// Of experts that all tokens go through.
  ggml::Tensor* shared_experts(ggml::Tensor* x, std::size_t il, Scales scales = Scales::Ignored);
  /// build_moe_ffn.
  ggml::Tensor* experts(ggml::Tensor* x, const ExpertsOptions& options, std::size_t il);
  /// A dense network in the first layers; behind them experts, and beside them shared ones.
  ggml::Tensor* experts_behind_dense_lead(ggml::Tensor* x, std::size_t il);
  /// build_rs: [size, sequences] of `states`.
  ggml::Tensor* state(const StateInputs& inputs, ggml::Tensor* states, std::int64_t size);

  // Ends.
  ggml::Tensor* output_norm(ggml::Tensor* x, NormKind kind = NormKind::Rms) {
    return norm(x, weights().output_norm, weights().output_norm_b, kind);
  }
  /// Marks what next-token prediction would go on from: res->t_h_nextn.
  void keep(ggml::Tensor* x) { x->output = true; }
  /// The head's product, of `x`, which is kept as the embedding.
  ggml::Tensor* head(ggml::Tensor* x);
  ggml::Tensor* softcap(ggml::Tensor* logits);
  void finish(ggml::Tensor* logits);

  struct FlashNode {
    const ggml::Tensor* node;
    std::size_t layer;
  };
  /// What computes flash attention, a layer each.
  const std::vector<FlashNode>& flash_nodes() const { return flash_nodes_; }

 private:
  /// `precise`: summed in f32.
  ggml::Tensor* product(ggml::Tensor* weight, ggml::Tensor* scale, ggml::Tensor* bias,
                        ggml::Tensor* x, bool precise = false);
  /// Whether the last product of attention and of a network is.
  bool last_is_precise() const;
  /// Weights of a gated network, and what is added to and multiplied with each product.
  struct Ffn {
    std::array<ggml::Tensor*, 3> up;
    std::array<ggml::Tensor*, 3> gate;
    std::array<ggml::Tensor*, 3> down;
  };
  ggml::Tensor* ffn(const Ffn& weights, ggml::Tensor* x, Scales scales);
  CacheInputs cache_inputs(const KvCache& cache);
  ggml::Tensor* rotate(ggml::Tensor* x, ggml::Tensor* rotation);
  ggml::Tensor* cached_k(const KvCache& cache, std::size_t il);
  ggml::Tensor* cached_v(const KvCache& cache, std::size_t il);
  ggml::Tensor* store_k(const KvCache& cache, ggml::Tensor* k, ggml::Tensor* rows, std::size_t il);
  ggml::Tensor* store_v(const KvCache& cache, ggml::Tensor* v, ggml::Tensor* rows, std::size_t il);
  ggml::Tensor* attend(const Qkv& qkv, ggml::Tensor* mask, ggml::Tensor* wv_b, std::size_t il);
  ggml::Tensor* attend_in_steps(const Qkv& qkv, ggml::Tensor* mask, ggml::Tensor* wv_b,
                                std::size_t il);
  ggml::Tensor* select_groups(ggml::Tensor* probabilities);
  ggml::Tensor* expert_weights(ggml::Tensor* x, const ExpertsOptions& options, std::size_t il,
                               ggml::Tensor*& selected);
  ggml::Tensor* scale_experts(ggml::Tensor* x, ggml::Tensor* scales, ggml::Tensor* selected);
  ggml::Tensor* sum_of_experts(ggml::Tensor* experts);

  GraphModel model_;
  GraphShape shape_;
  ggml::Ops& ops_;
  ggml::Graph& graph_;
  ggml::Scheduler& scheduler_;
  std::vector<FlashNode> flash_nodes_;
};

}  // namespace vramfit::llamacpp
