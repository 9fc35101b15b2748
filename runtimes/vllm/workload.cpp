#include "runtimes/vllm/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "model/errors.h"
#include "runtimes/sum_allocator.h"
#include "runtimes/vllm/command.h"
#include "runtimes/vllm/drafts.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/partition.h"
#include "runtimes/vllm/rank_experts.h"
#include "runtimes/vllm/seeing.h"
#include "runtimes/vllm/storage.h"
#include "runtimes/vllm/weights.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kMostConcurrent = 1 << 16;
/// A start that is refused though all of it has room lacks such a part of the card in the ledger:
/// it is OOM then, and never TIGHT, whatever figures may be off by.
constexpr std::uint64_t kRefusedLacks = 8;
constexpr double kShareStep = 1000;  ///< shares are told in thousandths

double part(std::uint64_t bytes, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(of);
}

/// With room for the requests that it is to hold.
double least_share(const Start& start) {
  const std::uint64_t counted = start.weights + start.activations + start.outside +
                                start.counted_buffers + start.graphs +
                                start.cache.block_bytes * static_cast<std::uint64_t>(start.needed);
  return std::ceil(part(counted, start.total) * kShareStep) / kShareStep;
}

/// That leaves room for what it takes beyond it.
double most_share(const Start& start) {
  const std::int64_t beyond = std::max<std::int64_t>(start.beyond(start.reserved_serving()), 0);
  const std::uint64_t there = start.free + start.context + start.peers;
  const std::uint64_t left = there - std::min(there, static_cast<std::uint64_t>(beyond));
  return std::floor(part(std::min(left, start.free), start.total) * kShareStep) / kShareStep;
}

Serving told(const Start& start) {
  Serving serving;
  serving.requested = start.requested;
  serving.weights = start.weights;
  serving.activations = start.activations;
  serving.outside = start.outside + start.counted_buffers;
  serving.graphs = start.graphs;
  serving.available = start.available;
  serving.needed = start.cache.block_bytes * static_cast<std::uint64_t>(start.needed);
  serving.blocks = start.refused() ? 0 : start.blocks;
  serving.block_size = start.cache.groups.front().block;
  for (const CacheGroup& group : start.cache.groups) {
    serving.block_size = std::min(serving.block_size, group.block);
  }
  serving.length = start.length;
  serving.longest = start.longest;
  if (!start.refused()) {
    serving.concurrency = start.concurrency();
    serving.tokens =
        static_cast<std::int64_t>(serving.concurrency * static_cast<double>(start.length));
    serving.beyond_at_rest = start.beyond(start.reserved_at_rest());
    serving.beyond_serving = start.beyond(start.reserved_serving());
  }
  serving.batched_tokens = start.batch.tokens;
  serving.sequences = start.batch.sequences;
  serving.least_share = least_share(start);
  serving.most_share = most_share(start);
  serving.refusal = start.refusal;
  return serving;
}

/// What it holds when it has served. Where its cache has no room for what it is to hold, it is as
/// large as it has to be, and what it leaves of the card to others is taken as well: so much would
/// be missing. A start that is refused for another reason has no `room` either.
void allocate(Ledger& ledger, const Start& start, std::uint64_t room) {
  {
    const StageScope scope(ledger, Stage::Loaded, 0);
    ledger.allocate("weights", Category::Parameters, start.weights);
  }
  const StageScope scope(ledger, Stage::Prefill, 1);
  const std::uint64_t needed = start.cache.block_bytes * static_cast<std::uint64_t>(start.needed);
  const bool lacks = static_cast<std::int64_t>(needed) > start.available;
  if (!lacks && !start.refused()) {
    ledger.allocate("KV cache", Category::KvCache, start.cached());
    ledger.allocate("buffers", Category::Workspace, start.buffers);
    ledger.allocate("CUDA graphs", Category::Workspace, start.graph_pool);
    ledger.allocate("activations", Category::Activations, std::max(start.sampling, start.working));
    return;
  }
  ledger.allocate("activations", Category::Activations, start.activations);
  const std::uint64_t kept = start.total - std::min(start.total, start.requested);
  const std::uint64_t beyond = kept - std::min(kept, start.context);
  if (beyond > 0) ledger.allocate("beyond its share", Category::Workspace, beyond);
  const std::uint64_t taken = start.weights + start.activations + beyond + needed;
  const bool more = start.refused() && room < kUnlimitedBytes && taken <= room;
  ledger.allocate("KV cache", Category::KvCache,
                  needed + (more ? room - taken + room / kRefusedLacks : 0));
}

/// Inputs that share a scale, of which each product has whole groups.
void require_even_groups(const std::vector<Weight>& weights, const Shape& shape,
                         const Options& options, const std::string& whose) {
  if (shape.group <= 0) return;
  for (const Weight& weight : weights) {
    const bool packed = storage_of(weight, shape, options) == Storage::Packed;
    if (!packed || weight.columns % shape.group == 0) continue;
    throw BadInput("quantization_config: " + std::to_string(weight.columns) +
                   " inputs of a product" + whose + " are not shared out evenly by groups of " +
                   std::to_string(shape.group) + ", which vLLM refuses; a model that is stored so");
  }
}

}  // namespace

Facts EngineWorkload::facts() const {
  return {.weights = options_.type, .batch = options_.concurrency, .seq = positions()};
}

std::int64_t EngineWorkload::parameters(const ModelConfig&) const {
  Options alone = options_;
  alone.tensor_parallel = 1;
  alone.pipeline = 1;
  alone.data_parallel = 1;
  std::int64_t elements = 0;
  for (const Weight& weight : weights_of(*shape_, alone)) {
    if (!weight.rotations) elements += weight.elements();
  }
  return elements;
}

std::int64_t EngineWorkload::size(const SearchAxis& axis) const {
  if (axis == kConcurrencyAxis) return options_.concurrency;
  return options_.length.value_or(shape_->default_length());
}

std::shared_ptr<const Workload> EngineWorkload::resized(const SearchAxis& axis,
                                                        std::int64_t size) const {
  auto other = std::make_shared<EngineWorkload>(*this);
  if (axis == kConcurrencyAxis) {
    other->options_.concurrency = size;
  } else {
    other->options_.length = size;
    other->options_.fits_length = false;
  }
  return other;
}

std::int64_t EngineWorkload::limit(const SearchAxis& axis, const ModelConfig&) const {
  return axis == kConcurrencyAxis ? kMostConcurrent : shape_->positions;
}

/// Types that vLLM has no kernels for, or knows to be too narrow (_FLOAT16_NOT_SUPPORTED_MODELS).
void EngineWorkload::refuse_type() const {
  const std::string& of = shape_->architecture;
  if (options_.type == DType::Fp16 && (of.starts_with("Gemma2") || of.starts_with("Gemma3"))) {
    throw BadInput("precision: vLLM refuses " + of + " in float16; bf16 or fp32");
  }
  if (options_.type != DType::Fp32) return;
  if (options_.adapters > 0) {
    throw BadInput("precision: vLLM's kernels of adapters take 16 bits alone; bf16 or fp16");
  }
  if (shape_->layers.front().keeps == Keeps::Latent) {
    throw BadInput("precision: vLLM's kernels of MLA take 16 bits alone; bf16 or fp16");
  }
}

/// Classes of mixtures that look for a layer of that kind when they are made.
void EngineWorkload::refuse_no_mixture() const {
  constexpr std::array<std::string_view, 5> kWanting = {
      "MixtralForCausalLM", "Qwen3MoeForCausalLM", "Qwen3NextForCausalLM", "Glm4MoeForCausalLM",
      "HunYuanMoEV1ForCausalLM"};
  const bool wants =
      std::find(kWanting.begin(), kWanting.end(), shape_->architecture) != kWanting.end();
  const bool has = std::any_of(shape_->layers.begin(), shape_->layers.end(),
                               [](const Layer& layer) { return layer.experts; });
  if (!wants || has) return;
  throw BadInput(shape_->name + ": none of its layers is a mixture, without which vLLM refuses " +
                 shape_->architecture + "; more layers");
}

void EngineWorkload::validate(const ModelConfig&) const {
  quantization_of(*shape_, options_);
  if (options_.adapters > 0 && shape_->adapted == Adapted::Nothing) {
    throw BadInput("enable-lora: " + shape_->architecture +
                   " does not support LoRA yet, by which vLLM refuses it; without it");
  }
  // LogitsProcessorWithLoRA: of classes whose head has slots.
  constexpr std::int64_t kMostAdapted = 258048;
  const bool head = shape_->adapted == Adapted::Head || shape_->adapted == Adapted::HeadTwice;
  if (options_.adapters > 0 && head && shape_->vocab > kMostAdapted) {
    throw BadInput("enable-lora: " + std::to_string(shape_->vocab) +
                   " words are more than the 258048 that vLLM takes beside adapters of a head; "
                   "without it");
  }
  refuse_type();
  refuse_no_mixture();
  // What sees in few bits is told of where these are bytes.
  const bool told =
      !shape_->tower.empty() && (!shape_->tower_stored || in_bytes(*shape_, options_));
  if (has_tower(*shape_, options_) && !told) {
    throw BadInput("language-model-only: what sees of " + shape_->name +
                   " is not predicted; with it, its text alone is");
  }
  if (has_tower(*shape_, options_) && !by_second_runner(*shape_, options_) &&
      shape_->shown.tokens == 0) {
    throw BadInput("language-model-only: what vLLM's first runner shows " + shape_->name +
                   " as it profiles is not predicted; with it, or without drafts by ngram or a "
                   "smaller model");
  }
  const bool as_it_loads = shape_->quantization.empty() && in_bytes(*shape_, options_);
  if (options_.offloaded > 0 && as_it_loads && offloads(*shape_, options_)) {
    throw BadInput(
        "cpu-offload-gb: weights that are made fp8 as they load are nowhere before that, so that "
        "vLLM fails to put them on the host; without --quantization");
  }
  require_even_groups(weights_of(*shape_, options_), *shape_, options_, "");
  if (shape_->draft != nullptr) {
    const Draft& draft = *shape_->draft;
    const Options own = draft_options(draft, options_);
    require_even_groups(draft_weights(draft, *shape_, own), draft.shape, own,
                        " of " + draft.shape.name + ", which drafts,");
  }
  require_even_shares(*shape_, options_);
  if (options_.pipeline > static_cast<std::int64_t>(shape_->layers.size())) {
    throw BadInput("pipeline-parallel: " + std::to_string(options_.pipeline) +
                   " stages are more than its layers; no more than these");
  }
  if (options_.length && *options_.length > shape_->positions) {
    throw BadInput("max-model-len: " + std::to_string(*options_.length) +
                   " is more than the config's " + std::to_string(shape_->positions) +
                   ", which vLLM refuses; no more than that");
  }
}

Outcome EngineWorkload::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
                            const Extent& extent) const {
  validate(config);
  const Start start = start_of(*shape_, options_, gpu);
  Outcome outcome;
  outcome.overhead = gpu.overhead;
  outcome.overhead.libraries =
      start.peers + start.outside + (start.refused() ? 0 : start.graph_code);
  SumAllocator sum(capacity + extent.extra_capacity, kGranularity);
  Ledger ledger(sum, Counts::Requested, extent.detail.events);
  outcome.report = report_on(ledger, [&] { allocate(ledger, start, capacity); });
  for (StageRecord& stage : outcome.report.stages) {
    stage.device_used = stage.reserved + outcome.overhead.context + outcome.overhead.libraries;
  }
  outcome.serving = told(start);
  outcome.serving->command = command_of(*shape_, options_, start);
  if (options_.offloaded > 0 && !offloads(*shape_, options_)) {
    outcome.notes.emplace_back(
        "vLLM's second model runner, which runs this model, puts no weights on the host: "
        "--cpu-offload-gb changes nothing");
  }
  if (options_.pipeline > 1) {
    outcome.notes.push_back("figures are of the fullest of " + std::to_string(options_.pipeline) +
                            " stages");
  }
  const std::int64_t sharing = ranks_of_experts(options_);
  if (sharing > 1) {
    outcome.notes.push_back("figures are of each of " + std::to_string(sharing) + " GPUs");
  }
  if (options_.data_parallel > 1 && !shape_->mixture()) {
    outcome.notes.emplace_back(
        "engines side by side share nothing of a model without experts: each is as one alone");
  }
  return outcome;
}

}  // namespace vramfit::vllm
