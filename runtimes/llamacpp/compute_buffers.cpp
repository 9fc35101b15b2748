#include "runtimes/llamacpp/compute_buffers.h"

#include <algorithm>
#include <string>

#include "model/errors.h"
#include "runtimes/llamacpp/ggml/pool.h"
#include "runtimes/llamacpp/graphs/architectures.h"
#include "runtimes/llamacpp/weights/layer_split.h"

namespace vramfit::llamacpp {
namespace {

ggml::Backend backend_of(const Device& device) {
  return {true, device.capability, device.multiprocessors};
}

/// The devices that a model is on as backends: GPUs in order, the CPU last.
class Devices {
 public:
  Devices(const std::vector<int>& gpus, const std::vector<Device>& devices) : gpus_(gpus) {
    for (const int gpu : gpus) {
      const Device& device = devices[static_cast<std::size_t>(gpu)];
      backends_.push_back(backend_of(device));
    }
    backends_.push_back({});
  }

  const ggml::Backends& backends() const { return backends_; }

  /// The host's kinds of memory are one.
  ggml::BackendId holder(Place place) const {
    if (!place.on_gpu()) return ggml::cpu_of(backends_);
    const auto gpu = std::find(gpus_.begin(), gpus_.end(), place.gpu);
    if (gpu == gpus_.end()) {
      throw BadInput("override-tensor: CUDA" + std::to_string(place.gpu) +
                     ", which split-mode none leaves unused");
    }
    return static_cast<ggml::BackendId>(gpu - gpus_.begin());
  }

  Residence residence(const Placement& placement, const WeightPlaces& places) const {
    Residence residence;
    for (const Place& place : places.tensors) residence.tensors.push_back(holder(place));
    for (const Place& place : places.layers) residence.layers.push_back(holder(place));
    residence.layers.pop_back();
    for (const Place& place : places.rope_factors) residence.rope_factors.push_back(holder(place));
    residence.output = holder(places.tied_head.value_or(places.output()));
    const auto layers = static_cast<std::int64_t>(residence.layers.size());
    residence.fully_offloaded = placement.gpu_layers < 0 || placement.gpu_layers > layers;
    residence.pipeline_parallel = residence.fully_offloaded && gpus_.size() > 1 &&
                                  placement.overrides.empty() && placement.cpu_moe_layers == 0;
    return residence;
  }

 private:
  const std::vector<int>& gpus_;
  ggml::Backends backends_;
};

/// A context's graphs, one at a time. Weights, caches and a graph's tensors are numbered on.
class Reserver {
 public:
  Reserver(const Model& model, const ContextOptions& options, const Residence& residence,
           const ggml::Backends& backends)
      : hparams_(model.hparams),
        options_(options),
        residence_(residence),
        params_(settle(options, hparams_)),
        backends_(backends),
        build_(graph_of(hparams_.arch)),
        weights_(bind_weights(model, residence, loaded_)),
        caches_(loaded_.end_id()),
        memory_(
            make_memory(hparams_, options, params_, residence, ggml::cpu_of(backends_), caches_)),
        ops_(caches_.end_id()),
        scheduler_(backends_,
                   {residence.pipeline_parallel && options.offload_kqv, options.offload_ops}),
        allocator_(backends_) {}

  ComputeBuffers reserve(Reservation reservation) {
    ComputeBuffers buffers;
    buffers.flash = resolve_flash();
    const std::int64_t sequences = params_.sequences;
    const std::int64_t tokens = std::min(params_.context, params_.ubatch);
    const std::int64_t outputs = std::min(tokens, params_.outputs_max);
    buffers.pool_ops.resize(backends_.size());
    // Of prompts a server's graph has as many outputs as one that is run.
    const bool as_run = outputs == sequences;
    const GraphShape prompt{whole_sequences(tokens), sequences, outputs, buffers.flash};
    buffers.gpus = sizes(prompt, reservation);
    if (reservation == Reservation::Allocated) {
      if (as_run) add_pool_ops(buffers.pool_ops);
      // The prompt's graph, which llama.cpp reserves once more after this, changes nothing.
      const auto generation = sizes({sequences, sequences, sequences, buffers.flash}, reservation);
      add_pool_ops(buffers.pool_ops);
      for (std::size_t i = 0; i < generation.size(); ++i) {
        buffers.gpus[i] = std::max(buffers.gpus[i], generation[i]);
      }
      if (!as_run) {
        build({whole_sequences(tokens), sequences, sequences, buffers.flash});
        scheduler_.split(graph_, ops_);
        add_pool_ops(buffers.pool_ops);
      }
    }
    buffers.pool_ops.pop_back();
    buffers.host = buffers.gpus.back();
    buffers.gpus.pop_back();
    buffers.caches = bytes(memory_, backends_);
    buffers.host_caches = buffers.caches.back();
    buffers.caches.pop_back();
    buffers.output = static_cast<std::uint64_t>(hparams_.vocab * sequences) * ggml::kF32.bytes;
    return buffers;
  }

 private:
  std::int64_t whole_sequences(std::int64_t tokens) const {
    return (tokens + params_.sequences - 1) / params_.sequences * params_.sequences;
  }

  // llama_context::resolve_fused_ops: whether each layer's device computes its attention, in a
  // graph of one token a sequence.
  bool resolve_flash() {
    if (options_.flash != FlashAttention::Auto || is_quantized(options_.type_v)) {
      return options_.flash != FlashAttention::Off;
    }
    GraphBuilder probe = build({params_.sequences, params_.sequences, params_.sequences, true});
    scheduler_.split(graph_, ops_);
    for (const GraphBuilder::FlashNode& flash : probe.flash_nodes()) {
      if (scheduler_.backend(*flash.node) != residence_.layers[flash.layer]) return false;
    }
    return true;
  }

  GraphBuilder build(const GraphShape& shape) {
    graph_.clear();
    ops_.clear();
    scheduler_.reset();
    GraphBuilder builder(
        {hparams_, weights_, memory_, residence_, params_, options_.offload_kqv, backends_}, shape,
        ops_, graph_, scheduler_);
    build_(builder);
    return builder;
  }

  std::vector<std::uint64_t> sizes(const GraphShape& shape, Reservation reservation) {
    build(shape);
    // ggml_backend_sched_reserve_size forgets which backend a builder wanted.
    if (reservation == Reservation::Measured) scheduler_.reset();
    const ggml::PlacedGraph placed = scheduler_.split(graph_, ops_);
    return allocator_.reserve(placed, ops_.end_id());
  }

  /// Of the graph that was split last.
  void add_pool_ops(std::vector<ggml::PoolOps>& ops) {
    for (const ggml::Split& split : scheduler_.splits()) {
      const auto where = static_cast<std::uint8_t>(split.backend);
      if (!backends_[where].cuda) continue;
      for (std::size_t i = split.begin; i < split.end; ++i) ops[where].add(*graph_.nodes[i]);
    }
  }

  const Hparams& hparams_;
  const ContextOptions& options_;
  const Residence& residence_;
  ContextParams params_;
  const ggml::Backends& backends_;
  BuildGraph build_;
  ggml::Ops loaded_;
  Weights weights_;
  ggml::Ops caches_;
  Memory memory_;
  ggml::Ops ops_;
  ggml::Graph graph_;
  ggml::Scheduler scheduler_;
  ggml::GraphAllocator allocator_;
};

/// What each of the model's devices has, as a list of all GPUs.
template <typename Bytes>
std::vector<Bytes> of_all(const std::vector<Bytes>& devices, const std::vector<int>& gpus,
                          std::size_t count) {
  std::vector<Bytes> all(count);
  for (std::size_t i = 0; i < gpus.size(); ++i) all[static_cast<std::size_t>(gpus[i])] = devices[i];
  return all;
}

// What llama_init_from_model refuses.
void check_cache_types(const Hparams& hparams, const ContextOptions& options) {
  if (is_quantized(options.type_v) && options.flash == FlashAttention::Off) {
    throw BadInput(std::string("a cache of values in ") + options.type_v.name() +
                   " needs flash attention; leave it on, or take fp16");
  }
  if (hparams.latent() && !(options.type_k == options.type_v)) {
    throw BadInput(std::string("of latent attention keys and values are one cache; its types ") +
                   options.type_k.name() + " and " + options.type_v.name() + " have to be equal");
  }
}

}  // namespace

std::uint64_t pool_of(const ggml::PoolOps& ops, const Device& device) {
  return ggml::pool_mapped(ops.most(backend_of(device)));
}

ComputeBuffers compute_buffers(const Model& model, const Placement& placement,
                               const WeightPlaces& places, const ContextOptions& options,
                               const std::vector<Device>& devices, Reservation reservation) {
  check_cache_types(model.hparams, options);
  const std::vector<int> gpus = devices_of(placement, devices.size());
  const Devices backends(gpus, devices);
  const Residence residence = backends.residence(placement, places);
  ComputeBuffers buffers =
      Reserver(model, options, residence, backends.backends()).reserve(reservation);
  buffers.gpus = of_all(buffers.gpus, gpus, devices.size());
  buffers.caches = of_all(buffers.caches, gpus, devices.size());
  buffers.pool_ops = of_all(buffers.pool_ops, gpus, devices.size());
  return buffers;
}

}  // namespace vramfit::llamacpp
