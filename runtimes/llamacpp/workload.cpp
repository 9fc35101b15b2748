#include "runtimes/llamacpp/workload.h"

#include <algorithm>
#include <cmath>

#include "model/errors.h"
#include "model/quantity.h"
#include "runtimes/llamacpp/base/context_params.h"
#include "runtimes/llamacpp/base/limits.h"
#include "runtimes/llamacpp/breakdown.h"
#include "runtimes/llamacpp/draft.h"
#include "runtimes/llamacpp/fit_choice.h"
#include "runtimes/llamacpp/ollama.h"
#include "runtimes/sum_allocator.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::int64_t kLongestSearched = std::int64_t{1} << 24;  ///< positions

DeviceParts parts_of(const std::string& device, const Buffers& buffers) {
  return {device,
          {{"model", buffers.model}, {"context", buffers.context}, {"compute", buffers.compute}}};
}

/// Of a server, and where one drafts for it, of that beside it.
std::vector<DeviceParts> parts_of(const std::vector<Breakdown>& starts) {
  const Breakdown& server = starts.front();
  std::vector<DeviceParts> devices;
  for (std::size_t i = 0; i < server.gpus.size(); ++i) {
    devices.push_back(parts_of("GPU " + std::to_string(i), server.gpus[i]));
    devices.back().parts.emplace_back("pool", server.pools[i]);
  }
  devices.push_back(parts_of("host", server.host));
  devices.push_back(parts_of("host, page-locked", server.pinned));
  if (starts.size() == 1) return devices;
  const Breakdown& draft = starts.back();
  for (std::size_t i = 0; i < draft.gpus.size(); ++i) {
    devices[i].parts.emplace_back("draft", draft.gpus[i].total() + draft.pools[i]);
  }
  devices[draft.gpus.size()].parts.emplace_back("draft", draft.host.total());
  devices.back().parts.emplace_back("draft", draft.pinned.total());
  return devices;
}

/// Whether a model's weights make cuBLAS be loaded: what is not quantised is multiplied by it, as
/// what experts are chosen by.
bool uses_cublas(const Model& model) {
  return std::any_of(model.tensors.begin(), model.tensors.end(), [](const ModelTensor& tensor) {
    return tensor.dims() > 1 && !is_quantized(tensor.type) && tensor.name.rfind("blk.", 0) == 0;
  });
}

/// Weights and caches have the same types and shapes whichever backend computes.
std::string not_known_of(Platform platform) {
  return std::string("weights and caches are as large under ") + name(platform) +
         "; compute buffers are taken as CUDA's, and what its driver and temporary buffers take is "
         "not known and not counted";
}

/// Writes down what a device holds of each start, each buffer as cudaMalloc gives it.
void allocate(Ledger& ledger, const std::vector<Breakdown>& starts, std::size_t gpu) {
  {
    const StageScope scope(ledger, Stage::Loaded, 0);
    for (const Breakdown& start : starts) {
      ledger.allocate("model buffer", vramfit::Category::Parameters, start.gpus[gpu].model);
    }
  }
  const StageScope scope(ledger, Stage::Prefill, 1);
  for (const Breakdown& start : starts) {
    ledger.allocate("context buffer", vramfit::Category::KvCache, start.gpus[gpu].context);
    ledger.allocate("compute buffer", vramfit::Category::Workspace, start.gpus[gpu].compute);
    ledger.allocate("pool", vramfit::Category::Workspace, start.pools[gpu]);
  }
}

}  // namespace

Facts ServerWorkload::facts() const {
  return {.weights = DType::Fp16, .batch = options_.context.sequences, .seq = positions()};
}

// Of slots with a cache each, each has its share.
std::int64_t ServerWorkload::positions() const {
  const ContextOptions& context = options_.context;
  const std::int64_t all = size(kContextAxis);
  return context.unified ? all : std::max<std::int64_t>(all / context.sequences, 1);
}

std::int64_t ServerWorkload::parameters(const ModelConfig&) const {
  std::int64_t elements = 0;
  for (const ModelTensor& tensor : model_->tensors) elements += tensor.elements();
  return elements;
}

std::int64_t ServerWorkload::size(const SearchAxis& axis) const {
  if (axis == kQuantAxis) {
    if (quantizations_ == nullptr) return 0;
    const std::vector<Recipe>& all = quantizations_->by_size();
    return std::find(all.begin(), all.end(), parse_recipe(options_.recipe, "quant")) - all.begin() +
           1;
  }
  if (axis == kSlotsAxis) return options_.context.sequences;
  if (axis == kContextAxis) {
    const std::int64_t given = options_.context.context;
    return given == 0 ? model_->hparams.context_train : given;
  }
  const std::int64_t all = model_->hparams.run_layers() + 1;
  const std::int64_t given = options_.placement.gpu_layers;
  return given < 0 ? all : std::min(given, all);
}

std::shared_ptr<const Workload> ServerWorkload::resized(const SearchAxis& axis,
                                                        std::int64_t size) const {
  auto other = std::make_shared<ServerWorkload>(*this);
  Options& options = other->options_;
  if (axis == kQuantAxis) {
    options.recipe = name_of(axis, size);
    other->model_ = quantizations_->in(parse_recipe(options.recipe, "quant"));
  } else if (axis == kSlotsAxis) {
    options.context.sequences = size;
    options.context.unified = options.one_cache;  // the server's own four share one alone
    start_as_ollama(options.context, model_->hparams);
    set_outputs(options);
  } else {
    (axis == kContextAxis ? options.context.context : options.placement.gpu_layers) = size;
  }
  return other;
}

std::int64_t ServerWorkload::sequences_of(const SearchAxis& axis) const {
  const ContextOptions& context = options_.context;
  return axis == kContextAxis && !context.unified ? context.sequences : 1;
}

std::int64_t ServerWorkload::limit(const SearchAxis& axis, const ModelConfig&) const {
  if (axis == kSlotsAxis) return kMostSequences;
  if (axis == kQuantAxis) {
    if (quantizations_ != nullptr) return std::ssize(quantizations_->by_size());
    throw BadInput("max-quant: a GGUF file's tensors have their types; with --model or --config");
  }
  return axis == kContextAxis ? kLongestSearched : model_->hparams.run_layers() + 1;
}

std::string ServerWorkload::name_of(const SearchAxis& axis, std::int64_t size) const {
  if (axis != kQuantAxis) return Workload::name_of(axis, size);
  return recipe_name(quantizations_->by_size().at(static_cast<std::size_t>(size - 1)));
}

void ServerWorkload::validate(const ModelConfig&) const {
  settle(options_.context, model_->hparams);
}

std::vector<Card> ServerWorkload::cards_of(const Gpu& gpu, std::uint64_t capacity,
                                           bool cublas) const {
  if (!gpu.machine.empty()) return machine_of(gpu.machine, cublas);
  return std::vector<Card>(static_cast<std::size_t>(options_.gpus), card_of(gpu, cublas, capacity));
}

Options ServerWorkload::asked_of(const Gpu& gpu) const {
  Options options = options_;
  if (!options.context.batch_left_open) return options;
  const std::vector<Gpu> alike(static_cast<std::size_t>(options.gpus), gpu);
  const std::vector<Card> cards = machine_of(gpu.machine.empty() ? alike : gpu.machine, false);
  options.context.batch = ollamas_batch(options.context, *model_, devices_of(cards));
  options.context.ubatch = options.context.batch;
  set_outputs(options);
  return options;
}

Options ServerWorkload::chosen(Options options, const std::vector<Card>& cards,
                               std::string& failure) const {
  FitTargets targets;
  const std::vector<Device> devices = devices_of(cards);
  for (const Device& device : devices) targets.free.push_back(device.free);
  targets.margins = options.margins;
  targets.margins.resize(devices.size(), options.margins.back());
  targets.least_context = options.least_context;
  Options asked = options;
  asked.placement.mmap = false;
  const auto measure = [&](const Placement& placement, const ContextOptions& context) {
    Placement read = placement;
    read.mmap = false;
    constexpr auto kMeasured = Reservation::Measured;
    Breakdown taken = breakdowns_->of({model_, read, context, devices, kMeasured});
    if (draft_ == nullptr) return taken;
    asked.context.context = context.context;
    add(taken, breakdowns_->of(draft_start(draft_, asked, model_->hparams, devices, kMeasured)));
    return taken;
  };
  FitChoice choice =
      choose_fit(model_->hparams, options.placement, options.context, targets, measure);
  failure = std::move(choice.failure);
  choice.placement.mmap = options.placement.mmap;
  options.placement = std::move(choice.placement);
  options.context.context = choice.context;
  return options;
}

ServerWorkload::Start ServerWorkload::start(const Gpu& gpu, std::uint64_t capacity) const {
  bool cublas = options_.context.flash == FlashAttention::Off || uses_cublas(*model_) ||
                (draft_ != nullptr && uses_cublas(*draft_));
  while (true) {
    Start start{cards_of(gpu, capacity, cublas), asked_of(gpu), {}, {}};
    if (options_.fits_itself) start.options = chosen(start.options, start.cards, start.failure);
    start.taken = starts(start.options, start.cards);
    // Scores without flash attention are multiplied by cuBLAS.
    if (cublas || std::all_of(start.taken.begin(), start.taken.end(),
                              [](const Breakdown& taken) { return taken.flash; })) {
      return start;
    }
    cublas = true;
  }
}

std::vector<Breakdown> ServerWorkload::starts(const Options& options,
                                              const std::vector<Card>& cards) const {
  std::vector<Device> devices = devices_of(cards);
  std::vector<Breakdown> starts;
  starts.push_back(breakdowns_->of(
      {model_, options.placement, options.context, devices, Reservation::Allocated}));
  if (draft_ == nullptr) return starts;
  const Breakdown& server = starts.front();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::uint64_t taken = reserved_by(server.gpus[i], server.pools[i]);
    devices[i].free -= std::min(devices[i].free, taken);
  }
  starts.push_back(breakdowns_->of(
      draft_start(draft_, options, model_->hparams, devices, Reservation::Allocated)));
  return starts;
}

Outcome ServerWorkload::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig&,
                            const Extent& extent) const {
  Outcome outcome;
  auto [cards, options, taken, failure] = start(gpu, capacity);
  std::vector<CardUse> uses;
  for (const Card& card : cards) uses.push_back({0, card.overhead});
  for (Breakdown& start : taken) {
    if (gpu.platform != Platform::Cuda) start.pools.assign(cards.size(), 0);
    for (std::size_t i = 0; i < cards.size(); ++i) {
      uses[i].reserved += reserved_by(start.gpus[i], start.pools[i]);
    }
  }
  for (CardUse& use : uses) {
    if (use.reserved == 0) use.overhead.libraries = 0;  // no kernel is loaded
  }
  const std::size_t shown = fullest(cards, uses);
  outcome.overhead = uses[shown].overhead;
  // Of a machine, where there is a limit it is each card's own.
  const bool limited = capacity != kUnlimitedBytes;
  SumAllocator sum((limited ? cards[shown].capacity : capacity) + extent.extra_capacity, kGranule);
  SumAllocator host_sum(kUnlimitedBytes);
  Ledger ledger(sum, Counts::Requested, extent.detail.events);
  Ledger host(host_sum, Counts::Requested, extent.detail.events);
  ledger.set_host(&host);
  outcome.report = report_on(ledger, [&, &starts = taken] {  // clang 14 takes no binding as it is
    for (const Breakdown& start : starts) {
      host.allocate("model buffer", vramfit::Category::Parameters,
                    start.host.model + start.pinned.model);
      host.allocate("context buffer", vramfit::Category::KvCache, start.host.context);
      host.allocate("compute buffer", vramfit::Category::Workspace, start.pinned.compute);
    }
    allocate(ledger, starts, shown);
  });
  for (StageRecord& stage : outcome.report.stages) {
    stage.device_used = stage.reserved + outcome.overhead.context + outcome.overhead.libraries;
  }
  outcome.devices = parts_of(taken);
  if (gpu.platform != Platform::Cuda) outcome.notes.push_back(not_known_of(gpu.platform));
  outcome.on_host = left_on_host(options, taken.front());
  if (!gpu.machine.empty()) {
    outcome.cards = std::move(uses);
    outcome.card = shown;
  }
  if (!failure.empty()) {
    outcome.notes.push_back("llama.cpp's --fit gives up and starts as asked: " + failure);
  }
  if (options.gpus > 1) {
    outcome.notes.push_back("figures are of GPU " + std::to_string(shown) + " of " +
                            std::to_string(options.gpus) + ", which " +
                            (gpu.machine.empty() ? "takes most" : "has least to spare"));
  }
  outcome.notes.emplace_back(draft_ == nullptr
                                 ? "a draft model and what sees (--mmproj) are not counted"
                                 : "what sees (--mmproj) is not counted");
  return outcome;
}

std::optional<OnHost> ServerWorkload::left_on_host(const Options& options,
                                                   const Breakdown& taken) const {
  const std::int64_t layers = model_->hparams.run_layers();
  const std::int64_t on_gpu = options.placement.gpu_layers < 0
                                  ? layers
                                  : std::max<std::int64_t>(options.placement.gpu_layers - 1, 0);
  const bool experts = !options.placement.overrides.empty() || options.placement.cpu_moe_layers > 0;
  if (on_gpu >= layers && !experts) return std::nullopt;
  return OnHost{std::max<std::int64_t>(layers - on_gpu, 0), taken.host.model + taken.pinned.model};
}

std::optional<OwnChoice> ServerWorkload::own_choice(const Gpu& gpu, std::uint64_t capacity) const {
  OwnChoice choice;
  Start asked = start(gpu, capacity);
  choice.failure = std::move(asked.failure);
  const Options options = options_.fits_itself ? std::move(asked.options)
                                               : chosen(asked.options, asked.cards, choice.failure);
  const ServerWorkload started(model_, options);
  Flags& flags = choice.flags;
  flags = {{"ctx", std::to_string(started.size(kContextAxis))},
           {"gpu-layers", std::to_string(started.size(kLayersAxis))}};
  const ContextOptions& context = options.context;
  if (context.batch_left_open) flags["num-batch"] = std::to_string(context.batch);
  std::string overrides;
  for (const auto& [pattern, buffer] : options.placement.overrides) {
    if (!overrides.empty()) overrides += ",";
    overrides.append(pattern).append("=").append(buffer);
  }
  if (!overrides.empty()) flags["override-tensor"] = overrides;
  std::string shares;
  for (const double share : options.placement.tensor_split) {
    shares += (shares.empty() ? "" : ",") + std::to_string(std::llround(share));
  }
  if (!shares.empty()) flags["tensor-split"] = shares;
  return choice;
}

std::vector<std::string> ServerWorkload::cautions() const {
  std::vector<std::string> list = ollamas_cautions(options_.context, model_->hparams);
  if (model_->missing_bytes > 0) {
    list.push_back("the file ends " + grouped(static_cast<std::int64_t>(model_->missing_bytes)) +
                   " bytes before its tensors do; llama.cpp does not load it so");
  }
  return list;
}

}  // namespace vramfit::llamacpp
