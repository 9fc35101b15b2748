#include "runtimes/pytorch/run.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/pytorch/torch/autograd/engine.h"
#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/pytorch/torch/memory/playback.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/train_stage.h"
#include "runtimes/pytorch/transformers/generate.h"
#include "runtimes/pytorch/transformers/loading/from_pretrained.h"
#include "runtimes/pytorch/transformers/make_model.h"
#include "runtimes/pytorch/transformers/parallel/ddp.h"
#include "runtimes/pytorch/transformers/parallel/fully_shard.h"
#include "runtimes/pytorch/transformers/parallel/pipeline_part.h"
#include "runtimes/pytorch/transformers/parallel/tensor_parallel.h"
#include "runtimes/pytorch/transformers/parallel/zero_redundancy.h"
#include "runtimes/pytorch/walked.h"

namespace vramfit::pytorch {
namespace {

Tensor random_tokens(Context& context, std::int64_t batch, std::int64_t seq) {
  return empty(context, {batch, seq}, ScalarType::Long, Category::Inputs);
}

/// Building a model imports torchaudio where that is installed, and under torch.device("cuda") its
/// compliance/kaldi.py makes a constant on the GPU, for good.
Tensor import_torchaudio(Context& context) {
  return empty(context, {1}, ScalarType::Float, Category::Parameters);
}

/// What it takes to find out that an allocation is asked for, to what it takes to play it.
constexpr std::uint64_t kCostOfTaping = 3;

/// What a run has at hand.
struct DryRun {
  const CachingAllocator& allocator;
  const Ledger& ledger;
  Playback& playback;
  Context& context;
  ModelConfig config;    ///< that is walked
  const Fold& fold;      ///< of the model that is played
  const DeviceMap* map;  ///< of the model that is walked; null: the loader works it out
};

/// The model, and what of it stays on the host.
struct Loaded {
  Tensor epsilon;
  std::unique_ptr<CausalLm> model;
  DeviceMap map;
};

/// `on_meta`: what it is wrapped in gives it memory.
Loaded load(const DryRun& run, const ModelSettings& settings,
            const std::optional<Pretrained>& pretrained, bool on_meta = false) {
  Context& context = run.context;
  const ModelConfig& config = run.config;
  Loaded loaded;
  if (!pretrained && !on_meta) {
    loaded.epsilon = import_torchaudio(context);
    loaded.model = make_model(context, config, settings);
    return loaded;
  }
  {
    const Setting meta(context.meta, true);
    loaded.model = make_model(context, config, settings);
  }
  if (pretrained && pretrained->tp > 1) {
    context.libraries.init_process_group();
    apply_tensor_parallelism(*loaded.model, config, pretrained->tp);
  }
  if (pretrained)
    loaded.map = from_pretrained(context, *loaded.model, config, *pretrained, run.fold, run.map);
  return loaded;
}

bool shards(const std::optional<Distributed>& distributed) {
  return distributed && distributed->strategy == DistributedStrategy::Fsdp;
}

/// Adapters are kept in fp32; mixed precision computes with them, too, in its own type.
void add_lora(CausalLm& model, const LoraConfig& lora,
              const std::optional<Distributed>& distributed) {
  const bool mixed = distributed && distributed->mixed_precision;
  model.add_lora(lora.rank, lora.targets, lora.dropout, !mixed);
}

/// The model as it is wrapped for several GPUs; null: there is one.
std::unique_ptr<DataParallel> wrap(Context& context, CausalLm& model,
                                   const std::optional<Distributed>& distributed) {
  if (!distributed || cuts_model(*distributed)) return nullptr;
  if (shards(distributed)) return std::make_unique<FullyShard>(context, model, *distributed);
  return std::make_unique<DistributedDataParallel>(context, model, *distributed);
}

std::unique_ptr<Optimizer> optimizer_of(const TorchTraining& options,
                                        std::vector<Tensor> parameters) {
  const auto& distributed = options.distributed;
  if (!distributed || distributed->strategy != DistributedStrategy::Zero1) {
    return make_optimizer(options.optimizer, std::move(parameters));
  }
  return std::make_unique<ZeroRedundancyOptimizer>(options.optimizer, std::move(parameters),
                                                   distributed->gpus);
}

/// A part of training that repeats. At first it makes some things for good; the last of its
/// distinct runs is like all further ones, which are played only.
class ReplayedStep {
 public:
  ReplayedStep(Tape& tape, Playback& playback, bool plays, int distinct)
      : tape_(tape), playback_(playback), plays_(plays), distinct_(distinct) {}

  template <typename Walk>
  void operator()(int step, const Walk& walk) {
    if (walks_ < distinct_ || !plays_) {
      walk();
      part_ = playback_.ready(tape_.take());
      ++walks_;
    }
    playback_.play(part_, step);
  }

 private:
  Tape& tape_;
  Playback& playback_;
  const bool plays_;
  const int distinct_;
  Playback::Part part_;
  int walks_ = 0;
};

void train(const DryRun& run, const TorchTraining& options, const Extent& extent) {
  const auto& [allocator, ledger, playback, context, config, fold, map] = run;
  Tape& tape = context.tape;
  const ModelSettings settings = settings_of(options);
  const auto& distributed = options.distributed;

  tape.begin_stage(Stage::Loaded);
  if (distributed) context.libraries.init_process_group();
  const bool on_meta = shards(distributed) && !options.pretrained;
  const Loaded loaded = load(run, settings, options.pretrained, on_meta);
  CausalLm& model = *loaded.model;
  if (options.pretrained && options.pretrained->quantization) model.prepare_for_kbit_training();
  if (options.lora) {
    const Setting meta(context.meta, on_meta);
    add_lora(model, *options.lora, distributed);
  }
  const std::unique_ptr<DataParallel> parallel = wrap(context, model, distributed);
  tape.end_stage();
  const std::unique_ptr<Optimizer> optimizer =
      optimizer_of(options, parallel ? parallel->trainable() : model.trainable());
  const Tensor ids = random_tokens(context, options.batch, options.seq);
  playback.play(playback.ready(tape.take()), 0);

  const Autocast::State amp =
      options.autocast ? Autocast::State(scalar_type(*options.autocast)) : std::nullopt;
  CausalLm::Output out;
  Tensor loss;
  const auto forward = [&] {
    tape.begin_stage(Stage::Forward);
    {
      const AutocastScope autocast(run.context.autocast, amp);
      if (parallel) parallel->before_forward();
      out = model.forward(ids, true);
      if (parallel) parallel->after_forward(out);
    }
    loss = options.accumulate == 1 ? out.loss : mul_scalar(out.loss);  // loss / accumulate
    if (keeps_loss_only(options)) out = {};
    tape.end_stage();
  };
  const auto back = [&] {
    tape.begin_stage(Stage::Backward);
    backward(loss);
    if (parallel) parallel->after_backward();
    out = {};
    loss.reset();
    tape.end_stage();
  };
  const auto update = [&] {
    tape.begin_stage(Stage::Optimizer);
    optimizer->step();
    tape.end_stage();
    tape.begin_stage(Stage::ZeroGrad);
    optimizer->zero_grad();
    tape.end_stage();
  };
  // Gradients are made by the first micro-batch, and added to by further ones.
  const bool plays =
      !extent.exhaustive && !keeps_outliers(options.pretrained) && optimizer->keeps_its_states();
  const int distinct = parallel ? parallel->distinct_steps() : 2;
  ReplayedStep first_forward(tape, playback, plays, distinct);
  ReplayedStep first_back(tape, playback, plays, distinct);
  ReplayedStep further_forward(tape, playback, plays, distinct);
  ReplayedStep further_back(tape, playback, plays, distinct);
  ReplayedStep end(tape, playback, plays, distinct);
  const std::int64_t micro_batches = std::min(options.accumulate, extent.micro_batches);
  for (int step = 1; step <= extent.steps; ++step) {
    const std::uint64_t changes = allocator.segment_changes();
    first_forward(step, forward);
    first_back(step, back);
    for (std::int64_t micro = 1; micro < micro_batches; ++micro) {
      further_forward(step, forward);
      further_back(step, back);
    }
    end(step, update);
    // Between steps only what stays for good is in use. So one that left the segments as they were
    // left all as it was, and the next would be its copy.
    const bool repeats = step >= distinct && allocator.segment_changes() == changes;
    if (repeats && !extent.detail.events) break;
    if (extent.stop_when && extent.stop_when(ledger)) break;
  }
}

void infer(const DryRun& run, const TorchGeneration& options, std::int64_t samples) {
  const auto& [allocator, ledger, playback, context, config, fold, map] = run;
  ModelSettings settings;
  settings.type = scalar_type(options.precision);
  settings.attention = options.attention;
  context.tape.begin_stage(Stage::Loaded);
  const Loaded loaded = load(run, settings, options.pretrained);
  context.tape.empty_cache();  // assumed of the script: see docs/fit.md
  context.tape.end_stage();
  playback.play(playback.ready(context.tape.take()), 0);
  const int main_gpu = options.pretrained ? loaded.map.main_gpu() : 0;
  if (main_gpu == kHost) return;
  const OnGpu with_tokens(context, loaded.model->dispatch(), main_gpu);
  const Tensor prompt = random_tokens(context, options.batch, options.seq);
  generate(context, playback, *loaded.model, prompt,
           {options.generate, samples,
            options.padded.value_or(options.batch > 1 &&
                                    !loaded.model->special_tokens().ends_with_padding),
            options.static_cache, options.again});
}

template <typename Work>
RunReport run_on(const Gpu& gpu, const Release& release, const Walked& walked, const Extent& extent,
                 std::uint64_t capacity, const Work& work) {
  const Fold& fold = walked.fold;
  const bool events = extent.detail.events;
  CachingAllocator allocator(capacity + extent.extra_capacity,
                             release.rules.oldest_segment_first
                                 ? CachingAllocator::Among::Segments
                                 : CachingAllocator::Among::Addresses);
  allocator.set_most_asked(extent.detail.most_tensors);
  Ledger ledger(allocator, Counts::Blocks, events);
  std::vector<SegmentChange> segments;
  if (events) {
    allocator.set_segment_observer([&](std::uint64_t offset, std::int64_t bytes) {
      segments.push_back({ledger.events().size(), offset, bytes});
    });
  }
  Playback playback(ledger, fold, &allocator);
  Tape tape(fold.layers());
  RunReport report = report_on(ledger, [&] {
    {
      Context context(tape, release, gpu, capacity);
      work({allocator, ledger, playback, context, walked.config, fold,
            walked.map ? &*walked.map : nullptr});
    }
    if (events) playback.play(playback.ready(tape.take()), 0);  // all is given back
  });
  report.cost += kCostOfTaping * tape.allocations();
  report.segments = std::move(segments);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const auto& [libraries, managed] = playback.beside()[i];
    StageRecord& stage = report.stages[i];
    stage.managed = managed;
    stage.device_used = stage.reserved + libraries;
  }
  return report;
}

/// Layers that are alike are walked once, unless they turn out not to be.
template <typename Work>
RunReport run_on(const Gpu& gpu, const Release& release, const ModelConfig& config,
                 const Walked& few, const Extent& extent, std::uint64_t capacity,
                 const Work& work) {
  const auto walk = [&](const Walked& walked) {
    return run_on(gpu, release, walked, extent, capacity, work);
  };
  if (extent.exhaustive) return walk(all_of(config));
  try {
    return walk(few);
  } catch (const LayersDiffer&) {
    return walk(all_of(config));
  }
}

RunReport run_few(const Walked& few, const Gpu& gpu, const Release& release,
                  const ModelConfig& config, const TorchGeneration& options, const Extent& extent,
                  std::uint64_t capacity) {
  const std::int64_t samples = decode_samples(config, extent);
  return run_on(gpu, release, config, few, extent, capacity,
                [&](const DryRun& run) { infer(run, options, samples); });
}

void tell(const std::optional<DeviceMap>& map, std::optional<OnHost>* on_host) {
  if (on_host == nullptr || !map || !map->spills()) return;
  *on_host = OnHost{map->host_layers, map->host_bytes, map->main_gpu() == kHost};
}

}  // namespace

std::int64_t decode_samples(const ModelConfig& config, const Extent& extent) {
  constexpr std::int64_t kLayersInAll = 16384;  // a fifth of a second
  return std::clamp<std::int64_t>(kLayersInAll / config.layers, 1, extent.detail.samples);
}

RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const TorchTraining& options, const Extent& extent, std::uint64_t capacity) {
  if (is_stage(options)) {
    const Distributed& spread = *options.distributed;
    const ModelConfig part = part_of_stage(config, spread.stage, spread.gpus);
    return run_on(gpu, release, part, few_of(part, options), extent, capacity,
                  [&](const DryRun& run) {
                    train_stage(run.context, run.playback, run.ledger, run.config, options, extent);
                  });
  }
  return run_on(gpu, release, config, few_of(config, options), extent, capacity,
                [&](const DryRun& run) { train(run, options, extent); });
}

RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const TorchGeneration& options, const Extent& extent, std::uint64_t capacity,
              std::optional<OnHost>* on_host) {
  const auto map = map_of(gpu, release, config, options, capacity);
  tell(map, on_host);
  return run_few(few_of(config, options, map), gpu, release, config, options, extent, capacity);
}

std::vector<RunReport> run_on_each(const Gpu& gpu, const Release& release,
                                   const ModelConfig& config, const TorchTraining& options,
                                   const Extent& extent, std::uint64_t capacity) {
  std::vector<RunReport> reports;
  TorchTraining of_one = options;
  for (std::int64_t& i = of_one.distributed->stage = 0; i < options.distributed->gpus; ++i) {
    reports.push_back(run(gpu, release, config, of_one, extent, capacity));
  }
  return reports;
}

std::vector<RunReport> run_on_each(const Gpu& gpu, const Release& release,
                                   const ModelConfig& config, const TorchGeneration& options,
                                   const Extent& extent, std::uint64_t capacity,
                                   std::optional<OnHost>* on_host) {
  const auto map = map_of(gpu, release, config, options, capacity);
  tell(map, on_host);
  std::optional<Walked> before;
  std::vector<RunReport> reports;
  TorchGeneration of_one = options;
  for (int& i = of_one.pretrained->gpu = 0; i < options.pretrained->gpus; ++i) {
    Walked few = few_of(config, of_one, map);
    if (before && !extent.exhaustive && alike(*before, i - 1, few, i)) {
      reports.push_back(reports.back());
      reports.back().cost = 0;
    } else {
      reports.push_back(run_few(few, gpu, release, config, of_one, extent, capacity));
    }
    before = std::move(few);
  }
  return reports;
}

}  // namespace vramfit::pytorch
