#include "tests/model/transformer/runs.h"

#include <algorithm>
#include <stdexcept>

#include "model/errors.h"
#include "model/ops/workspaces.h"
#include "tests/model/published_models.h"

namespace vramfit {

RunReport trained(const ModelConfig& config, const TrainingOptions& options, int steps) {
  return dry_run(VirtualGpu{Arch{90}}, config, options, steps);
}

RunReport generated(const ModelConfig& config, const GenerationOptions& options) {
  return dry_run(VirtualGpu{Arch{90}}, config, options);
}

StageRecord stage_of(const RunReport& report, Stage stage, int step) {
  const auto record =
      std::find_if(report.stages.begin(), report.stages.end(),
                   [&](const StageRecord& r) { return r.stage == stage && r.step == step; });
  if (record == report.stages.end()) throw std::logic_error("the run has no such stage");
  return *record;
}

ModelConfig shallow(const std::string& name, std::int64_t layers) {
  ModelConfig config = published(name);
  config.layers = layers;
  return config;
}

std::vector<Event> story(const RunReport& report, int step, bool offsets) {
  std::vector<Event> events;
  for (Event event : report.events) {
    if (event.step != step || event.stage == Stage::Outside) continue;
    event.step = 0;
    event.reserved = 0;
    if (!offsets) event.offset = 0;
    events.push_back(event);
  }
  return events;
}

const std::vector<std::string>& every_kind_of_model() {
  static const std::vector<std::string> names = {"llama2-7b", "llama3-8b", "qwen2-0.5b",
                                                 "gpt2-124m"};
  return names;
}

std::vector<TrainingOptions> every_kind_of_training() {
  std::vector<TrainingOptions> all;
  for (const OptimizerKind& optimizer : optimizer_kinds()) {
    for (const DType precision : {DType::Bf16, DType::Fp16, DType::Fp32}) {
      if (optimizer.master && !is_16_bit(precision)) continue;
      for (const AttentionForm attention : {AttentionForm::Flash, AttentionForm::Cublas}) {
        for (const std::int64_t accumulate : {1, 2}) {
          TrainingOptions options;
          options.precision = precision;
          options.optimizer = optimizer;
          options.attention = attention;
          options.batch = 2;
          options.seq = 64;
          options.accumulate = accumulate;
          all.push_back(options);
        }
      }
    }
  }
  return all;
}

std::vector<GenerationOptions> every_precision_of_generation() {
  std::vector<GenerationOptions> all;
  for (const ModelPrecision& precision : model_precisions()) {
    for (const std::int64_t seq : {std::int64_t{4}, kFusedRows + 1, kDirectRows + 1}) {
      GenerationOptions options;
      options.precision = precision;
      options.quantize_head = precision.quantized();
      options.seq = seq;
      options.generate = 3;
      all.push_back(options);
    }
  }
  return all;
}

std::vector<TrainingOptions> every_kind_of_adapters(const ModelConfig& config) {
  std::vector<TrainingOptions> all;
  for (const ModelPrecision& precision : model_precisions()) {
    try {
      require_linears(config, precision, false);
    } catch (const BadInput&) {
      continue;
    }
    for (const auto& targets : {usual_lora_targets(config), lora_targets(config)}) {
      for (const std::int64_t seq : {std::int64_t{4}, kFusedRows + 1, kDirectRows + 1}) {
        TrainingOptions options;
        options.precision = precision;
        options.lora = LoraOptions{8, 16.0F, targets};
        options.seq = seq;
        all.push_back(options);
      }
    }
  }
  return all;
}

}  // namespace vramfit
