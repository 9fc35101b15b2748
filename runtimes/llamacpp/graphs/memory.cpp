#include "runtimes/llamacpp/graphs/memory.h"

#include <algorithm>
#include <string>

#include "model/errors.h"
#include "runtimes/llamacpp/ggml/backend.h"

namespace vramfit::llamacpp {
namespace {

using ggml::BackendId;
using ggml::Type;

// llama_hparams::has_kv, and create_memory's filters.
bool has_cache(const Hparams& hparams, std::size_t layer) {
  const auto last = static_cast<std::size_t>(hparams.run_layers());
  const bool own =
      hparams.kv_from_start < 0 || layer < static_cast<std::size_t>(hparams.kv_from_start);
  return own && layer < last && !hparams.layers[layer].recurrent;
}

// The layer whose cache a layer without one looks at: create_memory's `reuse`.
std::size_t reused(const Hparams& hparams, std::size_t layer) {
  return static_cast<std::size_t>(hparams.kv_from_start - (hparams.layers[layer].sliding ? 2 : 1));
}

/// A head size that all layers of a cache share.
class CommonHead {
 public:
  void see(std::int64_t size) { size_ = size_ == 0 || size_ == size ? size : -1; }
  bool turns(Type type, std::int64_t head) const {
    return size_ > 0 && type.quantised() && head % 64 == 0;
  }
  // build_input_k_rot: the largest power of 2 that divides it.
  std::int64_t largest_rotation() const {
    std::int64_t rotation = 64;
    do {
      rotation *= 2;
    } while (size_ % rotation == 0);
    return rotation / 2;
  }

 private:
  std::int64_t size_ = 0;
};

class MemoryMaker {
 public:
  MemoryMaker(const Hparams& hparams, const ContextOptions& options, const ContextParams& params,
              const Residence& residence, BackendId host, ggml::Ops& ops)
      : hparams_(hparams),
        options_(options),
        params_(params),
        residence_(residence),
        host_(host),
        ops_(ops) {}

  // llama_kv_cache's constructor, of layers that slide, or of those that do not.
  KvCache cache(bool sliding, std::int64_t cells) {
    const Type type_k = ggml::type_of(options_.type_k);
    const Type type_v = ggml::type_of(options_.type_v);
    KvCache cache;
    cache.layers.resize(hparams_.layers.size());
    cache.cells = cells;
    cache.streams = params_.streams;
    cache.transposed = options_.flash == FlashAttention::Off;
    CommonHead k;
    CommonHead v;
    for (std::size_t il = 0; il < cache.layers.size(); ++il) {
      if (!has_cache(hparams_, il) || hparams_.layers[il].sliding != sliding) continue;
      const Layer& layer = hparams_.layers[il];
      const std::int64_t width_v = cache.transposed ? widest_v(hparams_) : hparams_.v_width(layer);
      const BackendId where = options_.offload_kqv ? residence_.layers[il] : host_;
      cache.layers[il].k =
          ops_.allocated(type_k, {hparams_.k_width(layer), cells, params_.streams, 1}, where);
      k.see(hparams_.head_k_of(layer));
      if (hparams_.latent()) continue;
      cache.layers[il].v = ops_.allocated(type_v, {width_v, cells, params_.streams, 1}, where);
      v.see(hparams_.head_v_of(layer));
    }
    if (hparams_.kv_from_start >= 0) {
      check_reuse();
      for (auto il = static_cast<std::size_t>(hparams_.kv_from_start); il < cache.layers.size();
           ++il) {
        if (hparams_.layers[il].sliding != sliding) continue;
        cache.layers[il] = cache.layers[reused(hparams_, il)];
      }
    }
    const Layer& first = hparams_.layers.at(0);
    if (k.turns(type_k, hparams_.head_k_of(first))) cache.rotation_k = k.largest_rotation();
    if (v.turns(type_v, hparams_.head_v_of(first))) cache.rotation_v = 64;
    return cache;
  }

  /// The last two layers with a cache of their own are what the others look at.
  void check_reuse() const {
    const std::int64_t own = hparams_.kv_from_start;
    if (own >= 2 && own <= static_cast<std::int64_t>(hparams_.layers.size())) return;
    throw BadInput("attention.shared_kv_layers: " + std::to_string(own) +
                   " layers with a cache of their own; 2 or more, and no more than there are");
  }

  // llama_memory_recurrent: a row for each sequence.
  std::vector<ggml::Tensor*> states(std::int64_t size) {
    std::vector<ggml::Tensor*> states(hparams_.layers.size(), nullptr);
    for (std::size_t il = 0; il < states.size(); ++il) {
      if (!hparams_.layers[il].recurrent) continue;
      const BackendId where = options_.offload_kqv ? residence_.layers[il] : host_;
      states[il] = ops_.allocated(ggml::kF32, {size, params_.sequences, 1, 1}, where);
    }
    return states;
  }

 private:
  const Hparams& hparams_;
  const ContextOptions& options_;
  const ContextParams& params_;
  const Residence& residence_;
  BackendId host_;
  ggml::Ops& ops_;
};

}  // namespace

std::int64_t widest_v(const Hparams& hparams) {
  std::int64_t most = 0;
  for (const Layer& layer : hparams.layers) most = std::max(most, hparams.v_width(layer));
  return most;
}

std::int64_t embd_r(const Hparams& hparams) {
  if (hparams.shortconv_cache != 0) return hparams.embd * (hparams.shortconv_cache - 1);
  return (hparams.ssm_conv > 0 ? hparams.ssm_conv - 1 : 0) *
         (hparams.ssm_inner + 2 * hparams.ssm_groups * hparams.ssm_state);
}

std::int64_t embd_s(const Hparams& hparams) { return hparams.ssm_state * hparams.ssm_inner; }

std::vector<MemoryBytes> bytes(const Memory& memory, const ggml::Backends& backends) {
  std::vector<MemoryBytes> bytes(backends.size());
  // Each tensor begins aligned (ggml_backend_alloc_ctx_tensors_from_buft).
  const auto size = [&](const ggml::Tensor& tensor) {
    const ggml::Backend& backend = backends[static_cast<std::size_t>(tensor.buffer)];
    const std::uint64_t unit = ggml::alignment(backend);
    return (ggml::alloc_size(backend, tensor) + unit - 1) / unit * unit;
  };
  std::vector<const ggml::Tensor*> counted;  // layers may share one
  for (const KvCache* cache : {&memory.base, &memory.sliding}) {
    for (const KvCache::Layer& layer : cache->layers) {
      for (const ggml::Tensor* tensor : {layer.k, layer.v}) {
        if (tensor == nullptr) continue;
        if (std::find(counted.begin(), counted.end(), tensor) != counted.end()) continue;
        counted.push_back(tensor);
        bytes[static_cast<std::size_t>(tensor->buffer)].all += size(*tensor);
      }
    }
  }
  for (const std::vector<ggml::Tensor*>* states : {&memory.r, &memory.s}) {
    for (const ggml::Tensor* state : *states) {
      if (state != nullptr) bytes[static_cast<std::size_t>(state->buffer)].states += size(*state);
    }
  }
  for (MemoryBytes& each : bytes) each.all += each.states;
  return bytes;
}

Memory make_memory(const Hparams& hparams, const ContextOptions& options,
                   const ContextParams& params, const Residence& residence, BackendId host,
                   ggml::Ops& ops) {
  MemoryMaker make(hparams, options, params, residence, host, ops);
  Memory memory;
  memory.slides = hparams.window > 0;
  memory.base = make.cache(false, params.context_seq);
  if (memory.slides) {
    const std::int64_t seen = hparams.window * (options.unified ? params.sequences : 1);
    const std::int64_t cells = whole_cells(std::min(params.context_seq, seen + params.ubatch));
    memory.sliding = make.cache(true, options.swa_full ? params.context_seq : cells);
  }
  memory.r = make.states(embd_r(hparams));
  memory.s = make.states(embd_s(hparams));
  return memory;
}

}  // namespace vramfit::llamacpp
