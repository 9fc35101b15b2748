#include "bench/rows/families.h"

#include <algorithm>

#include "bench/rows/case.h"

namespace vramfit::bench {

const std::vector<RowFamily>& families() {
  using enum Axis;
  static const std::vector<Axis> generation = {Model,    Precision, Batch, Seq,   Attention,
                                               Generate, Head,      Cache, Block, Lengths};
  static const std::vector<Axis> training = {Model,       Precision,  Optimizer,      Batch,
                                             Seq,         Attention,  Accumulate,     Lora,
                                             LoraTargets, Checkpoint, CheckpointEvery};
  static const std::vector<Axis> of_several_gpus = {
      Model,      Precision, Optimizer,   Strategy,   Batch,          Seq, Gpus, Attention,
      Accumulate, Lora,      LoraTargets, Checkpoint, CheckpointEvery};
  static const std::vector<RowFamily> list = {
      {"Training", training, true, check_training, run_training},
      {"MultiGpu", of_several_gpus, true, check_training, run_multi_gpu},
      {"Inference", generation, true, check_generation, run_inference},
      {"KvCache", generation, true, check_generation, run_kv_cache},
      {"OomCliff",
       {Model, Precision, Optimizer, Seq, Attention, Accumulate, Lora, LoraTargets, Gpu, Checkpoint,
        CheckpointEvery},
       false,
       check_training,
       run_oom_cliff},
      {"BatchCliff",
       {Model, Precision, Seq, Attention, Generate, Gpu, Head, Cache, Block, Lengths},
       false,
       check_generation,
       run_batch_cliff},
      {"ContextCliff",
       {Model, Precision, Batch, Attention, Generate, Gpu, Head, Cache, Block, Lengths},
       false,
       check_generation,
       run_context_cliff},
      {"Ops", training, true, check_training, run_ops, op_parts},
  };
  return list;
}

const RowFamily* find_family(const std::string& name) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const RowFamily& family) { return name == family.name; });
  return found == families().end() ? nullptr : &*found;
}

std::vector<std::string> row_names(const Case& c) {
  if (c.row.family->parts == nullptr) return {c.row.name()};
  std::vector<std::string> names;
  for (const std::string& part : c.row.family->parts(c)) {
    names.push_back(c.row.name() + "/" + part);
  }
  return names;
}

Result part_of(const Result& whole, const Case& c, const std::string& row_name) {
  if (c.row.family->parts == nullptr || !whole.error.empty()) return whole;
  const std::string prefix = row_name.substr(c.row.name().size() + 1) + "/";
  Result part;
  part.label = whole.label;
  for (const auto& [name, value] : whole.counters.values()) {
    if (name.rfind(prefix, 0) == 0) part.counters.set(name.substr(prefix.size()), value);
  }
  const auto seconds = part.counters.values().find("seconds");
  if (seconds == part.counters.values().end()) return failure("the run has no " + row_name);
  part.seconds = seconds->second;
  return part;
}

}  // namespace vramfit::bench
