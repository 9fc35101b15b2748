#include "runtimes/vllm/profile.h"

#include <algorithm>
#include <array>

#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/vllm/cache.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/releases.h"
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
constexpr std::int64_t kWordBytes = 4;
/// Of the vocabulary in fp32: logits, probabilities, noise.
constexpr std::int64_t kCopies = 3;
constexpr std::int64_t kCopiesOfDrafts = 6;
/// Requests from which on a kernel masks logits, with a row of its own a multiprocessor.
constexpr std::int64_t kMasked = 8;

/// Tensors that are alive at once, by elements of a token.
using Alive = std::vector<std::int64_t>;

/// What PyTorch counts for a tensor that is large enough for a segment of its own: where less than
/// a mebibyte is left of that, it is not split (should_split).
std::int64_t allocated(std::int64_t bytes) {
  using Torch = pytorch::CachingAllocator;
  if (bytes < static_cast<std::int64_t>(Torch::kMinLargeAlloc)) return bytes;
  const std::int64_t segment = padded_to(bytes, static_cast<std::int64_t>(Torch::kSmallBuffer));
  return segment - bytes > static_cast<std::int64_t>(Torch::kSmallSize) ? bytes : segment;
}

std::int64_t allocated(const Alive& alive, std::int64_t tokens, std::int64_t own) {
  std::int64_t all = 0;
  for (const std::int64_t width : alive) all += allocated(tokens * width * own);
  return all;
}

/// Of the widest layer, while it is at its MLP, or at its projections.
///
/// Where it is compiled, a piece reaches from behind one layer's attention to the next one's. Its
/// caller holds what it is called with, attention's output and the residual stream, until it
/// returns. Inductor keeps the sum that the next layer adds to, frees each buffer at its last use
/// and writes none in the place of one of another size.
std::array<Alive, 2> compiled(const Shape& shape, const Layer& layer, std::int64_t ranks) {
  const std::int64_t hidden = shape.hidden;
  const std::int64_t q = layer.q_width() / ranks;
  const std::int64_t kv = std::max<std::int64_t>(layer.kv_heads / ranks, 1) * layer.head_dim;
  const std::int64_t ffn = layer.ffn / ranks;
  Alive mlp = {q, hidden, hidden, ffn};
  if (shape.gated) {
    mlp.push_back(2 * ffn);
  } else {
    mlp.push_back(hidden);
    if (shape.normed_twice) mlp.push_back(hidden);
  }
  return {mlp, {q, hidden, hidden, q + 2 * kv, q, kv, q}};
}

/// Op by op: what a module was called with, and what it named, is alive until it returns.
std::array<Alive, 2> eager(const Shape& shape, const Layer& layer, std::int64_t ranks,
                           bool in_bytes) {
  const std::int64_t hidden = shape.hidden;
  const std::int64_t q = layer.q_width() / ranks;
  const std::int64_t kv = std::max<std::int64_t>(layer.kv_heads / ranks, 1) * layer.head_dim;
  const std::int64_t ffn = layer.ffn / ranks;
  Alive mlp = {hidden, hidden, hidden, (shape.gated ? 2 : 1) * ffn, ffn};
  mlp.insert(mlp.end(), static_cast<std::size_t>(shape.outlived), hidden);
  Alive attention = {hidden, hidden, hidden, q + 2 * kv, q};
  if (shape.qk_norm != QkNorm::None) attention.insert(attention.end(), {q, kv});
  if (in_bytes) attention.push_back((q + kWordBytes) / 2);  // what comes out, with a scale a token
  return {mlp, attention};
}

/// Of an attention through ranks: what went in, queries, keys' and values' latent beside what it is
/// of, and what comes out.
Alive latent(const Shape& shape, const Layer& layer, std::int64_t ranks) {
  const Latent& of = shape.latent;
  const std::int64_t heads = layer.heads / ranks;
  const std::int64_t down = of.kv_rank + of.rope;
  return {
      shape.hidden, shape.hidden, heads * (of.nope + of.rope), heads * of.value, of.q_rank + down,
      of.q_rank,    down};
}

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

/// Of a linear attention: what is projected; its queries, keys, values and gate once more, as they
/// are put in order; these side by side; what comes out, and its norm.
Alive linear(const Shape& shape, std::int64_t ranks, bool in_bytes) {
  const std::int64_t keys = shape.linear.keys() / ranks;
  const std::int64_t values = shape.linear.values() / ranks;
  const std::int64_t beta = 2 * shape.linear.value_heads / ranks;
  const std::int64_t hidden = shape.hidden;
  Alive alive = {hidden, hidden, hidden, hidden, hidden, 2 * (keys + values), beta,
                 keys,   keys,   values, values, beta,   2 * keys + values,   values,
                 values};
  if (in_bytes) alive.push_back((values + kWordBytes) / 2);
  return alive;
}

/// Whether experts in MXFP4 are multiplied by triton_kernels, as on Hopper; by Marlin elsewhere.
bool by_triton_kernels(const Shape& shape, const Options& options, int sm) {
  return is_hopper(sm) && quantization_of(shape, options).find("mxfp4") != std::string::npos;
}

/// Of an MLP of experts, beside where these work: what goes in and comes out, and of each expert
/// that a token goes to its weight, number and place.
Alive mixed(const Shape& shape, const Layer& layer, const Options& options, int sm) {
  if (by_triton_kernels(shape, options, sm)) {
    // OAITritonExperts: beside, of the second product what each expert makes of a token.
    const std::int64_t hidden = shape.hidden;
    return {hidden, hidden, hidden, hidden, shape.experts.used * hidden};
  }
  const std::int64_t ranks = options.tensor_parallel;
  const std::int64_t own = own_bytes(options);
  const std::int64_t q =
      layer.keeps == Keeps::Latent ? layer.heads * shape.latent.value : layer.q_width();
  const std::int64_t more = options.eager ? 2 : 0;  // the layer's caller's
  const std::int64_t routed =
      3 * kWordBytes * shape.experts.used + kWordBytes * shape.experts.count;
  Alive alive = {q / ranks, routed / own};
  alive.insert(alive.end(), static_cast<std::size_t>(4 + more), shape.hidden);
  if (shape.experts.shared > 0) {
    alive.push_back(2 * shape.experts.shared / ranks);
    alive.push_back(shape.experts.shared / ranks);
  }
  return alive;
}

/// Marlin's: of each multiprocessor a tile of 64 rows and 256 columns in fp32.
std::uint64_t partial_tiles(int multiprocessors) {
  constexpr std::uint64_t kTile = std::uint64_t{64} * 256 * kWordBytes;
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
  const std::int64_t of_all = allocated(rows * shape.vocab * own) * (shape.scaled_logits ? 2 : 1);
  return static_cast<std::uint64_t>(allocated(batch.tokens * shape.hidden * own) +
                                    allocated(rows * shape.hidden * own) + of_all);
}

/// The widest place of all layers, with the workspace where a layer has made it.
std::uint64_t of_layers(const Shape& shape, const Options& options, const Batch& batch, int sm,
                        std::uint64_t workspace) {
  const std::int64_t ranks = options.tensor_parallel;
  const bool in_bytes = quantizes_inputs(shape, options);
  std::int64_t widest = 0;
  std::int64_t beside = 0;  // the workspace, once a layer has made it
  const auto see = [&](const Alive& alive, std::int64_t more = 0) {
    widest = std::max(widest, beside + more + allocated(alive, batch.tokens, own_bytes(options)));
  };
  for (const Layer& layer : shape.layers) {
    const auto [mlp, attention] =
        options.eager ? eager(shape, layer, ranks, in_bytes) : compiled(shape, layer, ranks);
    if (layer.keeps == Keeps::State) {
      see(linear(shape, ranks, in_bytes));
    } else if (layer.keeps == Keeps::Latent) {
      see(latent(shape, layer, ranks),
          context_of(shape, options, batch, block_of(shape, options, sm)));
    } else {
      see(attention);
    }
    if (layer.experts) {
      beside = static_cast<std::int64_t>(workspace);
      see(mixed(shape, layer, options, sm));
    } else {
      // Beside gate and up, which are held, what goes into down, in a byte each.
      const bool more = options.eager && shape.keeps_up() && in_bytes;
      see(mlp, more ? batch.tokens * layer.ffn / ranks : 0);
    }
  }
  return static_cast<std::uint64_t>(widest);
}

/// Numbers that a step is told by.
std::uint64_t of_step(const Batch& batch) {
  return static_cast<std::uint64_t>(kOfRequest * batch.sequences + kOfBatch);
}

}  // namespace

/// VllmConfig.use_v2_model_runner: by model and by arguments.
bool by_second_runner(const Shape& shape, const Options& options) {
  if (options.drafted > 0) return false;
  return shape.second_runner() || !release_named(options.release).two_runners;
}

std::uint64_t blas_workspace(int sm) {
  return is_hopper(sm) ? kHoppersWorkspace : kOthersWorkspace;
}

std::uint64_t activations(const Shape& shape, const Options& options, const Batch& batch, int sm) {
  return std::max(of_layers(shape, options, batch, sm, 0), logits(shape, options, batch)) +
         of_step(batch);
}

std::uint64_t expert_workspace(const Shape& shape, const Options& options, std::int64_t tokens,
                               int sm) {
  if (!shape.mixture()) return 0;
  const Experts& experts = shape.experts;
  const std::int64_t width = experts.width / options.tensor_parallel;
  const std::int64_t rows = tokens * experts.used;
  if (by_triton_kernels(shape, options, sm)) {
    return static_cast<std::uint64_t>(rows * width * own_bytes(options));  // between both products
  }
  return static_cast<std::uint64_t>(
      rows * (std::max(width, shape.hidden) + std::max(2 * width, shape.hidden)) *
      own_bytes(options));
}

bool keeps_workspace(const Shape& shape, const Options& options) {
  return shape.mixture() && quantization_of(shape, options).find("mxfp4") == std::string::npos;
}

std::uint64_t sampled(const Shape& shape, const Options& options, const Batch& batch) {
  const std::int64_t own = own_bytes(options);
  const std::int64_t rows = std::min(batch.sequences, batch.tokens);
  const std::int64_t states =
      allocated(batch.tokens * shape.hidden * own) + 2 * allocated(rows * shape.hidden * own);
  const std::int64_t in_own = allocated(rows * shape.vocab * own);
  const std::int64_t in_fp32 = allocated(rows * shape.vocab * kWordBytes);
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
  if (std::min(batch.sequences, batch.tokens) < kMasked) return 0;
  return static_cast<std::uint64_t>(kWordBytes * shape.vocab * gpu.multiprocessors);
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

std::uint64_t profiled(const Shape& shape, const Options& options, const Batch& batch,
                       const Gpu& gpu) {
  const std::string quantization = quantization_of(shape, options);
  const bool packed = !quantization.empty();
  const std::uint64_t experts = expert_workspace(shape, options, batch.tokens, gpu.arch.sm);
  const bool compiles = !options.eager && !options.warm;
  // Kernels are tried on what they get, with a buffer as large as the cache that it empties.
  const std::uint64_t emptied = compiles && !shape.mixture() ? gpu.l2_bytes : 0;
  std::uint64_t peak = std::max(of_layers(shape, options, batch, gpu.arch.sm, experts) + emptied,
                                logits(shape, options, batch) + experts) +
                       of_step(batch);
  if (!by_second_runner(shape, options) && !shape.first) peak += passed_on(shape, options, batch);
  if (!by_second_runner(shape, options) && shape.last) {
    const std::uint64_t kept = keeps_workspace(shape, options) ? experts : 0;
    peak =
        std::max(peak, kept + masking_buffer(shape, batch, gpu) + sampled(shape, options, batch));
  }
  // What is packed is multiplied by kernels of vLLM's own: cuBLAS's workspace comes with the head.
  if (!packed) peak += blas_workspace(gpu.arch.sm) + (shape.adds_rows() ? kLtWorkspace : 0);
  // Where gate and up outlive what comes of them, the peak is at Marlin's product behind them.
  const bool marlin = quantization.starts_with("awq") || quantization.starts_with("gptq");
  if (marlin && !is_hopper(gpu.arch.sm) && options.eager && shape.keeps_up()) {
    peak += partial_tiles(gpu.multiprocessors);
  }
  if (!compiles || !shape.first) return peak;
  // Before, as they are compiled, on tensors like those (benchmark_combo_kernel): the first one,
  // which looks up what is embedded, on a table as large, and what it writes.
  const std::int64_t written = shape.normed_twice ? 3 : 2;
  return std::max(peak, embedded(shape, options) +
                            static_cast<std::uint64_t>(written * batch.tokens * shape.hidden *
                                                       own_bytes(options)));
}

}  // namespace vramfit::vllm
