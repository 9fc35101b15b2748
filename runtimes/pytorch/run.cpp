#include "runtimes/pytorch/run.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/pytorch/engine.h"
#include "runtimes/pytorch/generate.h"
#include "runtimes/pytorch/loading/from_pretrained.h"
#include "runtimes/pytorch/memory/caching_allocator.h"
#include "runtimes/pytorch/memory/libraries.h"
#include "runtimes/pytorch/modules/causal_lm.h"
#include "runtimes/pytorch/modules/families/families.h"

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

/// The model, and what of it stays on the host.
struct Loaded {
  Tensor epsilon;
  std::unique_ptr<CausalLm> model;
  DeviceMap map;
};

Loaded load(Context& context, const ModelConfig& config, const ModelSettings& settings,
            const std::optional<Pretrained>& pretrained) {
  const Family& family = family_of(config);
  Loaded loaded;
  if (!pretrained) {
    loaded.epsilon = import_torchaudio(context);
    loaded.model = std::make_unique<CausalLm>(context, family, config, settings);
    return loaded;
  }
  {
    const Setting meta(context.meta, true);
    loaded.model = std::make_unique<CausalLm>(context, family, config, settings);
  }
  loaded.map = from_pretrained(context, *loaded.model, config, *pretrained);
  return loaded;
}

void train(Context& context, const ModelConfig& config, const TrainingOptions& options,
           const Extent& extent) {
  Ledger& ledger = context.ledger;
  ModelSettings settings;
  settings.type = scalar_type(options.precision);
  settings.attention = options.attention;
  settings.training = true;
  settings.checkpoint = options.checkpoint;

  std::optional<StageScope> loading(std::in_place, ledger, Stage::Loaded, 0);
  const Loaded loaded = load(context, config, settings, options.pretrained);
  CausalLm& model = *loaded.model;
  if (options.lora) model.add_lora(options.lora->rank, options.lora->targets);
  loading.reset();
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(options.optimizer, model.trainable());
  const Tensor ids = random_tokens(context, options.batch, options.seq);
  const Autocast::State amp =
      options.autocast ? Autocast::State(scalar_type(*options.autocast)) : std::nullopt;

  const std::int64_t micro_batches = std::min(options.accumulate, extent.micro_batches);
  for (int step = 1; step <= extent.steps; ++step) {
    for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
      CausalLm::Output out;
      {
        const StageScope stage(ledger, Stage::Forward, step);
        const AutocastScope autocast(context.autocast, amp);
        out = model.forward(ids, true);
      }
      const StageScope stage(ledger, Stage::Backward, step);
      backward(out.loss);
      out = {};
    }
    {
      const StageScope stage(ledger, Stage::Optimizer, step);
      optimizer->step();
    }
    const StageScope stage(ledger, Stage::ZeroGrad, step);
    optimizer->zero_grad();
  }
}

void infer(Context& context, const ModelConfig& config, const GenerationOptions& options,
           std::int64_t samples, std::optional<OnHost>* on_host) {
  ModelSettings settings;
  settings.type = scalar_type(options.precision);
  settings.attention = options.attention;
  std::optional<StageScope> loading(std::in_place, context.ledger, Stage::Loaded, 0);
  const Loaded loaded = load(context, config, settings, options.pretrained);
  loading.reset();
  if (on_host != nullptr && loaded.map.spills()) {
    *on_host = OnHost{loaded.map.host_layers, loaded.map.host_bytes};
  }
  if (loaded.map.spills() && loaded.map.gpu_bytes == 0) return;  // it runs on the host
  const Tensor prompt = random_tokens(context, options.batch, options.seq);
  generate(context, *loaded.model, config, prompt,
           {options.generate, samples, options.padded.value_or(options.batch > 1),
            options.static_cache, options.again});
}

/// Notes what libraries have taken as each stage ends.
class LibraryMarks final : public StageObserver {
 public:
  explicit LibraryMarks(const Libraries& libraries) : libraries_(libraries) {}
  void stage_ends(const StageRecord&) override { bytes_.push_back(libraries_.bytes()); }

  void add_to(std::vector<StageRecord>& stages) const {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].device_used = stages[i].reserved + bytes_[i];
    }
  }

 private:
  const Libraries& libraries_;
  std::vector<std::uint64_t> bytes_;
};

template <typename Work>
RunReport run_on(const Gpu& gpu, const Release& release, std::uint64_t capacity, bool events,
                 const Work& work) {
  CachingAllocator allocator(capacity);
  Libraries libraries(gpu.overhead.pytorch.value());
  LibraryMarks marks(libraries);
  Ledger ledger(allocator, Counts::Blocks, events);
  ledger.set_observer(&marks);
  std::vector<SegmentChange> segments;
  if (events) {
    allocator.set_segment_observer([&](std::uint64_t offset, std::int64_t bytes) {
      segments.push_back({ledger.events().size(), offset, bytes});
    });
  }
  RunReport report = report_on(ledger, [&] {
    Context context(ledger, libraries, release, gpu, capacity);
    work(context);
  });
  report.segments = std::move(segments);
  marks.add_to(report.stages);
  return report;
}

}  // namespace

std::int64_t decode_samples(const ModelConfig& config, const Extent& extent) {
  constexpr std::int64_t kLayersInAll = 16384;  // a fifth of a second
  return std::clamp<std::int64_t>(kLayersInAll / config.layers, 1, extent.detail.samples);
}

RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const TrainingOptions& options, const Extent& extent, std::uint64_t capacity) {
  return run_on(gpu, release, capacity, extent.detail.events,
                [&](Context& context) { train(context, config, options, extent); });
}

RunReport run(const Gpu& gpu, const Release& release, const ModelConfig& config,
              const GenerationOptions& options, const Extent& extent, std::uint64_t capacity,
              std::optional<OnHost>* on_host) {
  return run_on(gpu, release, capacity, extent.detail.events, [&](Context& context) {
    infer(context, config, options, decode_samples(config, extent), on_host);
  });
}

}  // namespace vramfit::pytorch
