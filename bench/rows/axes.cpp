#include "bench/rows/axes.h"

#include <algorithm>

#include "estimator/card_names.h"
#include "model/errors.h"
#include "model/ops/attention_ops.h"
#include "model/optimizer/optimizer_kind.h"
#include "model/parallel/mesh.h"
#include "model/quantity.h"
#include "model/transformer/checkpointing.h"
#include "model/transformer/generation.h"
#include "model/transformer/lora.h"
#include "model/transformer/model_precision.h"
#include "model/transformer/sizes.h"

namespace vramfit::bench {
namespace {

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

std::string value_of_head(const std::string& value) {
  if (value == info(Axis::Head).usual || value == kQuantizedHead) return value;
  throw BadInput("head: is '" + value + "'; 16-bit or quantized");
}

}  // namespace

const std::array<AxisInfo, kAxes>& axes() {
  static const std::string precision_help =
      "what weights and activations are stored in: fp32, fp16, bf16; training also fp8, of what\n"
      "linears multiply; without training, and with adapters, also " +
      quantized_precisions() + ", of the weights of linears";
  static const std::array<AxisInfo, kAxes> table = {{
      {"model", "", "", "models, by their folders in data/models"},
      {"precision", "", "", precision_help.c_str()},
      {"optimizer", "", "",
       "sgd, sgd-master, sgd-momentum, adamw, adamw-master, adamw-same, adamw-8bit, adamw-cpu,\n"
       "lion, adafactor"},
      {"strategy", "", "",
       "how GPUs share the training of a model: ddp, zero1, zero2, fsdp, pipeline"},
      {"batch", "batch", "", "sequences in a micro-batch, of each GPU"},
      {"seq", "seq", "", "tokens in a sequence, or in a prompt"},
      {"gpus", "gpus", "", "that train a model together"},
      {"attention", "attn", "flash", "flash, cublas"},
      {"accumulate", "accumulate", "1", "micro-batches in a training step"},
      {"lora", "lora", "none", "adapters' rank, beside weights that are frozen then, or none"},
      {"lora-targets", "targets", "usual",
       "what they stand beside: PEFT's usual, all-linear, or names such as q_proj+o_proj"},
      {"generate", "generate", "1", "new tokens a sequence"},
      {"gpu", "gpu", "",
       "cards, or sizes such as 24GB, whose cliffs are looked for, and that a real\n"
       "device is to behave as in the other rows"},
      {"head", "head", "16-bit", "the head's weight: 16-bit, or quantized as linears are"},
      {"cache", "cache", "unquantized", "keys and values: unquantized, fp8, int8"},
      {"block", "block", "none", "positions of the cache's blocks, a power of two, or none"},
      {"lengths", "lengths", "equal", "prompts: equal, or spread up to seq"},
      {"checkpoint", "checkpoint", "none",
       "activations that backward computes again: none, selective (the MLP's first half), full"},
      {"checkpoint-every", "every", "1", "blocks of which one does so"},
  }};
  return table;
}

const AxisInfo& info(Axis axis) { return axes()[index(axis)]; }

bool is_size(const std::string& gpu) {
  return !gpu.empty() && gpu.front() >= '0' && gpu.front() <= '9';
}

std::int64_t size_of(Axis axis, const std::string& value) {
  if (axis == Axis::Gpus) return parse_whole(info(axis).flag, value, 1, kMaxRanks);
  const bool of_sequences = axis == Axis::Batch || axis == Axis::Accumulate;
  const std::int64_t most = of_sequences ? kMaxBatch : axis == Axis::Lora ? kMaxRank : kMaxSeq;
  return parse_whole(info(axis).flag, value, 1, most);
}

std::string canonical_size(const std::string& flag, const std::string& value) {
  if (parse_bytes(flag, value) == 0) {
    throw BadInput(flag + ": is '" + value + "'; the size of a GPU, such as 24GB");
  }
  return without_spaces(value);
}

std::string canonical(Axis axis, const std::string& value) {
  switch (axis) {
    case Axis::Model:
      return value;
    case Axis::Precision:
      return parse_model_precision(value).name;
    case Axis::Optimizer:
      return optimizer_named(value).name;
    case Axis::Strategy:
      return name(parse_strategy(value));
    case Axis::Attention:
      return name(parse_attention(value));
    case Axis::Gpu:
      return is_size(value) ? canonical_size(info(axis).flag, value) : card_named(value).name;
    case Axis::Head:
      return value_of_head(value);
    case Axis::Cache:
      parse_cache(value);
      return value;
    case Axis::Block:
      return parse_block(value) == 0 ? value : std::to_string(parse_block(value));
    case Axis::Lengths:
      parse_lengths(value);
      return value;
    case Axis::Lora:
      return value == info(axis).usual ? value : std::to_string(size_of(axis, value));
    case Axis::LoraTargets:
      return value;
    case Axis::Checkpoint:
      return name(parse_checkpoint(value));
    case Axis::Batch:
    case Axis::Seq:
    case Axis::Gpus:
    case Axis::Accumulate:
    case Axis::Generate:
    case Axis::CheckpointEvery:
      return std::to_string(size_of(axis, value));
  }
  return value;
}

}  // namespace vramfit::bench
