#include "runtimes/vllm/start.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/vllm/buffers.h"
#include "runtimes/vllm/drafts.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/graphs.h"
#include "runtimes/vllm/lora.h"
#include "runtimes/vllm/rank_experts.h"
#include "runtimes/vllm/refusals.h"
#include "runtimes/vllm/releases.h"
#include "runtimes/vllm/seeing.h"
#include "runtimes/vllm/stages.h"
#include "runtimes/vllm/storage.h"
#include "runtimes/vllm/weights.h"

namespace vramfit::vllm {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostSplit = 20 << 20;  // gpu_worker.py: max_split_size_mb, while it loads

/// EngineArgs.get_batch_defaults: of large cards but the A100, and of others; of the server, and of
/// vllm.LLM.
Batch usual_batch(const Gpu& gpu, const Options& options) {
  const bool offline = options.offline;
  const bool large = gpu.vram >= 70 * kGiB && gpu.title.find("A100") == std::string::npos;
  const auto larger = static_cast<std::uint64_t>(release_named(options.release).large_server);
  if (large && larger > 0 && gpu.vram >= larger * kGiB) return {16384, 1024};
  if (large) return {offline ? 16384 : 8192, 1024};
  return {offline ? 8192 : 2048, 256};
}

Batch batch_of(const Options& options, const Gpu& gpu, std::int64_t length) {
  Batch usual = usual_batch(gpu, options);
  if (options.mode == "throughput") usual = {2 * usual.tokens, 2 * usual.sequences};
  Batch batch{options.batched_tokens.value_or(usual.tokens),
              options.sequences.value_or(usual.sequences)};
  if (!options.batched_tokens) batch.tokens = std::min(batch.tokens, batch.sequences * length);
  if (!options.sequences) batch.sequences = std::min(batch.sequences, batch.tokens);
  if (batch.tokens < batch.sequences) {
    throw BadInput("max-num-batched-tokens: " + std::to_string(batch.tokens) +
                   " are fewer than --max-num-seqs, " + std::to_string(batch.sequences) +
                   ", which vLLM refuses; no fewer than these");
  }
  return batch;
}

/// RotaryEmbedding._compute_cos_sin_cache: angles, cosines, sines, and both beside each other,
/// which alone is left.
Block rotations_in_fp32(pytorch::CachingAllocator& torch, std::int64_t elements) {
  const auto half = static_cast<std::uint64_t>(elements * 2);
  const std::array parts = {torch.allocate(half), torch.allocate(half), torch.allocate(half)};
  const Block both = torch.allocate(2 * half);
  for (const Block& part : parts) torch.free(part);
  return both;
}

/// A model's tensors, of which the first `to_host` bytes of layers are put on the host.
void load(pytorch::CachingAllocator& torch, const std::vector<Weight>& weights, const Shape& shape,
          const Options& options, int sm, std::uint64_t to_host) {
  std::vector<std::pair<Block, std::uint64_t>> repacked;
  std::vector<Block> taken_over;
  for (const Weight& weight : weights) {
    const std::vector<std::uint64_t> parts = stored(weight, shape, options, sm);
    if (to_host > 0 && weight.of_layer && !weight.rotations && weight.rows > 1) {
      // UVAOffloader: whole tensors, as they come to be, until there are as many bytes.
      torch.free(torch.allocate(parts.front()));
      to_host -= std::min(to_host, parts.front());
      continue;
    }
    // Of a checkpoint in 16 bits each tensor is there in both for a while; rotations in fp32.
    std::optional<Block> whole;
    if (weight.rotations) {
      whole = rotations_in_fp32(torch, weight.elements());
      if (weight.fp32 || options.type == DType::Fp32) continue;  // they stay as they are
    }
    if (is_quantized_as_it_loads(weight, shape, options)) {
      whole = torch.allocate(2 * parts.front());
    }
    const bool packed = storage_of(weight, shape, options) == Storage::Packed;
    for (const std::uint64_t bytes : parts) {
      const Block block = torch.allocate(bytes);
      if (packed) repacked.emplace_back(block, bytes);
      if (weight.taken_over) taken_over.push_back(block);
    }
    if (whole) torch.free(*whole);
  }
  // process_weights_after_loading: as its kernel reads it, beside what was read.
  for (const auto& [block, bytes] : repacked) {
    torch.allocate(bytes);
    torch.free(block);
  }
  for (const Block& block : taken_over) torch.free(block);
}

/// What is allocated once it has loaded, by which it counts (DeviceMemoryProfiler).
std::uint64_t loaded(const Shape& shape, const Options& options, const Batch& batch,
                     bool second_runner, int sm) {
  pytorch::CachingAllocator torch;
  for (const std::uint64_t bytes : input_buffers(shape, batch, second_runner)) {
    torch.allocate(bytes);
  }
  torch.set_max_split(kMostSplit);
  const std::uint64_t before = torch.allocated();
  // Where what several layers see is put (qwen3_vl.py: deepstack_input_embeds).
  const std::int64_t seen = batch.tokens * shape.hidden * own_bytes(options);
  const std::int64_t deep = has_tower(shape, options) ? shape.deep : 0;
  for (std::int64_t i = 0; i < deep; ++i) torch.allocate(static_cast<std::uint64_t>(seen));
  const auto to_host =
      static_cast<std::uint64_t>(offloads(shape, options) ? options.offloaded * kGiB : 0);
  load(torch, weights_of(shape, options), shape, options, sm, to_host);
  for (const std::uint64_t bytes : adapter_slots(shape, options, batch)) torch.allocate(bytes);
  if (shape.draft != nullptr && shape.last) {
    const Options own = draft_options(*shape.draft, options);
    load(torch, draft_weights(*shape.draft, shape, own), shape.draft->shape, own, sm, 0);
  }
  return torch.allocated() - before;
}

std::uint64_t sum(const std::vector<std::uint64_t>& list) {
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : list) all += bytes;
  return all;
}

/// Of ranks that meet, with a communicator each: those that share layers or have them one behind
/// the other, replicas of a mixture, and those that share its experts.
std::uint64_t groups_of(const Shape& shape, const Options& options) {
  const bool replicas = shape.mixture() && options.data_parallel > 1;
  const bool experts = shape.mixture() && ranks_of_experts(options) > 1;
  const bool layers = options.tensor_parallel * options.pipeline > 1;
  return std::uint64_t{layers} + std::uint64_t{replicas} + std::uint64_t{experts};
}

/// PyTorch's kernels and the streams that it makes, beside a bare context.
std::uint64_t kernels_of(const Gpu& gpu, const RuntimeOverhead& torch) {
  const std::uint64_t all = torch["context"] + torch["streams"];
  return all - std::min(all, gpu.overhead.context);
}

/// What the card lost outside of PyTorch when the profile run is over: kernels, streams, cuBLAS.
/// Where ranks meet, the first two are there before it looks.
std::uint64_t outside_of(const Gpu& gpu, const Shape& shape, const Options& options) {
  const RuntimeOverhead* torch = gpu.overhead.of("pytorch", "2.11");
  if (torch == nullptr) return 0;
  const bool alone = groups_of(shape, options) == 0;
  if (release_named(options.release).handles_first) return alone ? (*torch)["streams"] : 0;
  return (*torch)["cublas"] + (alone ? kernels_of(gpu, *torch) : 0);
}

/// What releases have there before they look that others count.
std::uint64_t handles_of(const Gpu& gpu, const Shape& shape, const Options& options) {
  const RuntimeOverhead* torch = gpu.overhead.of("pytorch", "2.11");
  if (torch == nullptr || !release_named(options.release).handles_first) return 0;
  const std::uint64_t kernels = kernels_of(gpu, *torch);
  const std::uint64_t alone = kernels - std::min(kernels, (*torch)["streams"]);
  return (*torch)["cublas"] + blas_workspace(gpu.arch.sm) +
         (groups_of(shape, options) == 0 ? alone : 0);
}

/// What ranks reach each other by, which is there before it looks: NCCL's communicators, and
/// buffers of custom all-reduce and symmetric memory with their signals.
std::uint64_t peers_of(const Gpu& gpu, const Shape& shape, const Options& options) {
  const std::uint64_t buffers = options.tensor_parallel > 1 ? std::uint64_t{10 + 8 + 66} << 20 : 0;
  const RuntimeOverhead* torch = gpu.overhead.of("pytorch", "2.11");
  const std::uint64_t groups = groups_of(shape, options);
  if (groups == 0 || torch == nullptr) return 0;
  const std::uint64_t first =
      (*torch)["process_group"] - (*torch)["streams"] + (*torch)["collectives"];
  return kernels_of(gpu, *torch) + first +
         (groups - 1) * ((*torch)["more_communicators"] + (*torch)["more_collectives"]) + buffers;
}

/// Of its cache: as many blocks as there is room for, or why there are none. A length that is to
/// fit is what `longest` of all stages has room for.
void plan(Start& start, std::int64_t longest, const Options& options) {
  start.longest = longest;
  if (options.fits_length) {
    start.length = std::max<std::int64_t>(std::min(start.length, longest), 1);
  }
  start.needed = start.cache.blocks_of(start.length) * options.concurrency;
  if (start.free < start.requested) {
    start.refusal = refusals::too_little_free(start, options);
  } else if (start.refused()) {
    // As it profiled.
  } else if (options.fits_length && longest == 0) {
    start.refusal = refusals::no_length();
  } else if (options.cache_bytes && start.weights + start.buffers + start.outside +
                                            std::max(start.activations, *options.cache_bytes) >
                                        start.free) {
    start.refusal = refusals::out_of_memory();
  } else if (start.available <= 0) {
    start.refusal = refusals::no_memory();
  } else if (start.needed > start.blocks) {
    start.refusal = options.concurrency > 1 && start.blocks >= start.needed / options.concurrency
                        ? ""
                        : refusals::too_long(start);
  }
}

}  // namespace

std::uint64_t Start::reserved_at_rest() const {
  return weights + buffers + cached() + graph_pool + sampling;
}

std::uint64_t Start::reserved_serving() const {
  return weights + buffers + cached() + graph_pool + std::max(sampling, working);
}

std::int64_t Start::beyond(std::uint64_t reserved) const {
  return static_cast<std::int64_t>(context + peers + outside + graph_code + reserved) -
         static_cast<std::int64_t>(requested);
}

double Start::concurrency() const {
  const std::int64_t one = cache.blocks_of(length);
  return one == 0 ? 0 : static_cast<double>(blocks) / static_cast<double>(one);
}

namespace {

/// get_default_config of fused_moe.py: of more than 512 tokens tiles of 128 x 64 and 64 x 128, two
/// of each at once; compute capabilities 8.6, 8.9 and 12 have 99 KiB for them.
bool lacks_shared_memory(const Shape& shape, const Options& options, const Batch& batch, int sm) {
  constexpr std::int64_t kFew = 512;
  const bool narrow = sm == 86 || sm == 89 || sm / 10 == 12;
  return narrow && shape.mixture() && options.type == DType::Fp32 && batch.tokens > kFew &&
         quantization_of(shape, options).empty();
}

/// What a stage of the model counts, and as many blocks as it has room for.
Start counted(const Shape& model, const Shape& shape, const Options& options, const Gpu& gpu) {
  Start start;
  start.length = options.length.value_or(shape.default_length());
  start.batch = batch_of(options, gpu, start.length);
  const std::uint64_t gone = gpu.overhead.driver_reserved;
  start.total = gpu.vram - std::min(gpu.vram, gone);
  start.context = gpu.overhead.context;
  start.peers = peers_of(gpu, shape, options) + handles_of(gpu, shape, options);
  start.free = gpu.room - std::min(gpu.room, gone + start.context + start.peers);
  start.requested =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(start.total) * options.utilization));
  const Release& release = release_named(options.release);
  const bool second = by_second_runner(shape, options);
  if (lacks_shared_memory(shape, options, start.batch, gpu.arch.sm)) {
    start.refusal = refusals::too_little_shared();
  }
  start.weights = loaded(shape, options, start.batch, second, gpu.arch.sm);
  start.activations = profiled(shape, options, start.batch, gpu);
  start.outside = outside_of(gpu, shape, options);
  start.buffers =
      sum(input_buffers(shape, start.batch, second)) +
      (second && shape.last ? sum(sampler_buffers(shape, start.batch, options.drafted)) : 0) +
      sum(draft_buffers(shape, options, start.batch, second)) +
      (second && !shape.first ? passed_on(shape, options, start.batch) : 0);
  if (release.counts_buffers) {
    start.counted_buffers = start.buffers + kept_of_profile(shape, options, start.batch, gpu);
  }
  if (!second) {
    start.graphs = graph_estimate(shape, options, start.batch, gpu);
  } else if (release.second_estimates_graphs) {
    start.graphs =
        graph_pool(shape, options, start.batch, gpu) + graph_code(shape, options, start.batch);
  }
  start.cache = cache_of(model, shape, options, start.batch.tokens, gpu.arch.sm);
  start.available =
      options.cache_bytes
          ? static_cast<std::int64_t>(*options.cache_bytes)
          : static_cast<std::int64_t>(start.requested) -
                static_cast<std::int64_t>(start.weights + start.activations + start.outside +
                                          start.counted_buffers + start.graphs);
  start.blocks = start.cache.blocks_in(start.available);
  return start;
}

/// What it takes beyond what it counts, once its cache is there.
void add_uncounted(Start& start, const Shape& shape, const Options& options, const Gpu& gpu) {
  start.buffers += sum(table_buffers(start.cache, start.batch, start.length));
  if (!release_named(options.release).handles_first) start.buffers += blas_workspace(gpu.arch.sm);
  start.graph_pool = graph_pool(shape, options, start.batch, gpu);
  start.graph_code = graph_code(shape, options, start.batch);
  if (shape.last) start.buffers += masking_buffer(shape, start.batch, gpu);
  if (keeps_workspace(shape, options, gpu.arch.sm)) {
    start.buffers += expert_workspace(shape, options, start.batch.tokens, gpu.arch.sm);
  }
  if (shape.last) {
    start.sampling = static_cast<std::uint64_t>(4 * shape.vocab) *
                     static_cast<std::uint64_t>(start.batch.sequences);
  }
  start.working = working_set(shape, options, start.batch);
}

}  // namespace

Start start_of(const Shape& shape, const Options& options, const Gpu& gpu) {
  const std::vector<Shape> stages = stages_of(shape, options.pipeline);
  std::vector<Start> starts;
  std::int64_t longest = shape.positions;
  for (const Shape& stage : stages) {
    starts.push_back(counted(shape, stage, options, gpu));
    const Start& start = starts.back();
    longest = std::min(longest, start.cache.longest(start.blocks, shape.positions));
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    plan(starts[i], longest, options);
    add_uncounted(starts[i], stages[i], options, gpu);
  }
  // All have as many blocks as the one with the fewest; none starts where one is refused.
  return *std::min_element(starts.begin(), starts.end(), [](const Start& a, const Start& b) {
    return std::pair(!a.refused(), a.blocks) < std::pair(!b.refused(), b.blocks);
  });
}

}  // namespace vramfit::vllm
