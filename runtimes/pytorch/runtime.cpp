#include "runtimes/pytorch/runtime.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/memory/pool.h"
#include "model/transformer/parameters.h"
#include "model/transformer/sizes.h"
#include "runtimes/notes.h"
#include "runtimes/pytorch/read_options.h"
#include "runtimes/pytorch/torch/memory/libraries.h"
#include "runtimes/pytorch/transformers/generate.h"
#include "runtimes/pytorch/transformers/taped/taped_config.h"

namespace vramfit::pytorch {

namespace {

/// By its name; null: there is none.
const Release* with_name(const std::vector<Release>& releases, const std::string& name) {
  const auto found = std::find_if(releases.begin(), releases.end(),
                                  [&](const Release& one) { return one.name == name; });
  return found == releases.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const std::vector<Release>& releases) {
  std::vector<std::string> names;
  for (const Release& each : releases) names.push_back(each.name);
  return names;
}

vramfit::Setting release_setting(const std::vector<Release>& releases, const Release& usual) {
  std::vector<Offer> offers;
  for (const Release& each : releases) {
    offers.push_back({each.name, each.name + (each.simulated ? ", simulated" : "")});
  }
  return {.name = "release",
          .help = "of PyTorch: " + one_of(names_of(releases)) + " (default " + usual.name +
                  ", which was measured)",
          .offers = with_default(std::move(offers), usual.name)};
}

}  // namespace

PyTorchRuntime::PyTorchRuntime(std::vector<Release> releases, const std::string& usual)
    : releases_(std::move(releases)),
      usual_(&release_named(usual)),
      settings_(settings_of_a_run()) {
  settings_.push_back(release_setting(releases_, *usual_));
}

const Release& PyTorchRuntime::release_named(const std::string& name) const {
  if (const Release* release = with_name(releases_, name)) return *release;
  throw BadInput("release: no rules of PyTorch '" + name + "' are derived; " +
                 one_of(names_of(releases_)) +
                 ", or vramfit run with that release installed, which asks PyTorch itself");
}

std::shared_ptr<const Workload> PyTorchRuntime::read(const Flags& flags, bool training,
                                                     const ModelConfig& model) const {
  const auto name = typed(flags, "release");
  const Release& release = name ? release_named(*name) : usual();
  if (training) {
    return std::make_shared<TorchWorkload>(*this, training_options(flags, model), &release);
  }
  return std::make_shared<TorchWorkload>(*this, generation_options(flags), &release);
}

const Capabilities& PyTorchRuntime::can() const {
  static const Capabilities can = {
      .quantized_as_stored = true,
      .defaults_of = "transformers'",
      .granularity = Pool::kGranularity,
      .measured_parts = {"context", "cublas", "cublas_backward", "attention", "attention_backward",
                         "streams", "process_group", "collectives", "more_communicators",
                         "more_collectives"}};
  return can;
}

std::optional<ModelConfig> PyTorchRuntime::read_model(const ModelSource& source) const {
  return taped_config(std::make_shared<const ModelSource>(source), usual());
}

void PyTorchRuntime::complete(Flags& flags, const Script& script) const {
  // Of what the model gives, Trainer.compute_loss passes on no more.
  if (script.training && script.of_a_trainer) flags.try_emplace("loss-only", "");
  if (!typed(flags, "strategy").value_or("").starts_with("fsdp")) return;
  const auto called = script.typed.find("autocast");
  if (called == script.typed.end() || (called->second != "bf16" && called->second != "fp16"))
    return;
  // accelerate/utils/fsdp_utils.py, fsdp2_prepare_model: what is trained is upcast, and
  // MixedPrecisionPolicy casts.
  const std::string type = *typed(flags, "autocast");
  flags.erase("autocast");
  flags.try_emplace("mixed-precision", type);
  flags.try_emplace("precision", "fp32");
}

namespace {

Facts::Optimizer kind_of(TorchOptimizer kind) {
  return std::string_view(name(kind)).starts_with("adam") ? Facts::Optimizer::Adam
                                                          : Facts::Optimizer::Other;
}

/// As who counts bits sees it.
Format weights_of(DType precision, const std::optional<Pretrained>& pretrained) {
  if (!pretrained || !pretrained->quantization) return precision;
  return pretrained->quantization->format == Quantization::Format::Int8 ? *Format::named("int8")
                                                                        : *Format::named("nf4");
}

}  // namespace

Facts TorchWorkload::facts() const {
  Facts facts = std::visit(
      [](const auto& o) {
        return Facts{
            .weights = weights_of(o.precision, o.pretrained), .batch = o.batch, .seq = o.seq};
      },
      options());
  const auto* o = std::get_if<TorchTraining>(&options());
  if (o == nullptr) return facts;
  facts.optimizer = kind_of(o->optimizer);
  facts.optimizer_name = name(o->optimizer);
  facts.adapters = o->lora.has_value();
  facts.whole_logits = !o->fused_head;
  facts.checkpointing = o->checkpoint != GradientCheckpointing::None;
  facts.autocast = o->autocast.has_value();
  return facts;
}

DType TorchWorkload::computes_in() const {
  const auto* training = std::get_if<TorchTraining>(&options());
  if (training == nullptr) return std::get<TorchGeneration>(options()).precision;
  const auto& distributed = training->distributed;
  if (distributed && distributed->mixed_precision) {
    return parse_precision(name(distributed->mixed_precision->param));
  }
  return training->autocast.value_or(training->precision);
}

std::int64_t TorchWorkload::stored_parameters(const ModelConfig& config) const {
  return parameter_count(config);
}

nlohmann::ordered_json TorchWorkload::asked() const {
  nlohmann::ordered_json json = pytorch::asked(options());
  json["release"] = release_->name;
  return json;
}

void TorchWorkload::validate(const ModelConfig& config) const {
  pytorch::validate(config, options());
}

// A stage walks all of them: they overlap.
std::int64_t TorchWorkload::micro_batches() const {
  const auto* training = std::get_if<TorchTraining>(&options());
  return training != nullptr && is_stage(*training) ? 1 : OptionsWorkload::micro_batches();
}

std::int64_t TorchWorkload::limit(const SearchAxis& axis, const ModelConfig& config) const {
  return axis == kBatchAxis ? kMaxBatch : seq_limit(config, options());
}

const std::optional<Pretrained>& TorchWorkload::pretrained() const {
  return std::visit([](const auto& o) -> const std::optional<Pretrained>& { return o.pretrained; },
                    options());
}

std::optional<double> TorchWorkload::reserved_error() const {
  return keeps_outliers(pretrained()) ? release_->int8_reserved_error : release_->reserved_error;
}

// The warm-up of the loader leaves some of the card alone; device_map="auto" goes by what there is.
Demand TorchWorkload::demand() const {
  if (!pretrained()) return Demand::Cached;
  return pretrained()->auto_device_map ? Demand::Elastic : Demand::Adapting;
}

namespace {

/// What libraries take beside the context, as it is at a run's end: the driver loads code as it is
/// first used.
std::uint64_t libraries_of(const RunReport& report, const Overhead& overhead) {
  if (report.stages.empty()) return overhead.libraries;
  const StageRecord& last = report.stages.back();
  return last.device_used - last.reserved - overhead.context;
}

/// Of GPUs that share a model, the one whose run needs most, or the first that runs out, and what
/// each takes in a note. All are as large, so each is taken to lose to libraries what one loses
/// most.
RunReport most_of(std::vector<RunReport> reports, Outcome& outcome) {
  std::size_t shown = 0;
  std::uint64_t cost = 0;
  std::string each;
  outcome.overhead.libraries = 0;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const RunReport& report = reports[i];
    outcome.overhead.libraries =
        std::max(outcome.overhead.libraries, libraries_of(report, outcome.overhead));
    const RunReport& most = reports[shown];
    if (!most.missing && (report.missing || report.reserved > most.reserved)) shown = i;
    cost += report.cost;
    each += (i == 0 ? "" : ", ") + std::to_string(report.reserved / 1'000'000) + " MB";
  }
  outcome.notes.push_back("figures are of GPU " + std::to_string(shown) + " of " +
                          std::to_string(reports.size()) +
                          ", which takes most; reserved by each: " + each);
  reports[shown].cost = cost;
  return std::move(reports[shown]);
}

RunReport run_most(const Gpu& gpu, const Release& release, const ModelConfig& config,
                   const TorchGeneration& options, const Extent& extent, std::uint64_t capacity,
                   Outcome& outcome) {
  if (options.pretrained && options.pretrained->gpus > 1) {
    return most_of(run_on_each(gpu, release, config, options, extent, capacity, &outcome.on_host),
                   outcome);
  }
  RunReport report =
      pytorch::run(gpu, release, config, options, extent, capacity, &outcome.on_host);
  outcome.overhead.libraries = libraries_of(report, outcome.overhead);
  return report;
}

RunReport run_most(const Gpu& gpu, const Release& release, const ModelConfig& config,
                   const TorchTraining& options, const Extent& extent, std::uint64_t capacity,
                   Outcome& outcome) {
  if (is_stage(options)) {
    return most_of(run_on_each(gpu, release, config, options, extent, capacity), outcome);
  }
  RunReport report = pytorch::run(gpu, release, config, options, extent, capacity);
  outcome.overhead.libraries = libraries_of(report, outcome.overhead);
  return report;
}

void note_quantization(const Quantization& quantization, std::vector<std::string>& notes) {
  if (quantization.format != Quantization::Format::Int8) return;
  notes.emplace_back(
      "LLM.int8() keeps columns of outliers in 16 bits: as many are assumed as random weights "
      "have; "
      "trained ones mostly have fewer, and take less");
}

/// Beside the total, since it gives way.
void note_managed(const RunReport& report, std::vector<std::string>& notes) {
  const std::uint64_t bytes = report.stages.empty() ? 0 : report.stages.back().managed;
  if (bytes == 0) return;
  notes.push_back(std::to_string(bytes / 1'000'000) +
                  " MB of paged optimizer states are not in the total: they lie on the card where "
                  "it has room left, and in the host's memory where not, which is slow");
}

/// MatMul8bitLt's ctx does.
void note_kept_inputs(const TorchTraining& training, std::vector<std::string>& notes) {
  if (training.checkpoint != GradientCheckpointing::Full || !keeps_outliers(training.pretrained))
    return;
  notes.emplace_back(
      "LLM.int8() keeps the input of each of its linears, for bitsandbytes holds them beside what "
      "autograd saves; --checkpoint reentrant (use_reentrant=True), or 4 bits, would not");
}

/// Whose figures they are, and what all have to have.
void note_gpus(std::int64_t gpus, bool alike, std::uint64_t total,
               std::vector<std::string>& notes) {
  const std::uint64_t all = total / 1'000'000 * static_cast<std::uint64_t>(gpus);
  notes.push_back("figures are of one of " + std::to_string(gpus) + " GPUs, " +
                  (alike ? "all alike" : "the one that takes most (rank 0)") + ": together " +
                  std::to_string(all / 1000) + "." + std::to_string(all % 1000 / 100) +
                  " GB at most");
}

/// What is reserved beyond `report` where the race for DDP's first bucket ends otherwise: see
/// Reducer.
std::uint64_t more_with_first_bucket(const Gpu& gpu, const Release& release,
                                     const ModelConfig& config, TorchTraining options,
                                     const Extent& extent, const RunReport& report) {
  options.distributed->keeps_first_bucket = true;
  Extent as_long;
  as_long.steps = report.stages.empty() ? 0 : report.stages.back().step;
  as_long.micro_batches = extent.micro_batches;
  as_long.detail.events = false;
  const RunReport kept = pytorch::run(gpu, release, config, options, as_long);
  return kept.reserved - std::min(kept.reserved, report.reserved);
}

void note_first_bucket(std::uint64_t more, std::vector<std::string>& notes) {
  std::string note =
      "in step 2 DDP's first bucket, as large as all gradients, may live until backward: that is a "
      "race with NCCL's watchdog, taken to be lost where zero1's states fit in what step 1 left "
      "free";
  if (more > 0) {
    note += "; lost here, " + std::to_string(more / 1'000'000) +
            " MB more are reserved, which the verdict allows for";
  }
  notes.push_back(std::move(note));
}

void note_on_host(const OnHost& host, std::int64_t layers, const Pretrained& pretrained,
                  std::vector<std::string>& notes) {
  if (pretrained.quantization) {
    notes.emplace_back(
        "device_map auto: transformers quantises nothing that it would leave on the host, and "
        "refuses to load");
    return;
  }
  if (host.all) {
    notes.emplace_back(
        "device_map auto leaves the whole model on the host: it runs there, and not on this GPU, "
        "which has no room for any part of it");
    return;
  }
  notes.push_back("device_map auto leaves " + std::to_string(host.layers) + " of " +
                  std::to_string(layers) + " layers, " + std::to_string(host.bytes / 1'000'000) +
                  " MB, on the host: each is copied to the GPU in every forward, which is slow");
}

}  // namespace

Outcome TorchWorkload::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
                           const Extent& extent) const {
  Outcome outcome;
  outcome.overhead = gpu.overhead;
  const Release& release = *release_;
  outcome.overhead.context = library_sizes(gpu.overhead, release.name).context;
  if (const auto* generation = std::get_if<TorchGeneration>(&options())) {
    outcome.report = run_most(gpu, release, config, *generation, extent, capacity, outcome);
  } else {
    const auto& trained = std::get<TorchTraining>(options());
    outcome.report = run_most(gpu, release, config, trained, extent, capacity, outcome);
    note_kept_inputs(trained, outcome.notes);
    note_managed(outcome.report, outcome.notes);
  }
  if (release.simulated) {
    outcome.notes.push_back("PyTorch " + short_text(release.torch) +
                            " was held against its own allocator on a GPU "
                            "that only counts, and against no real one, as " +
                            short_text(runtime_->usual().torch) + " was");
  }
  if (gpu.arch.sm < release.least_arch.sm) {
    outcome.notes.push_back("PyTorch " + pytorch::text(release.torch) + " as built for CUDA " +
                            short_text(release.cuda) + " begins at sm_" +
                            std::to_string(release.least_arch.sm) + " and does not run on sm_" +
                            std::to_string(gpu.arch.sm) + "; a build for an older CUDA may");
  }
  const bool sdpa =
      std::visit([](const auto& o) { return o.attention; }, options()) == AttentionKind::Sdpa;
  if (sdpa && gpu.arch.sm < 80 && computes_in() == DType::Bf16) {
    outcome.notes.emplace_back(
        "below sm_80 PyTorch has no fused attention in bf16: each layer holds the scores of all "
        "tokens with all, which fp16 may not need");
  }
  const auto* training = std::get_if<TorchTraining>(&options());
  if (training != nullptr && training->distributed && !is_stage(*training)) {
    const Distributed& spread = *training->distributed;
    const bool alike =
        spread.strategy == DistributedStrategy::Ddp || spread.strategy == DistributedStrategy::Tp;
    note_gpus(spread.gpus, alike, outcome.report.reserved + outcome.overhead.total(),
              outcome.notes);
    if (reduces_in_buckets(*training->distributed)) {
      outcome.may_reserve_more =
          more_with_first_bucket(gpu, release, config, *training, extent, outcome.report);
      note_first_bucket(outcome.may_reserve_more, outcome.notes);
    }
  }
  if (const auto& arguments = pretrained()) {
    if (arguments->quantization) note_quantization(*arguments->quantization, outcome.notes);
    if (outcome.on_host) note_on_host(*outcome.on_host, config.layers, *arguments, outcome.notes);
  }
  if (const auto* generation = std::get_if<TorchGeneration>(&options())) {
    if (generation->pretrained && generation->pretrained->tp > 1) {
      note_gpus(generation->pretrained->tp, true,
                outcome.report.reserved + outcome.overhead.total(), outcome.notes);
    }
    if (generation->static_cache) {
      outcome.notes.emplace_back(
          "with a static cache generate() compiles what it decodes with, which takes more, unless "
          "disable_compile is set: this is without");
    }
    const std::int64_t samples = decode_samples(config, extent);
    outcome.sampled = generation->generate - 1 > samples;
    if (outcome.sampled) {
      outcome.notes.push_back(std::to_string(samples) + " of " +
                              std::to_string(generation->generate - 1) +
                              " decode steps are walked, evenly spread");
    }
  }
  return outcome;
}

}  // namespace vramfit::pytorch
