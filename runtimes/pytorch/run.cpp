#include "runtimes/pytorch/run.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/pytorch/engine.h"
#include "runtimes/pytorch/generate.h"
#include "runtimes/pytorch/memory/stage.h"
#include "runtimes/pytorch/modules/causal_lm.h"

namespace vramfit::pytorch {
namespace {

ScalarType scalar_type(DType precision) {
  switch (precision) {
    case DType::Fp16:
      return ScalarType::Half;
    case DType::Bf16:
      return ScalarType::BFloat16;
    default:
      return ScalarType::Float;
  }
}

Tensor random_tokens(Context& context, std::int64_t batch, std::int64_t seq) {
  return empty(context, {batch, seq}, ScalarType::Long, Category::Inputs);
}

/// Building a model imports torchaudio where that is installed, and under torch.device("cuda") its
/// compliance/kaldi.py makes a constant on the GPU, for good.
Tensor import_torchaudio(Context& context) {
  return empty(context, {1}, ScalarType::Float, Category::Parameters);
}

void train(Context& context, const ModelConfig& config, const TrainingOptions& options, int steps) {
  Memory& memory = context.memory;
  ModelSettings settings;
  settings.type = scalar_type(options.precision);
  settings.attention = options.attention;
  settings.training = true;
  settings.checkpoint = options.checkpoint;

  std::optional<StageOf> loading(std::in_place, memory, Stage::Loaded, 0);
  const Tensor epsilon = import_torchaudio(context);
  CausalLm model(context, config, settings);
  if (options.lora) model.add_lora(options.lora->rank, options.lora->targets);
  loading.reset();
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(options.optimizer, model.trainable());
  const Tensor ids = random_tokens(context, options.batch, options.seq);
  const Autocast::State amp =
      options.autocast ? Autocast::State(scalar_type(*options.autocast)) : std::nullopt;

  for (int step = 1; step <= steps; ++step) {
    for (std::int64_t micro = 0; micro < std::min(options.accumulate, kMaxMicroBatches); ++micro) {
      CausalLm::Output out;
      {
        const StageOf stage(memory, Stage::Forward, step);
        const AutocastScope autocast(context.autocast, amp);
        out = model.forward(ids, true);
      }
      const StageOf stage(memory, Stage::Backward, step);
      backward(out.loss);
      out = {};
    }
    {
      const StageOf stage(memory, Stage::Optimizer, step);
      optimizer->step();
    }
    const StageOf stage(memory, Stage::ZeroGrad, step);
    optimizer->zero_grad();
  }
}

void infer(Context& context, const ModelConfig& config, const GenerationOptions& options) {
  ModelSettings settings;
  settings.type = scalar_type(options.precision);
  settings.attention = options.attention;
  std::optional<StageOf> loading(std::in_place, context.memory, Stage::Loaded, 0);
  const Tensor epsilon = import_torchaudio(context);
  const CausalLm model(context, config, settings);
  loading.reset();
  const Tensor prompt = random_tokens(context, options.batch, options.seq);
  generate(context, model, config, prompt, options.generate,
           options.padded.value_or(options.batch > 1));
}

/// What is asked for before a model is: PyTorch's context is there with the first tensor.
template <typename Work>
RunReport run_on(const Gpu& gpu, const Release& release, Memory::Observer observer,
                 const Work& work) {
  CachingAllocator allocator(gpu.allocator_capacity);
  Libraries libraries(gpu.libraries);
  Memory memory(allocator, libraries);
  memory.set_observer(std::move(observer));
  RunReport report;
  try {
    Context context(memory, libraries, release, gpu.arch, gpu.multiprocessors);
    work(context);
  } catch (const OutOfMemory& e) {
    // A card may be too small for what comes before loading.
    const StageRecord last = memory.stages().empty() ? StageRecord{} : memory.stages().back();
    report.missing = MissingMemory{Name("a tensor"), memory.last_requested(), last.stage, last.step,
                                   e.requested()};
  }
  report.peak = memory.peak();
  report.stages = memory.stages();
  for (const StageRecord& stage : report.stages) {
    report.reserved = std::max(report.reserved, stage.peak_reserved);
  }
  return report;
}

}  // namespace

RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const TrainingOptions& options, int steps, Memory::Observer observer) {
  return run_on(gpu, release, std::move(observer),
                [&](Context& context) { train(context, config, options, steps); });
}

RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const GenerationOptions& options, Memory::Observer observer) {
  return run_on(gpu, release, std::move(observer),
                [&](Context& context) { infer(context, config, options); });
}

}  // namespace vramfit::pytorch
