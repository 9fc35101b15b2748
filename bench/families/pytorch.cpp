#include "bench/families/pytorch.h"

#include <algorithm>
#include <optional>

#include "estimator/estimate.h"
#include "estimator/largest.h"
#include "estimator/runtimes.h"

namespace vramfit::bench {
namespace {

pytorch::AttentionKind attention_of(AttentionForm form) {
  return form == AttentionForm::Flash ? pytorch::AttentionKind::Sdpa
                                      : pytorch::AttentionKind::Eager;
}

pytorch::TorchOptimizer optimizer_of(const OptimizerKind& ours) {
  using Kind = pytorch::TorchOptimizer;
  const Kind sgd = ours.moments > 0 ? Kind::SgdMomentum : Kind::Sgd;
  if (ours.rule == OptimizerKind::Rule::Sgd) return sgd;
  if (ours.rule == OptimizerKind::Rule::Adafactor) return Kind::Adafactor;
  if (ours.has_scales()) return Kind::AdamW8bit;
  const bool fused = ours.master || ours.stored == OptimizerKind::Stored::AsWeights;
  return fused ? Kind::AdamWFused : Kind::AdamW;
}

void count(Counters& counters, const Estimate& estimate) {
  RunReport run;
  run.peak = estimate.peak;
  run.reserved = estimate.levels.reserved;
  run.stages = estimate.stages;
  count_run(counters, "pytorch", run);
  counters.set("pytorch_device_used", estimate.levels.device_used);
}

/// bitsandbytes' format of the linears; absent where they are not quantised, or as it has none.
std::optional<pytorch::Quantization> quantization_of(const ModelPrecision& precision) {
  using Format = pytorch::Quantization::Format;
  for (const Format format : {Format::Int8, Format::Nf4, Format::Fp4}) {
    if (precision.name != std::string_view(name(format))) continue;
    pytorch::Quantization theirs;
    theirs.compute = pytorch::ScalarType::BFloat16;  // as ours do
    theirs.format = format;
    return theirs;
  }
  return std::nullopt;
}

bool has_counterpart(const ModelPrecision& precision) {
  return !precision.quantized() || quantization_of(precision);
}

/// fully_shard takes no adapters here, and nothing of PyTorch's own is ZeRO-2.
bool has_counterpart(const Mesh& mesh, bool adapts) {
  return mesh.alone() || mesh.strategy == Strategy::Ddp || mesh.strategy == Strategy::Zero1 ||
         (mesh.strategy == Strategy::Fsdp && !adapts);
}

/// Of checkpointing PyTorch's models have all or nothing. Adapters are in fp32 and have no masters.
bool has_counterpart(const TrainingOptions& ours) {
  const Checkpointing& checkpointing = ours.checkpointing;
  const bool all_or_nothing = checkpointing.kind == Checkpoint::None ||
                              (checkpointing.kind == Checkpoint::Full && checkpointing.every == 1);
  const bool adapts = !ours.lora || !ours.optimizer.master;
  return has_counterpart(ours.mesh, ours.lora.has_value()) && all_or_nothing && adapts &&
         has_counterpart(ours.precision) && bench::has_counterpart(ours.optimizer);
}

bool has_counterpart(const GenerationOptions& ours) {
  return !ours.cache && ours.block == 0 && !ours.quantize_head && has_counterpart(ours.precision);
}

/// Nothing where it is not known what PyTorch's libraries take, or PyTorch runs nothing alike.
std::optional<Request> ask(const Case& c, const StepOptions& options) {
  if (c.card == nullptr || c.card->overhead.of("pytorch") == nullptr) return std::nullopt;
  const auto in_both = [](const auto& o) { return has_counterpart(o); };
  if (precision_of(options) == DType::Fp64 || !std::visit(in_both, options)) return std::nullopt;
  Request request{*c.config, nullptr, budget_of(*c.card)};
  request.budget.arch = c.arch();
  request.budget.multiprocessors = c.multiprocessors();
  std::visit(
      [&](const auto& o) {
        request.workload =
            std::make_shared<pytorch::TorchWorkload>(current_pytorch(), in_pytorch(o));
      },
      options);
  return request;
}

pytorch::ScalarType scalar_type(DType type) {
  return type == DType::Fp16   ? pytorch::ScalarType::Half
         : type == DType::Bf16 ? pytorch::ScalarType::BFloat16
                               : pytorch::ScalarType::Float;
}

/// Where ours keeps masters, fully_shard's parameters are those, and layers compute in 16 bits.
pytorch::Distributed distributed_of(const TrainingOptions& ours) {
  pytorch::Distributed theirs;
  const bool shards = ours.mesh.strategy == Strategy::Fsdp;
  theirs.gpus = ours.mesh.ranks;
  theirs.strategy = shards                                  ? pytorch::DistributedStrategy::Fsdp
                    : ours.mesh.strategy == Strategy::Zero1 ? pytorch::DistributedStrategy::Zero1
                                                            : pytorch::DistributedStrategy::Ddp;
  const pytorch::ScalarType type = scalar_type(ours.precision.activations);
  theirs.stored = ours.optimizer.master ? pytorch::ScalarType::Float : type;
  if (shards && ours.optimizer.master) {
    theirs.mixed_precision = pytorch::MixedPrecision{type, pytorch::ScalarType::Float};
  }
  return theirs;
}

}  // namespace

bool has_counterpart(const OptimizerKind& ours) {
  return ours.rule != OptimizerKind::Rule::Lion && !ours.on_host;
}

pytorch::TorchTraining in_pytorch(const TrainingOptions& ours) {
  pytorch::TorchTraining options;
  const DType type = ours.precision.activations;
  options.precision = ours.optimizer.master ? DType::Fp32 : type;
  if (ours.optimizer.master) options.autocast = type;
  options.attention = attention_of(ours.attention);
  options.optimizer = optimizer_of(ours.optimizer);
  options.batch = ours.batch;
  options.seq = ours.seq;
  options.accumulate = ours.accumulate;
  if (ours.lora) options.lora = pytorch::LoraConfig{ours.lora->rank, ours.lora->targets};
  if (const auto quantization = quantization_of(ours.precision)) {
    options.pretrained = {false, quantization};
  }
  if (ours.checkpointing.kind == Checkpoint::Full) {
    options.checkpoint = pytorch::GradientCheckpointing::Full;
  }
  if (!ours.mesh.alone()) options.distributed = distributed_of(ours);
  if (options.distributed && options.distributed->mixed_precision) options.autocast.reset();
  return options;
}

pytorch::TorchGeneration in_pytorch(const GenerationOptions& ours) {
  pytorch::TorchGeneration options;
  options.precision = ours.precision.activations;
  options.attention = attention_of(ours.attention);
  options.batch = ours.batch;
  options.seq = ours.seq;
  options.generate = ours.generate;
  if (const auto quantization = quantization_of(ours.precision)) {
    options.pretrained = {false, quantization};
  }
  return options;
}

void count_pytorch(Counters& counters, const Case& c, const StepOptions& options) {
  if (const auto request = ask(c, options)) count(counters, estimate(*request));
}

void count_pytorch_cliff(Counters& counters, const Case& c, const Cliff& cliff) {
  auto request = ask(c, cliff.options);
  if (!request) return;
  const std::int64_t largest = find_largest(*request, cliff.axis).size;
  counters.set("pytorch_" + cliff.counter(), static_cast<double>(largest));
  const auto at = [&](std::int64_t size) {
    set_size(*request, cliff.axis, size);
    return estimate(*request);
  };
  count(counters, at(std::max(largest, std::int64_t{1})));
  if (largest < 2) return;
  count_curve(counters, "pytorch", largest,
              [&](std::int64_t size) { return at(size).peak.allocated; });
}

}  // namespace vramfit::bench
