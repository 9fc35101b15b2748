#include "runtimes/llamacpp/ollama.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "runtimes/llamacpp/options.h"

namespace vramfit::llamacpp {
namespace {

/// server/sched.go, load: "not safe with num_parallel > 1"; of those that are read here.
bool has_one_slot(const Hparams& hparams) {
  constexpr std::array<std::string_view, 3> kArchitectures = {"qwen3next", "lfm2", "lfm2moe"};
  return std::find(kArchitectures.begin(), kArchitectures.end(), hparams.arch) !=
         kArchitectures.end();
}

struct Batch {
  std::int64_t tokens;
  std::int64_t beyond;    ///< positions of all slots: of more it is considered
  std::uint64_t percent;  ///< of what is free, which the estimate may not pass
  std::uint64_t taken;    ///< by its buffers, bytes
};

constexpr Batch kLonger[] = {{2048, 32768, 60, 2048 * kMiB}, {1024, 4096, 75, 768 * kMiB}};
constexpr std::int64_t kUsualBatch = 512;
constexpr std::int64_t kSmallestBatch = 256;

/// Of a model that nobody loaded yet.
std::uint64_t estimated(const ContextOptions& context, const Model& model) {
  std::uint64_t weights = 0;
  for (const ModelTensor& tensor : model.tensors) weights += tensor.bytes();
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;
  for (const Layer& layer : model.hparams.layers) {
    heads = std::max(heads, layer.heads);
    if (layer.kv_heads == 0) continue;
    kv_heads = kv_heads == 0 ? layer.kv_heads : std::min(kv_heads, layer.kv_heads);
  }
  const std::int64_t elements = 2 * std::ssize(model.hparams.layers) *
                                std::max<std::int64_t>(kv_heads, 1) * (model.hparams.embd / heads) *
                                context.context;
  return weights + 2 * static_cast<std::uint64_t>(elements);
}

}  // namespace

void start_as_ollama(ContextOptions& context, const Hparams& hparams) {
  if (context.context_a_slot == 0) return;
  if (has_one_slot(hparams)) context.sequences = 1;
  // llm/llama_server.go: no more than it was trained on.
  const std::int64_t trained = hparams.context_train;
  const std::int64_t a_slot =
      trained > 0 ? std::min(context.context_a_slot, trained) : context.context_a_slot;
  context.context = a_slot * context.sequences;
}

std::int64_t ollamas_batch(const ContextOptions& context, const Model& model,
                           const std::vector<Device>& devices) {
  if (context.flash == FlashAttention::Off) {
    constexpr std::uint64_t kSmall = 8192 * kMiB;
    const bool small = std::any_of(devices.begin(), devices.end(),
                                   [](const Device& device) { return device.free <= kSmall; });
    return context.context > 4096 && small ? kSmallestBatch : kUsualBatch;
  }
  std::uint64_t free = 0;
  for (const Device& device : devices) free += device.free;
  const std::uint64_t taken = estimated(context, model);
  const auto fits = [&](const Batch& batch) {
    return context.context > batch.beyond && taken <= free / 100 * batch.percent &&
           taken + batch.taken <= free / 100 * 80;
  };
  const auto* batch = std::find_if(std::begin(kLonger), std::end(kLonger), fits);
  return batch == std::end(kLonger) ? kUsualBatch : batch->tokens;
}

std::vector<std::string> ollamas_cautions(const ContextOptions& context, const Hparams& hparams) {
  std::vector<std::string> list;
  if (context.context_a_slot == 0) return list;
  if (hparams.context_train > 0 && context.context_a_slot > hparams.context_train) {
    list.push_back("num-ctx " + std::to_string(context.context_a_slot) +
                   ": Ollama shortens it to " + std::to_string(hparams.context_train) +
                   ", which the model was trained on");
  }
  if (context.batch_left_open) {
    list.emplace_back(
        "num-batch: as Ollama sets it, 512, or 1024 or 2048 for a long context that it believes "
        "leaves room on the card");
  }
  if (has_one_slot(hparams)) {
    list.push_back("Ollama starts " + hparams.arch + " with one slot, whatever is asked for");
  }
  return list;
}

}  // namespace vramfit::llamacpp
