#include "runtimes/llamacpp/workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/gguf/types.h"
#include "runtimes/llamacpp/base/context_params.h"
#include "runtimes/llamacpp/base/limits.h"
#include "runtimes/llamacpp/breakdown.h"
#include "runtimes/llamacpp/fit_choice.h"
#include "runtimes/sum_allocator.h"

namespace vramfit::llamacpp {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLongestSearched = std::int64_t{1} << 24;  ///< positions
constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;        // of cudaMalloc

const char* name(FlashAttention flash) {
  return flash == FlashAttention::On ? "on" : flash == FlashAttention::Off ? "off" : "auto";
}

const char* name(SplitMode mode) {
  return mode == SplitMode::None ? "none" : mode == SplitMode::Row ? "row" : "layer";
}

Json overrides_json(const Placement& placement) {
  Json list = Json::array();
  for (const auto& [pattern, buffer] : placement.overrides) list.push_back(pattern + "=" + buffer);
  return list;
}

std::vector<Device> devices_of(const Gpu& gpu, std::int64_t count, std::uint64_t free) {
  return std::vector<Device>(static_cast<std::size_t>(count),
                             {free, gpu.arch.sm * 10, gpu.multiprocessors});
}

DeviceParts parts_of(const std::string& device, const Buffers& buffers) {
  return {device,
          {{"model", buffers.model}, {"context", buffers.context}, {"compute", buffers.compute}}};
}

/// Whether cuBLAS is loaded: what is not quantised is multiplied by it, as are scores without flash
/// attention and what experts are chosen by.
bool uses_cublas(const Model& model, const ContextOptions& context) {
  return context.flash == FlashAttention::Off ||
         std::any_of(model.tensors.begin(), model.tensors.end(), [](const ModelTensor& tensor) {
           return tensor.dims() > 1 && !is_quantized(tensor.type) &&
                  tensor.name.rfind("blk.", 0) == 0;
         });
}

/// Beside what is allocated on a card.
Overhead overhead_on(const Gpu& gpu, const Model& model, const ContextOptions& context) {
  Overhead overhead = gpu.overhead;
  if (const RuntimeOverhead* parts = gpu.overhead.of("llama.cpp")) {
    overhead.context = (*parts)["context"];
    overhead.libraries = (*parts)["kernels"];
    if (uses_cublas(model, context)) overhead.libraries += (*parts)["cublas"];
  }
  return overhead;
}

/// Writes a device's buffers down, each as cudaMalloc gives it.
void allocate(Ledger& ledger, const Buffers& buffers, std::uint64_t pool) {
  {
    const StageScope scope(ledger, Stage::Loaded, 0);
    ledger.allocate("model buffer", vramfit::Category::Parameters, buffers.model);
  }
  const StageScope scope(ledger, Stage::Prefill, 1);
  ledger.allocate("context buffer", vramfit::Category::KvCache, buffers.context);
  ledger.allocate("compute buffer", vramfit::Category::Workspace, buffers.compute);
  ledger.allocate("pool", vramfit::Category::Workspace, pool);
}

}  // namespace

Facts ServerWorkload::facts() const {
  return {.weights = DType::Fp16, .batch = options_.context.sequences, .seq = positions()};
}

std::int64_t ServerWorkload::parameters(const ModelConfig&) const {
  std::int64_t elements = 0;
  for (const ModelTensor& tensor : model_->tensors) elements += tensor.elements();
  return elements;
}

std::int64_t ServerWorkload::size(const SearchAxis& axis) const {
  if (axis == kSlotsAxis) return options_.context.sequences;
  if (axis == kContextAxis) {
    const std::int64_t given = options_.context.context;
    return given == 0 ? model_->hparams.context_train : given;
  }
  const std::int64_t all = model_->hparams.run_layers() + 1;
  const std::int64_t given = options_.placement.gpu_layers;
  return given < 0 ? all : std::min(given, all);
}

std::shared_ptr<const Workload> ServerWorkload::resized(const SearchAxis& axis,
                                                        std::int64_t size) const {
  Options options = options_;
  if (axis == kSlotsAxis) {
    if (options.context.outputs_max > 0) options.context.outputs_max = size;
    options.context.sequences = size;
  } else {
    (axis == kContextAxis ? options.context.context : options.placement.gpu_layers) = size;
  }
  return std::make_shared<ServerWorkload>(model_, std::move(options));
}

std::int64_t ServerWorkload::limit(const SearchAxis& axis, const ModelConfig&) const {
  if (axis == kSlotsAxis) return kMostSequences;
  return axis == kContextAxis ? kLongestSearched : model_->hparams.run_layers() + 1;
}

void ServerWorkload::validate(const ModelConfig&) const {
  settle(options_.context, model_->hparams);
}

Options ServerWorkload::chosen(const Gpu& gpu, std::uint64_t free) const {
  FitTargets targets;
  const auto count = static_cast<std::size_t>(options_.gpus);
  targets.free.assign(count, free);
  targets.margins = options_.margins;
  targets.margins.resize(count, options_.margins.back());
  targets.least_context = options_.least_context;
  const std::vector<Device> devices = devices_of(gpu, options_.gpus, free);
  const auto measure = [&](const Placement& placement, const ContextOptions& context) {
    Placement read = placement;
    read.mmap = false;
    return breakdown(*model_, read, context, devices, Reservation::Measured);
  };
  FitChoice choice =
      choose_fit(model_->hparams, options_.placement, options_.context, targets, measure);
  Options options = options_;
  choice.placement.mmap = options.placement.mmap;
  options.placement = std::move(choice.placement);
  options.context.context = choice.context;
  return options;
}

Outcome ServerWorkload::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig&,
                            const Extent& extent) const {
  Outcome outcome;
  outcome.overhead = overhead_on(gpu, *model_, options_.context);  // as layers are shared out by
  const std::uint64_t free = capacity + outcome.overhead.libraries;
  const Options options = options_.fits_itself ? chosen(gpu, free) : options_;
  const Breakdown taken = breakdown(*model_, options.placement, options.context,
                                    devices_of(gpu, options.gpus, free), Reservation::Allocated);
  const auto fullest =
      std::max_element(taken.gpus.begin(), taken.gpus.end(),
                       [](const Buffers& a, const Buffers& b) { return a.total() < b.total(); });
  const auto gpu_shown = static_cast<std::size_t>(fullest - taken.gpus.begin());
  if (fullest->total() == 0) outcome.overhead.libraries = 0;  // no kernel is loaded
  SumAllocator sum(capacity + extent.extra_capacity, kGranule);
  SumAllocator host_sum(kUnlimitedBytes);
  Ledger ledger(sum, Counts::Requested, extent.detail.events);
  Ledger host(host_sum, Counts::Requested, extent.detail.events);
  ledger.set_host(&host);
  outcome.report = report_on(ledger, [&] {
    host.allocate("model buffer", vramfit::Category::Parameters,
                  taken.host.model + taken.pinned.model);
    host.allocate("context buffer", vramfit::Category::KvCache, taken.host.context);
    host.allocate("compute buffer", vramfit::Category::Workspace, taken.pinned.compute);
    allocate(ledger, *fullest, taken.pools[gpu_shown]);
  });
  for (StageRecord& stage : outcome.report.stages) {
    stage.device_used = stage.reserved + outcome.overhead.context + outcome.overhead.libraries;
  }
  for (std::size_t i = 0; i < taken.gpus.size(); ++i) {
    outcome.devices.push_back(parts_of("GPU " + std::to_string(i), taken.gpus[i]));
    outcome.devices.back().parts.emplace_back("pool", taken.pools[i]);
  }
  outcome.devices.push_back(parts_of("host", taken.host));
  outcome.devices.push_back(parts_of("host, page-locked", taken.pinned));
  const std::int64_t layers = model_->hparams.run_layers();
  const std::int64_t on_gpu = options.placement.gpu_layers < 0
                                  ? layers
                                  : std::max<std::int64_t>(options.placement.gpu_layers - 1, 0);
  const bool experts = !options.placement.overrides.empty() || options.placement.cpu_moe_layers > 0;
  if (on_gpu < layers || experts) {
    outcome.on_host =
        OnHost{std::max<std::int64_t>(layers - on_gpu, 0), taken.host.model + taken.pinned.model};
  }
  if (options.gpus > 1) {
    outcome.notes.push_back("figures are of GPU " + std::to_string(gpu_shown) + " of " +
                            std::to_string(options.gpus) + ", which takes most");
  }
  outcome.notes.emplace_back("a draft model and what sees (--mmproj) are not counted");
  return outcome;
}

std::optional<Flags> ServerWorkload::own_choice(const Gpu& gpu, std::uint64_t capacity) const {
  const Options options =
      chosen(gpu, capacity + overhead_on(gpu, *model_, options_.context).libraries);
  const ServerWorkload started(model_, options);
  Flags flags = {{"ctx", std::to_string(started.size(kContextAxis))},
                 {"gpu-layers", std::to_string(started.size(kLayersAxis))}};
  std::string overrides;
  for (const auto& [pattern, buffer] : options.placement.overrides) {
    overrides += (overrides.empty() ? "" : ",") + pattern + "=" + buffer;
  }
  if (!overrides.empty()) flags["override-tensor"] = overrides;
  return flags;
}

Json ServerWorkload::asked() const {
  const Placement& placement = options_.placement;
  const ContextOptions& context = options_.context;
  return {{"mode", "inference"},
          {"quant", options_.recipe.empty() ? Json(nullptr) : Json(options_.recipe)},
          {"ctx", size(kContextAxis)},
          {"parallel", context.sequences},
          {"kv_unified", context.unified},
          {"gpu_layers", size(kLayersAxis)},
          {"cache_type_k", gguf::type_name(context.type_k)},
          {"cache_type_v", gguf::type_name(context.type_v)},
          {"batch_size", context.batch},
          {"ubatch_size", context.ubatch},
          {"outputs", context.outputs_max == 0 ? "batch" : "slots"},
          {"flash_attn", name(context.flash)},
          {"kv_offload", context.offload_kqv},
          {"op_offload", context.offload_ops},
          {"swa_full", context.swa_full},
          {"mmap", placement.mmap},
          {"override_tensor", overrides_json(placement)},
          {"n_cpu_moe", std::min(placement.cpu_moe_layers, model_->hparams.run_layers())},
          {"gpus", options_.gpus},
          {"tensor_split", placement.tensor_split},
          {"split_mode", name(placement.split)},
          {"main_gpu", placement.main_gpu},
          {"fit", options_.fits_itself ? "on" : "off"}};
}

std::string ServerWorkload::text(const std::string& sizes) const {
  const ContextOptions& context = options_.context;
  std::string text = "llama.cpp, " + types() + ", " + sizes;
  if (context.unified && context.sequences > 1) text += ", one cache for all slots";
  text += std::string(", flash attention ") + name(context.flash);
  if (!context.offload_kqv) text += ", the cache on the host";
  if (options_.placement.cpu_moe_layers > 0 || !options_.placement.overrides.empty()) {
    text += ", some tensors on the host";
  }
  if (options_.gpus > 1) text += ", over " + std::to_string(options_.gpus) + " GPUs";
  return options_.fits_itself ? text + ", with --fit on" : text;
}

std::string ServerWorkload::types() const {
  const std::string k = gguf::type_name(options_.context.type_k);
  const std::string v = gguf::type_name(options_.context.type_v);
  return (options_.recipe.empty() ? "weights as in the file" : "weights in " + options_.recipe) +
         ", cache in " + (k == v ? k : k + " and " + v);
}

std::string ServerWorkload::about() const {
  return "llama.cpp 0c1e57098 (ggml 0.25.3) with CUDA. Ollama, LM Studio and others that start it "
         "take the same for the same settings.";
}

std::optional<double> ServerWorkload::reserved_error() const { return 0.01; }

}  // namespace vramfit::llamacpp
