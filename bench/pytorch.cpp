#include "bench/pytorch.h"

#include <algorithm>
#include <string>

#include "estimator/search.h"
#include "model/transformer/sizes.h"

namespace vramfit::bench {
namespace {

pytorch::AttentionKind attention_of(AttentionForm form) {
  return form == AttentionForm::Flash ? pytorch::AttentionKind::Sdpa
                                      : pytorch::AttentionKind::Eager;
}

pytorch::OptimizerKind optimizer_of(const OptimizerKind& ours) {
  using Kind = pytorch::OptimizerKind;
  if (ours.rule == OptimizerKind::Rule::Sgd)
    return ours.moments > 0 ? Kind::SgdMomentum : Kind::Sgd;
  return ours.master || ours.moments_as_weights ? Kind::AdamWFused : Kind::AdamW;
}

/// The row's card, however much it has.
pytorch::Gpu gpu_of(const Case& c) {
  pytorch::Gpu gpu;
  gpu.arch = c.arch();
  return gpu;
}

void count(Counters& counters, const RunReport& report) {
  count_run(counters, "pytorch", report);
  std::uint64_t used = 0;
  for (const StageRecord& stage : report.stages) used = std::max(used, stage.device_used);
  counters.set("pytorch_device_used", used);
}

/// Whether PyTorch's runtime has what the row asks for.
bool answers(const Case& c, DType precision) {
  return c.card != nullptr && precision != DType::Fp64;
}

}  // namespace

pytorch::TrainingOptions in_pytorch(const TrainingOptions& ours) {
  pytorch::TrainingOptions options;
  options.precision = ours.optimizer.master ? DType::Fp32 : ours.precision;
  if (ours.optimizer.master) options.autocast = ours.precision;
  options.attention = attention_of(ours.attention);
  options.optimizer = optimizer_of(ours.optimizer);
  options.batch = ours.batch;
  options.seq = ours.seq;
  options.accumulate = ours.accumulate;
  return options;
}

pytorch::GenerationOptions in_pytorch(const GenerationOptions& ours) {
  pytorch::GenerationOptions options;
  options.precision = ours.precision;
  options.attention = attention_of(ours.attention);
  options.batch = ours.batch;
  options.seq = ours.seq;
  options.generate = ours.generate;
  return options;
}

void count_pytorch(Counters& counters, const Case& c, const Workload& workload) {
  if (!answers(c, precision_of(workload))) return;
  const pytorch::Gpu gpu = gpu_of(c);
  count(counters,
        std::visit(
            [&](const auto& options) { return pytorch::run(gpu, *c.config, in_pytorch(options)); },
            workload));
}

void count_pytorch_cliff(Counters& counters, const Case& c, const TrainingOptions& ours) {
  if (!answers(c, ours.precision)) return;
  pytorch::TrainingOptions options = in_pytorch(ours);
  pytorch::Gpu card = gpu_of(c);
  card.allocator_capacity = c.capacity();
  const auto fits = [&](std::int64_t batch) {
    options.batch = batch;
    return !pytorch::run(card, *c.config, options).missing;
  };
  const std::int64_t largest = largest_that_fits(fits, kMaxBatch);
  counters.set("pytorch_max_batch", static_cast<double>(largest));
  options.batch = std::max(largest, std::int64_t{1});
  count(counters, pytorch::run(gpu_of(c), *c.config, options));
}

}  // namespace vramfit::bench
