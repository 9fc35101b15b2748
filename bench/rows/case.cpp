#include "bench/rows/case.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/lora_flags.h"
#include "runtimes/vramfit/virtual_device.h"

namespace vramfit::bench {
namespace {

ModelPrecision precision_of(const Case& c) {
  const ModelPrecision precision = parse_model_precision(c.row[Axis::Precision]);
  if (precision == DType::Fp64 && c.device == nullptr) {
    throw BadInput("precision: fp64 is for --device=cpu; one of fp32, fp16, bf16");
  }
  return precision;
}

std::optional<LoraOptions> lora_of(const Case& c) {
  if (c.row[Axis::Lora] == info(Axis::Lora).usual) return std::nullopt;
  LoraOptions lora;
  lora.rank = c.size(Axis::Lora);
  std::string targets = c.row[Axis::LoraTargets];
  std::replace(targets.begin(), targets.end(), '+', ',');
  lora.targets = targets == info(Axis::LoraTargets).usual
                     ? usual_lora_targets(*c.config)
                     : parse_lora_targets(targets, lora_targets(*c.config));
  return lora;
}

}  // namespace

Gpu Case::gpu() const {
  return {arch(), multiprocessors(), card == nullptr ? Overhead{} : card->overhead};
}

std::uint64_t Case::capacity() const {
  return card == nullptr ? kUnlimitedBytes : pool_capacity(card->vram, card->overhead);
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
  validate(*c.config, options);
  return options;
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
