#include "runtimes/vllm/profile.h"

#include <algorithm>
#include <array>

#include "model/errors.h"
#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/vllm/alive.h"
#include "runtimes/vllm/cache.h"
#include "runtimes/vllm/drafts.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/rank_experts.h"
#include "runtimes/vllm/recurrent.h"
#include "runtimes/vllm/releases.h"
#include "runtimes/vllm/seeing.h"
#include "runtimes/vllm/storage.h"
#include "runtimes/vllm/weights.h"

namespace vramfit::vllm {
namespace {

constexpr std::uint64_t kHoppersWorkspace = std::uint64_t{4096} * 8 << 10;
constexpr std::uint64_t kOthersWorkspace = (std::uint64_t{4096} * 2 + 16 * 8) << 10;
constexpr std::uint64_t kLtWorkspace = std::uint64_t{1} << 20;
/// Of each request, places of logits and what is told of it; and its first and last.
constexpr std::int64_t kOfRequest = 16;
constexpr std::int64_t kOfBatch = 512;
/// Of the vocabulary in fp32: logits, probabilities, noise.
constexpr std::int64_t kCopies = 3;
constexpr std::int64_t kCopiesOfDrafts = 6;
/// Requests from which on a kernel masks logits, with a row of its own a multiprocessor.
constexpr std::int64_t kMasked = 8;

/// What the profile run stands in for: keys and values of as many tokens as are projected up at
/// once (determine_chunked_prefill_workspace_size). Bytes.
std::int64_t context_of(const Shape& shape, const Options& options, const Batch& batch,
                        std::int64_t block) {
  constexpr std::int64_t kMostRows = 64 << 10;
  if (shape.latent.kv_rank == 0) return 0;
  const std::int64_t length = options.length.value_or(shape.default_length());
  const std::int64_t wanted = std::max(8 * length, 4 * batch.sequences * block);
  const std::int64_t rows = std::max(std::min(wanted, kMostRows), batch.sequences * block);
  const std::int64_t heads = shape.layers.front().heads / options.tensor_parallel;
  return allocated(rows * heads * (shape.latent.nope + shape.latent.value) * own_bytes(options));
}

/// Marlin's: of each multiprocessor a tile of 64 rows and 256 columns in fp32.
std::uint64_t partial_tiles(int multiprocessors) {
  constexpr std::uint64_t kTile = std::uint64_t{64} * 256 * kWord;
  return kTile * static_cast<std::uint64_t>(multiprocessors);
}

std::uint64_t embedded(const Shape& shape, const Options& options) {
  const std::int64_t rows = vocabulary_of_rank(shape, options.tensor_parallel);
  return static_cast<std::uint64_t>(rows * shape.hidden * own_bytes(options));
}

std::uint64_t logits(const Shape& shape, const Options& options, const Batch& batch) {
  const std::int64_t own = own_bytes(options);
  if (!shape.last) return 0;
  const std::int64_t rows = std::min(batch.sequences, batch.tokens);
  const std::int64_t ranks = options.tensor_parallel;
  const std::int64_t of_rank = vocabulary_of_rank(shape, ranks);
  // Of ranks that share the head each one's, all of them as they come, and in order.
  const std::int64_t of_all =
      ranks > 1 ? allocated(rows * of_rank * own) + 2 * allocated(rows * of_rank * ranks * own)
                : allocated(rows * shape.vocab * own) * (shape.scaled_logits ? 2 : 1);
  return static_cast<std::uint64_t>(allocated(batch.tokens * shape.hidden * own) +
                                    allocated(rows * shape.hidden * own) + of_all);
}

/// Whether what is embedded is put into a buffer before, as something may be seen in its place.
bool is_placed(const Shape& shape, const Options& options) {
  return has_tower(shape, options) && shape.first;
}

/// Whether products are of kernels of vLLM's own, as of weights in few bits, but for the router's
/// and the head's.
bool by_own_kernels(const Shape& shape, const Options& options) {
  return !quantization_of(shape, options).empty() && !in_mxfp4(shape, options);
}

/// The widest place of all layers, with the workspace where a layer has made it; `made`: as much of
/// it as there is before them.
std::uint64_t of_layers(const Shape& shape, const Options& options, const Batch& batch, int sm,
                        std::uint64_t workspace, std::uint64_t made = 0) {
  const std::int64_t ranks = options.tensor_parallel;
  const bool in_bytes = quantizes_inputs(shape, options);
  std::int64_t widest = 0;
  auto beside = static_cast<std::int64_t>(made);
  // What comes of experts by Marlin is handed on as wide as it was padded.
  const bool pads = in_mxfp4(shape, options) && !by_triton_kernels(shape, options, sm);
  const std::int64_t token = batch.tokens * own_bytes(options);
  const std::int64_t padding = pads ? allocated(padded_to(shape.hidden, kMarlinsHidden) * token) -
                                          allocated(shape.hidden * token)
                                    : 0;
  const auto see = [&](const Alive& alive, std::int64_t more = 0) {
    widest = std::max(widest, beside + more + allocated(alive, batch.tokens, own_bytes(options)));
  };
  for (const Layer& layer : shape.layers) {
    const auto [mlp, attention] =
        options.eager ? eager(shape, layer, ranks, in_bytes) : compiled(shape, layer, ranks);
    if (layer.has_state()) {
      for (const Alive& place : recurrent_places(shape, ranks, in_bytes)) see(place);
      if (beside == 0 && !options.warm)
        widest = std::max(widest, tried_bytes(shape, options, batch.tokens));
    }
    if (!layer.attends()) {
      // It has no attention.
    } else if (layer.keeps == Keeps::Latent) {
      see(latent(shape, layer, ranks),
          context_of(shape, options, batch, block_of(shape, options, sm)));
    } else {
      see(attention, beside > 0 ? padding : 0);
    }
    if (layer.experts) {
      // The router may be multiplied by cuBLAS, whatever the others are.
      const bool apart = by_own_kernels(shape, options) && !shape.experts.router_stored &&
                         !release_named(options.release).handles_first;
      beside = static_cast<std::int64_t>(workspace + (apart ? blas_workspace(sm) : 0));
      see(mixed(shape, layer, options, sm));
      see(shared_experts(shape, layer, options));
    } else if (layer.mlp) {
      // Beside gate and up, which are held, what goes into down, in a byte each, with its scales.
      const bool more = options.eager && shape.keeps_up() && in_bytes;
      const std::int64_t scales =
          shape.scale_tile > 0 ? kWord * layer.ffn / ranks / shape.scale_tile : 0;
      see(mlp, more ? batch.tokens * (layer.ffn / ranks + scales) : 0);
    }
  }
  // Sums are written where what is embedded was, but by Gemma's norms.
  if (is_placed(shape, options) && shape.norms == 2 && !shape.sums_elsewhere)
    widest -= std::min(widest, allocated(shape.hidden * token));
  return static_cast<std::uint64_t>(widest);
}

/// Bytes of rows that experts work on, far from what 64 bits hold.
std::uint64_t worked_in(std::int64_t rows, std::int64_t bytes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  if (rows <= kMost / bytes) return static_cast<std::uint64_t>(rows * bytes);
  throw BadInput("max-num-batched-tokens: experts work on " + std::to_string(rows) + " rows of " +
                 std::to_string(bytes) + " bytes, more than any card has; fewer");
}

/// Numbers that a step is told by.
std::uint64_t of_step(const Batch& batch) {
  return static_cast<std::uint64_t>(kOfRequest * batch.sequences + kOfBatch);
}

/// As it compiles, the kernel that rotates is tried on a table as large, on what is projected and
/// what comes out of it, beside the buffer that empties caches: of long contexts more than a step.
std::uint64_t rotating_tried(const Shape& shape, const Options& options, const Batch& batch,
                             const Gpu& gpu) {
  const auto layer = std::find_if(shape.layers.begin(), shape.layers.end(),
                                  [](const Layer& one) { return one.attends(); });
  if (shape.rotary_tables == 0 || layer == shape.layers.end() || layer->keeps == Keeps::Latent) {
    return 0;
  }
  const std::int64_t ranks = options.tensor_parallel;
  const std::int64_t q = layer->q_width() / ranks;
  const std::int64_t kv = std::max<std::int64_t>(layer->kv_heads / ranks, 1) * layer->head_dim;
  const std::int64_t table = shape.rotary_rows * shape.rotary_stretch * shape.rotary_dim;
  return static_cast<std::uint64_t>((table + batch.tokens * (2 * q + 3 * kv)) *
                                    own_bytes(options)) +
         gpu.l2_bytes;
}

/// What the first runner's profile run shows the model, beside what it does with text: what comes
/// out of it and what went in stay.
std::uint64_t with_shown(std::uint64_t text, const Shape& shape, const Options& options,
                         const Batch& batch) {
  const Shown& of = shape.shown;
  if (by_second_runner(shape, options) || !is_placed(shape, options) || of.tokens == 0) return text;
  const std::int64_t items =
      std::max<std::int64_t>(batch.tokens / of.tokens, 1) * own_bytes(options);
  const auto kept = static_cast<std::uint64_t>(allocated(items * of.patches * of.given) +
                                               allocated(items * of.tokens * of.made));
  const auto seen = static_cast<std::uint64_t>(
      items * (of.patches * (of.given + of.alive) + of.tokens * of.merged));
  return std::max(kept + text, seen) + kLtWorkspace;
}

}  // namespace

/// VllmConfig.use_v2_model_runner: by model and by arguments.
bool by_second_runner(const Shape& shape, const Options& options) {
  if (!release_named(options.release).two_runners) return true;
  if (options.drafts == Drafts::Ngram || options.drafts == Drafts::Model) return false;
  return shape.second_runner();
}

bool offloads(const Shape& shape, const Options& options) {
  return !by_second_runner(shape, options) || release_named(options.release).second_offloads;
}

std::uint64_t blas_workspace(int sm) {
  return is_hopper(sm) ? kHoppersWorkspace : kOthersWorkspace;
}

std::uint64_t activations(const Shape& shape, const Options& options, const Batch& batch, int sm) {
  Options tried = options;
  tried.warm = true;  // kernels were, before anything is captured
  return of_layers(shape, tried, batch, sm, 0) + of_step(batch);
}

std::uint64_t expert_workspace(const Shape& shape, const Options& options, std::int64_t tokens,
                               int sm) {
  if (!shape.mixture()) return 0;
  const RankExperts rank = experts_of_rank(shape, options);
  const std::int64_t width = rank.width;
  const std::int64_t rows = rank.steps * tokens * shape.experts.used;
  if (by_triton_kernels(shape, options, sm)) {
    return worked_in(rows, width * own_bytes(options));  // between both products
  }
  // Marlin's are as wide as it pads them (MarlinExperts.workspace_shapes).
  const bool padded = in_mxfp4(shape, options);
  const std::int64_t inner = padded ? padded_to(width, kMarlinsWidth) : width;
  const std::int64_t outer = padded ? padded_to(shape.hidden, kMarlinsHidden) : shape.hidden;
  return worked_in(rows, (std::max(inner, outer) + std::max((shape.gated ? 2 : 1) * inner, outer)) *
                             own_bytes(options));
}

bool keeps_workspace(const Shape& shape, const Options& options, int sm) {
  return shape.mixture() && !by_triton_kernels(shape, options, sm);
}

std::uint64_t sampled(const Shape& shape, const Options& options, const Batch& batch) {
  const std::int64_t own = own_bytes(options);
  const std::int64_t rows = std::min(batch.sequences, batch.tokens);
  const std::int64_t states =
      allocated(batch.tokens * shape.hidden * own) + 2 * allocated(rows * shape.hidden * own);
  const std::int64_t in_own = allocated(rows * shape.vocab * own);
  const std::int64_t in_fp32 = allocated(rows * shape.vocab * kWord);
  if (options.drafted == 0) return static_cast<std::uint64_t>(states + in_own + kCopies * in_fp32);
  // RejectionSampler, of a draft a request: logits of both, those of what is sampled beside it;
  // these and the draft's in fp32, a copy that is masked, its probabilities, noise and what it is
  // divided by.
  return static_cast<std::uint64_t>(states + allocated(2 * rows * shape.vocab * own) + in_own +
                                    kCopiesOfDrafts * in_fp32);
}

std::uint64_t passed_on(const Shape& shape, const Options& options, const Batch& batch) {
  return static_cast<std::uint64_t>(2 * batch.tokens * shape.hidden * own_bytes(options));
}

std::uint64_t masking_buffer(const Shape& shape, const Batch& batch, const Gpu& gpu) {
  const std::int64_t requests = std::min(batch.sequences, batch.tokens);
  if (requests < kMasked) return 0;
  std::int64_t rows = kMasked;
  while (rows < requests && rows < gpu.multiprocessors) rows *= 2;
  rows = std::min<std::int64_t>(rows, gpu.multiprocessors);
  return static_cast<std::uint64_t>(kWord * shape.vocab * rows);
}

std::uint64_t working_set(const Shape& shape, const Options& options, const Batch& batch) {
  pytorch::CachingAllocator torch;
  const std::int64_t ranks = options.tensor_parallel;
  const auto make = [&](std::int64_t width) {
    return torch.allocate(static_cast<std::uint64_t>(batch.tokens * width * own_bytes(options)));
  };
  const std::int64_t hidden = shape.hidden;
  const Layer& layer = shape.layers[shape.layers.size() / 2];
  const std::int64_t q = layer.q_width() / ranks;
  Block residual = make(hidden);
  Block attended = make(q);
  for (int pass = 0; pass < 3; ++pass) {
    const std::int64_t kv = std::max<std::int64_t>(layer.kv_heads / ranks, 1) * layer.head_dim;
    const std::int64_t ffn = std::max<std::int64_t>(layer.ffn / ranks, 1);
    const Block sum = make(hidden);
    const Block norm = make(hidden);
    const Block up = make((shape.gated ? 2 : 1) * ffn);
    torch.free(norm);
    const Block active = make(ffn);
    torch.free(up);
    const Block down = make(hidden);
    torch.free(active);
    const Block next = make(hidden);
    const Block projected = make(q + 2 * kv);
    torch.free(next);
    const Block queries = make(q);
    const Block keys = make(kv);
    const Block output = make(q);
    torch.free(down);
    torch.free(attended);
    torch.free(residual);
    torch.free(projected);
    torch.free(queries);
    torch.free(keys);
    residual = sum;
    attended = output;
  }
  return torch.reserved();
}

/// While what drafts works, beside what the model's step has left: the state that it ended with,
/// and those that are put together, which the second runner does here.
std::uint64_t drafting(const Shape& shape, const Options& options, const Batch& batch,
                       const Gpu& gpu) {
  if (shape.draft == nullptr || !shape.last) return 0;
  const Draft& draft = *shape.draft;
  const Options own = draft_options(draft, options);
  Alive held(static_cast<std::size_t>(1 + draft.kept), shape.hidden);
  held.insert(held.end(), static_cast<std::size_t>(draft.named), draft.shape.hidden);
  if (draft.put_together > 0 && by_second_runner(shape, options)) {
    held.push_back(draft.shape.hidden);
  }
  const std::uint64_t experts = expert_workspace(draft.shape, own, batch.tokens, gpu.arch.sm);
  const std::uint64_t made = keeps_workspace(shape, options, gpu.arch.sm)
                                 ? expert_workspace(shape, options, batch.tokens, gpu.arch.sm)
                                 : 0;
  return static_cast<std::uint64_t>(allocated(held, batch.tokens, own_bytes(options))) +
         of_layers(draft.shape, own, batch, gpu.arch.sm, std::max(experts, made), made);
}

std::uint64_t kept_of_profile(const Shape& shape, const Options& options, const Batch& batch,
                              const Gpu& gpu) {
  if (!release_named(options.release).handles_first) return 0;
  const std::uint64_t experts = keeps_workspace(shape, options, gpu.arch.sm)
                                    ? expert_workspace(shape, options, batch.tokens, gpu.arch.sm)
                                    : 0;
  const auto masks = static_cast<std::int64_t>(shape.last ? masking_buffer(shape, batch, gpu) : 0);
  return experts + static_cast<std::uint64_t>(allocated(masks));
}

std::uint64_t profiled(const Shape& shape, const Options& options, const Batch& batch,
                       const Gpu& gpu) {
  const std::string quantization = quantization_of(shape, options);
  const bool packed = by_own_kernels(shape, options);
  const std::uint64_t experts = expert_workspace(shape, options, batch.tokens, gpu.arch.sm);
  const bool compiles = !options.eager && !options.warm;
  // Kernels are tried on what they get, with a buffer as large as the cache that it empties.
  const std::uint64_t emptied = compiles && !shape.mixture() ? gpu.l2_bytes : 0;
  std::uint64_t peak = std::max(of_layers(shape, options, batch, gpu.arch.sm, experts) + emptied,
                                logits(shape, options, batch) + experts) +
                       of_step(batch);
  peak = std::max(peak, drafting(shape, options, batch, gpu) + of_step(batch));
  if (!by_second_runner(shape, options) && !shape.first) peak += passed_on(shape, options, batch);
  if (!by_second_runner(shape, options) && shape.last) {
    const std::uint64_t kept = keeps_workspace(shape, options, gpu.arch.sm) ? experts : 0;
    // The head is multiplied by cuBLAS whatever the others are.
    peak =
        std::max(peak, kept + masking_buffer(shape, batch, gpu) + sampled(shape, options, batch) +
                           (packed && !shape.rotates_apart ? blas_workspace(gpu.arch.sm) : 0));
  }
  peak = with_shown(peak, shape, options, batch);
  // What is packed is multiplied by kernels of vLLM's own: cuBLAS's workspace comes with the head.
  const bool handles = release_named(options.release).handles_first;
  // transformers' own code multiplies positions and frequencies by cuBLAS.
  if ((!packed || shape.rotates_apart) && !handles) {
    peak += blas_workspace(gpu.arch.sm) + (shape.adds_rows() ? kLtWorkspace : 0);
  }
  // _match_cos_sin_cache_dtype: rotations in fp32 make place for such of the model's type.
  if (shape.rotary_in_fp32 && options.type != DType::Fp32) {
    peak -= std::min(peak, static_cast<std::uint64_t>(shape.rotary_rows * shape.rotary_dim *
                                                      (kWord - own_bytes(options))));
  }
  // Where gate and up outlive what comes of them, the peak is at Marlin's product behind them.
  const bool marlin = quantization.starts_with("awq") || quantization.starts_with("gptq");
  if (marlin && !is_hopper(gpu.arch.sm) && options.eager && shape.keeps_up()) {
    peak += partial_tiles(gpu.multiprocessors);
  }
  peak -= std::min(peak, kept_of_profile(shape, options, batch, gpu));
  if (compiles) peak = std::max(peak, rotating_tried(shape, options, batch, gpu));
  if (!compiles || !shape.first || is_placed(shape, options)) return peak;
  // Before, as they are compiled, on tensors like those (benchmark_combo_kernel): the first one,
  // which looks up what is embedded, on a table as large, and what it writes.
  const std::int64_t written = shape.normed_twice ? 3 : 2;
  return std::max(peak, embedded(shape, options) +
                            static_cast<std::uint64_t>(written * batch.tokens * shape.hidden *
                                                       own_bytes(options)));
}

}  // namespace vramfit::vllm
