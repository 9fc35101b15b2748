#include "bench/rows/case.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/lora_flags.h"
#include "runtimes/vramfit/pipeline_split.h"
#include "runtimes/vramfit/virtual_device.h"

namespace vramfit::bench {
namespace {

ModelPrecision precision_of(const Case& c) {
  const ModelPrecision precision = parse_model_precision(c.row[Axis::Precision]);
  if (precision == DType::Fp64) {
    throw BadInput("precision: fp64 is for tests; one of fp32, fp16, bf16");
  }
  return precision;
}

/// Names are join keys: throws BadInput where `targets` have a shorter name, or another order.
void require_one_name(const std::string& targets, const std::vector<std::string>& named,
                      const ModelConfig& config) {
  const std::vector<std::string> every = lora_targets(config);
  if (targets == kEveryLinear) return;
  std::string in_order;
  for (const std::string& name : every) {
    if (std::find(named.begin(), named.end(), name) == named.end()) continue;
    in_order += (in_order.empty() ? "" : "+") + name;
  }
  if (named == usual_lora_targets(config)) in_order = info(Axis::LoraTargets).usual;
  if (named.size() == every.size()) in_order = kEveryLinear;
  if (targets == in_order) return;
  throw BadInput("lora-targets: " + targets + " is called " + in_order);
}

std::optional<LoraOptions> lora_of(const Case& c) {
  const std::string& targets = c.row[Axis::LoraTargets];
  const bool usual = targets == info(Axis::LoraTargets).usual;
  if (c.row[Axis::Lora] == info(Axis::Lora).usual) {
    if (!usual) throw BadInput("lora-targets: only with lora");
    return std::nullopt;
  }
  LoraOptions lora;
  lora.rank = c.size(Axis::Lora);
  lora.targets = usual_lora_targets(*c.config);
  if (usual) return lora;
  std::string list = targets;
  std::replace(list.begin(), list.end(), '+', ',');
  const std::vector<std::string> every = lora_targets(*c.config);
  lora.targets = parse_lora_targets(list, every);
  require_lora(c.config->family, lora.rank, lora.targets, every);
  require_one_name(targets, lora.targets, *c.config);
  return lora;
}

}  // namespace

Gpu Case::gpu() const {
  return {arch(), multiprocessors(), card == nullptr ? Overhead{} : card->overhead};
}

Mesh Case::mesh() const {
  if (row[Axis::Strategy].empty()) return {};
  return {parse_strategy(row[Axis::Strategy]), ranks(), rank};
}

std::uint64_t Case::capacity() const {
  return card == nullptr ? kUnlimitedBytes : pool_capacity(card->vram, overhead());
}

TrainingOptions training_options(const Case& c) {
  TrainingOptions options;
  options.precision = precision_of(c);
  options.optimizer = optimizer_named(c.row[Axis::Optimizer]);
  options.attention = parse_attention(c.row[Axis::Attention]);
  options.batch = c.size(Axis::Batch);
  options.seq = c.size(Axis::Seq);
  options.accumulate = c.size(Axis::Accumulate);
  options.lora = lora_of(c);
  options.checkpointing = {parse_checkpoint(c.row[Axis::Checkpoint]),
                           c.size(Axis::CheckpointEvery)};
  options.mesh = c.mesh();
  validate(*c.config, options);
  return with_split(c.arch(), *c.config, options);
}

GenerationOptions generation_options(const Case& c) {
  GenerationOptions options;
  options.precision = parse_model_precision(c.row[Axis::Precision]);
  options.quantize_head = c.row[Axis::Head] == kQuantizedHead;
  options.cache = parse_cache(c.row[Axis::Cache]);
  options.block = parse_block(c.row[Axis::Block]);
  options.spread = parse_lengths(c.row[Axis::Lengths]);
  options.attention = parse_attention(c.row[Axis::Attention]);
  options.batch = c.size(Axis::Batch);
  options.seq = c.size(Axis::Seq);
  options.generate = c.size(Axis::Generate);
  validate(*c.config, options);
  return options;
}

void check_training(const Case& c) { training_options(c); }
void check_generation(const Case& c) { generation_options(c); }

}  // namespace vramfit::bench
