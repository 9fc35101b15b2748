#include "runtimes/vllm/weights.h"

#include <algorithm>
#include <iterator>

#include "runtimes/vllm/alive.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/rank_experts.h"
#include "runtimes/vllm/recurrent.h"
#include "runtimes/vllm/seeing.h"
#include "runtimes/vllm/storage.h"

namespace vramfit::vllm {
namespace {

/// The first compute capability whose kernels multiply in fp8.
constexpr int kFirstOfBytes = 89;
/// Of an attention: of queries, keys, values and probabilities.
constexpr int kScales = 4;
/// triton_kernels' layouts of scales: inputs of so many at once, and on Hopper outputs.
constexpr std::int64_t kInputsOfScales = 128;
constexpr std::int64_t kOutputsOfScales = 256;

class Listing {
 public:
  Listing(const Shape& shape, const Options& options)
      : shape_(shape),
        options_(options),
        ranks_(options.tensor_parallel),
        quantized_(!quantization_of(shape, options).empty()) {}

  std::vector<Weight> operator()() {
    const std::int64_t vocabulary = vocabulary_of_rank(shape_, ranks_);
    if (shape_.first && has_tower(shape_, options_)) add_tower();
    if (shape_.first || (shape_.tied && shape_.last)) whole(vocabulary, shape_.hidden);
    if (shape_.learned_positions && shape_.first) whole(shape_.positions, shape_.hidden);
    for (const Layer& layer : shape_.layers) {
      const std::size_t before = list_.size();
      add(layer);
      for (std::size_t i = before; i < list_.size(); ++i) list_[i].of_layer = true;
    }
    if (!shape_.last) return std::move(list_);
    norm();
    if (!shape_.tied) whole(vocabulary, shape_.hidden);
    if (shape_.head_bias) whole(vocabulary);
    return std::move(list_);
  }

 private:
  /// Of what sees, which `--quantization` and some checkpoints have in few bits, too.
  void add_tower() {
    const bool shared = shares_tower(shape_, options_);
    const bool stored = shape_.tower_stored || !options_.quantization.empty();
    for (const Tile& tile : shape_.tower) {
      whole(tile.shares > 0 && shared ? ceil_div(tile.rows, ranks_) : tile.rows, tile.columns);
      if (tile.shares > 0 && stored) list_.back().kind = WeightKind::Linear;
    }
  }

  void whole(std::int64_t rows, std::int64_t columns = 1) {
    list_.push_back({.rows = rows, .columns = columns, .slices = {}});
  }

  void in_fp32(std::int64_t rows, std::int64_t columns = 1) {
    list_.push_back({.rows = rows, .columns = columns, .fp32 = true, .slices = {}});
  }

  void norm() {
    whole(shape_.hidden);
    if (shape_.norm_bias) whole(shape_.hidden);
  }

  void linear(std::int64_t rows, std::int64_t columns, bool bias,
              std::vector<std::int64_t> slices = {}) {
    if (slices.empty() || shape_.fused) slices = {rows};
    list_.push_back({.kind = WeightKind::Linear,
                     .rows = rows,
                     .columns = columns,
                     .slices = std::move(slices)});
    if (bias) whole(rows);
  }

  void add(const Layer& layer) {
    if (layer.keeps == Keeps::State) {
      add_recurrent();
    } else if (layer.keeps == Keeps::Nothing) {
      // It has no attention.
    } else if (layer.keeps == Keeps::Latent) {
      add_latent(layer);
    } else {
      // A rank has no less than one head of keys.
      const std::int64_t kv = std::max<std::int64_t>(layer.kv_heads / ranks_, 1) * layer.head_dim;
      const std::int64_t q = (shape_.gated_attention ? 2 : 1) * layer.q_width() / ranks_;
      linear(q + 2 * kv, shape_.hidden, shape_.qkv_bias, {q, kv, kv});
      linear(shape_.hidden, layer.q_width() / ranks_, shape_.out_bias);
      if (shape_.qk_norm == QkNorm::Bare) {
        in_fp32(layer.head_dim);
      } else if (shape_.qk_norm != QkNorm::None) {
        const bool head = shape_.qk_norm == QkNorm::Head;
        whole(head ? layer.head_dim : layer.q_width() / ranks_);
        whole(head ? layer.head_dim : kv);
      }
    }
    if (layer.attends()) add_attention_buffers();
    if (layer.also_state) add_recurrent();
    if (layer.experts) {
      add_experts();
    } else if (layer.mlp) {
      const std::int64_t ffn = layer.ffn / ranks_;
      if (shape_.gated) {
        linear(2 * ffn, shape_.hidden, shape_.mlp_bias, {ffn, ffn});
      } else {
        linear(ffn, shape_.hidden, shape_.mlp_bias);
      }
      linear(shape_.hidden, layer.ffn / ranks_, shape_.mlp_bias);
    }
    for (std::int64_t i = 0; i < shape_.norms; ++i) norm();
  }

  void add_recurrent() {
    std::vector<Weight> of = recurrent_weights(shape_, ranks_);
    std::move(of.begin(), of.end(), std::back_inserter(list_));
  }

  void add_attention_buffers() {
    add_rotations();
    for (int scale = 0; scale < kScales; ++scale) in_fp32(1);
  }

  /// Queries through a rank or at once, keys and values through theirs, and beside what projects up
  /// from that, where it is stored in few bits, its halves once more, as attention absorbs them
  /// (W_UK_T, W_UV: otherwise views of it).
  void add_latent(const Layer& layer) {
    const Latent& latent = shape_.latent;
    const std::int64_t heads = layer.heads / ranks_;
    const std::int64_t down = latent.kv_rank + latent.rope;
    if (latent.q_rank > 0) {
      linear(latent.q_rank + down, shape_.hidden, false);
      whole(latent.q_rank);
      linear(heads * (latent.nope + latent.rope), latent.q_rank, false);
    } else {
      linear(heads * (latent.nope + latent.rope), shape_.hidden, false);
      linear(down, shape_.hidden, false);
    }
    whole(latent.kv_rank);
    linear(heads * (latent.nope + latent.value), latent.kv_rank, false);
    linear(shape_.hidden, heads * latent.value, false);
    if (quantized_) whole(heads * (latent.nope + latent.value), latent.kv_rank);
  }

  /// Made with the first layer that has them.
  void add_rotations() {
    for (; rotations_ < shape_.rotary_tables; ++rotations_) {
      const std::int64_t stretch = rotations_ == 0 ? shape_.rotary_stretch : 1;
      list_.push_back({.rows = shape_.rotary_rows * stretch,
                       .columns = shape_.rotary_dim,
                       .rotations = true,
                       .fp32 = shape_.rotary_in_fp32,
                       .slices = {}});
    }
  }

  void add_experts() {
    const Experts& experts = shape_.experts;
    if (experts.router_in_fp32) {
      in_fp32(experts.count, shape_.hidden);
      in_fp32(experts.count);
    } else {
      whole(experts.count, shape_.hidden);
      if (experts.router_stored) list_.back().kind = WeightKind::Linear;
      list_.back().slices = {experts.count};
      if (experts.corrected) in_fp32(experts.count);
    }
    const RankExperts rank = experts_of_rank(shape_, options_);
    const std::int64_t width = rank.width;
    if (rank.count < experts.count) in_fp32(experts.count);  // expert_map: which are where
    if (experts.biased) {
      whole(experts.count);
      in_fp32(2 * width, rank.count);
      list_.back().marlins_rows = 2 * padded_to(width, kMarlinsWidth);
      in_fp32(shape_.hidden, rank.count);
      list_.back().marlins_rows = padded_to(shape_.hidden, kMarlinsHidden);
    }
    const bool in_one = experts.biased || !shape_.gated;  // is_3d_moe_weight
    const std::int64_t up = shape_.gated ? 2 : 1;
    list_.push_back({.kind = WeightKind::Experts,
                     .rows = up * width,
                     .columns = shape_.hidden,
                     .copies = rank.count,
                     .slices = in_one ? std::vector{up * width} : std::vector{width, width}});
    list_.push_back({.kind = WeightKind::Experts,
                     .rows = shape_.hidden,
                     .columns = width,
                     .copies = rank.count,
                     .slices = {shape_.hidden}});
    if (experts.shared == 0) return;
    if (experts.shared_gated) whole(1, shape_.hidden);  // shared_expert_gate
    linear(up * rank.shared, shape_.hidden, false,
           std::vector(static_cast<std::size_t>(up), rank.shared));
    linear(shape_.hidden, rank.shared, false);
  }

  const Shape& shape_;
  const Options& options_;
  std::int64_t ranks_;
  bool quantized_;
  std::int64_t rotations_ = 0;
  std::vector<Weight> list_;
};

std::uint64_t whole_bytes(std::int64_t count) { return static_cast<std::uint64_t>(count); }

/// Of weights in a byte each.
std::int64_t scales_of(const Weight& weight, const Shape& shape) {
  if (shape.scale_tile > 0) {
    return ceil_div(weight.rows, shape.scale_tile) * ceil_div(weight.columns, shape.scale_tile);
  }
  return shape.row_scales ? weight.rows : 1;
}

/// Of experts, with their scales. On Hopper by triton_kernels, which pads scales; on others by
/// Marlin, for which both are padded (mxfp4_round_up_hidden_size_and_intermediate_size).
std::vector<std::uint64_t> mxfp4(const Weight& weight, const Shape& shape, int sm) {
  constexpr std::int64_t kInputsOfScale = 32;
  if (is_hopper(sm)) {
    const std::int64_t inputs = padded_to(weight.columns, kInputsOfScales) / kInputsOfScale;
    const std::int64_t outputs = padded_to(weight.rows, kOutputsOfScales);
    return {whole_bytes(weight.elements() / 2), whole_bytes(inputs * outputs * weight.copies)};
  }
  const bool up = weight.rows != shape.hidden;
  const std::int64_t rows =
      up ? 2 * padded_to(weight.rows / 2, kMarlinsWidth) : padded_to(weight.rows, kMarlinsHidden);
  const std::int64_t columns = padded_to(weight.columns, up ? kMarlinsHidden : kMarlinsWidth);
  const std::int64_t elements = rows * columns * weight.copies;
  return {whole_bytes(elements / 2), whole_bytes(elements / kInputsOfScale)};
}

}  // namespace

std::int64_t vocabulary_of_rank(const Shape& shape, std::int64_t ranks) {
  constexpr std::int64_t kUnit = 64;  // DEFAULT_VOCAB_PADDING_SIZE
  return padded_to(shape.vocab, kUnit * ranks) / ranks;
}

std::vector<Weight> weights_of(const Shape& shape, const Options& options) {
  return Listing(shape, options)();
}

std::vector<std::uint64_t> stored(const Weight& weight, const Shape& shape, const Options& options,
                                  int sm) {
  if (weight.marlins_rows > 0 && in_mxfp4(shape, options) && !is_hopper(sm)) {
    return {whole_bytes(weight.marlins_rows * weight.columns * own_bytes(options))};
  }
  const std::int64_t elements = weight.elements();
  const std::int64_t own = weight.fp32 ? kWord : own_bytes(options);
  switch (storage_of(weight, shape, options)) {
    case Storage::Plain:
      break;
    case Storage::Fp8:
      if (shape.scale_tile > 0 && sm < kFirstOfBytes) {
        // Marlin's, which multiplies them in 16 bits: a scale of so many inputs for each output.
        const std::int64_t scales = ceil_div(weight.columns, shape.scale_tile) * weight.rows;
        return {whole_bytes(elements), whole_bytes(own * weight.copies * scales)};
      }
      return {whole_bytes(elements), whole_bytes(kWord * weight.copies * scales_of(weight, shape))};
    case Storage::Packed: {
      const std::int64_t groups = shape.group > 0 ? ceil_div(weight.columns, shape.group) : 1;
      const std::int64_t scales = groups * weight.rows * weight.copies;
      std::vector<std::uint64_t> all = {whole_bytes(elements * shape.bits / 8),
                                        whole_bytes(scales * own)};
      // Machete, Hopper's kernel, takes zero points as it takes scales; Marlin packs them.
      const bool machete = is_hopper(sm);
      if (shape.zero_points) {
        all.push_back(whole_bytes(machete ? scales * own : scales * shape.bits / 8));
      }
      return all;
    }
    case Storage::Mxfp4:
      return mxfp4(weight, shape, sm);
    case Storage::Nf4:
      return {whole_bytes(elements / 2), whole_bytes(elements / 64 * 4)};
  }
  return {whole_bytes(elements * own)};
}

}  // namespace vramfit::vllm
