#include "runtimes/llamacpp/read_options.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "model/errors.h"
#include "model/gguf/types.h"
#include "model/quantity.h"
#include "runtimes/llamacpp/base/limits.h"
#include "runtimes/llamacpp/weights/recipe.h"

namespace vramfit::llamacpp {
namespace {

constexpr const char* kUsualRecipe = "Q4_K_M";
constexpr std::int64_t kUsualDraft = 3;
/// tools/server/server.cpp: slots where -np is not given, of one cache.
constexpr std::int64_t kServersSlots = 4;
constexpr std::int64_t kOllamasBatch = 512;  ///< api/types.go: DefaultOptions
constexpr std::int64_t kMostGpus = 16;       // GGML_CUDA_MAX_DEVICES
/// Of layers, which people give as 99 or 999 where they mean all.
constexpr std::int64_t kMostAsked = std::numeric_limits<std::int32_t>::max();
constexpr double kLargestShare = 1e9;
constexpr std::int64_t kLargestMargin = std::int64_t{1} << 32;  ///< MiB
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// common/arg.cpp: kv_cache_types.
const std::vector<std::string>& cache_types() {
  static const std::vector<std::string> names = {"f32",  "f16",    "bf16", "q8_0", "q4_0",
                                                 "q4_1", "iq4_nl", "q5_0", "q5_1"};
  return names;
}

/// The best first, but for the one of which llama-quantize makes nothing where rows are no whole
/// blocks: of others it takes another type then.
std::vector<Offer> recipe_offers() {
  std::vector<Offer> offers;
  for (auto recipe = recipes().rbegin(); recipe != recipes().rend(); ++recipe) {
    if (*recipe == Recipe::Q1_0) continue;
    offers.push_back({recipe_name(*recipe), recipe_name(*recipe)});
  }
  return with_default(std::move(offers), kUsualRecipe);
}

std::vector<std::string> items(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream text(list);
  for (std::string item; std::getline(text, item, ',');) items.push_back(item);
  return items;
}

/// What -ts and -fitt take: "3,1", or "3/1".
std::vector<std::string> one_a_gpu(std::string list) {
  std::replace(list.begin(), list.end(), '/', ',');
  return items(list);
}

std::int64_t whole(const Flags& flags, const char* name, std::int64_t otherwise, std::int64_t least,
                   std::int64_t most) {
  const std::optional<std::string> text = typed(flags, name);
  return text ? parse_whole(name, *text, least, most) : otherwise;
}

/// -ngl: a number, however many layers there are, or a word.
std::int64_t gpu_layers(const Flags& flags, const char* name) {
  const std::string text = typed(flags, name).value_or("auto");
  if (text == "auto" || text == "-1") return kLayersLeftOpen;
  if (text == "all" || text == "-2") return kAllLayers;
  return parse_whole(name, text, 0, kMostAsked);
}

/// parse_tensor_buffer_overrides: "pattern=buffer", with commas between several.
std::vector<std::pair<std::string, std::string>> overrides(const Flags& flags,
                                                           const std::string& name) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const std::string& item : items(typed(flags, name.c_str()).value_or(""))) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) {
      throw BadInput(name + ": '" + item +
                     "'; a pattern of names and a buffer type, as in "
                     "exps=CPU");
    }
    list.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return list;
}

std::int64_t cpu_moe_layers(const Flags& flags, const char* all, const char* first) {
  return has(flags, all) ? kMostLayers : whole(flags, first, 0, 0, kMostAsked);
}

std::vector<double> tensor_split(const Flags& flags) {
  std::vector<double> shares;
  for (const std::string& item : one_a_gpu(typed(flags, "tensor-split").value_or(""))) {
    shares.push_back(parse_number("tensor-split", item, 0, kLargestShare));
  }
  return shares;
}

Placement placement(const Flags& flags, std::int64_t gpus) {
  Placement placement;
  placement.gpu_layers = gpu_layers(flags, "gpu-layers");
  const std::string split = typed(flags, "split-mode").value_or("layer");
  placement.split = split == "none"  ? SplitMode::None
                    : split == "row" ? SplitMode::Row
                                     : SplitMode::Layer;
  placement.main_gpu = static_cast<int>(whole(flags, "main-gpu", 0, 0, gpus - 1));
  placement.tensor_split = tensor_split(flags);
  placement.overrides = overrides(flags, "override-tensor");
  placement.cpu_moe_layers = cpu_moe_layers(flags, "cpu-moe", "n-cpu-moe");
  placement.mmap = !has(flags, "no-mmap");
  return placement;
}

Format cache_type(const Flags& flags, const char* name) {
  return *gguf::type_named(typed(flags, name).value_or("f16"));
}

ContextOptions context(const Flags& flags) {
  ContextOptions context;
  context.context = whole(flags, "ctx", 0, 0, kLongestContext);
  context.batch = whole(flags, "batch-size", context.batch, 1, kLongestContext);
  context.ubatch = whole(flags, "ubatch-size", context.ubatch, 1, kLongestContext);
  if (has(flags, "num-batch") || has(flags, "num-ctx")) {
    context.batch = whole(flags, "num-batch", kOllamasBatch, 1, kLongestContext);
    context.ubatch = context.batch;
  }
  context.context_a_slot = whole(flags, "num-ctx", 0, 1, kLongestContext);
  const bool of_ollama = context.context_a_slot > 0;
  const bool auto_slots = !of_ollama && typed(flags, "parallel").value_or("-1") == "-1";
  context.sequences = auto_slots ? kServersSlots : whole(flags, "parallel", 1, 1, kMostSequences);
  context.unified = auto_slots || has(flags, "kv-unified");
  if (typed(flags, "outputs").value_or("slots") == "slots") {
    context.outputs_max = context.sequences;
  }
  context.type_k = cache_type(flags, "cache-type-k");
  context.type_v = cache_type(flags, "cache-type-v");
  const std::string flash = typed(flags, "flash-attn").value_or("auto");
  context.flash = flash == "on"    ? FlashAttention::On
                  : flash == "off" ? FlashAttention::Off
                                   : FlashAttention::Auto;
  context.swa_full = has(flags, "swa-full");
  context.offload_kqv = !has(flags, "no-kv-offload");
  context.offload_ops = !has(flags, "no-op-offload");
  return context;
}

DraftOptions read_draft(const Flags& flags, const std::string& recipe) {
  DraftOptions draft;
  draft.recipe =
      recipe_name(parse_recipe(typed(flags, "quant-draft").value_or(recipe), "quant-draft"));
  draft.gpu_layers = gpu_layers(flags, "gpu-layers-draft");
  draft.type_k = cache_type(flags, "cache-type-k-draft");
  draft.type_v = cache_type(flags, "cache-type-v-draft");
  draft.overrides = overrides(flags, "override-tensor-draft");
  draft.cpu_moe_layers = cpu_moe_layers(flags, "cpu-moe-draft", "n-cpu-moe-draft");
  const std::int64_t longest = whole(flags, "spec-draft-n-max", kUsualDraft, 0, kLongestContext);
  if (has(flags, "spec-type")) draft.longest = longest;
  return draft;
}

/// -fitt: one for all GPUs, or one each; those behind the last keep the usual one.
std::vector<std::uint64_t> margins(const std::string& list, std::int64_t gpus) {
  std::vector<std::uint64_t> margins;
  for (const std::string& mib : one_a_gpu(list)) {
    const std::int64_t size = parse_whole("fit-target", mib, 0, kLargestMargin);
    margins.push_back(static_cast<std::uint64_t>(size) * kMiB);
  }
  const auto count = static_cast<std::size_t>(gpus);
  if (margins.empty() || margins.size() > count) {
    throw BadInput("fit-target: " + std::to_string(margins.size()) +
                   " sizes; one, or one for each of " + std::to_string(gpus) + " GPUs");
  }
  margins.resize(count, margins.size() == 1 ? margins.front() : kUsualMargin);
  return margins;
}

/// common/arg.cpp: is_truthy, is_falsey and is_autoy.
std::string canonical_switch(std::string_view, const std::string& alias) {
  if (alias == "enabled" || alias == "true" || alias == "1") return "on";
  if (alias == "disabled" || alias == "false" || alias == "0") return "off";
  return alias;
}

std::string canonical_flash(std::string_view flag, const std::string& alias) {
  return alias == "-1" ? "auto" : canonical_switch(flag, alias);
}

/// The newest mode shares out the weights of each operation as no other does.
std::string canonical_split(std::string_view flag, const std::string& alias) {
  if (alias != "tensor") return alias;
  throw BadInput(std::string(flag) +
                 ": how tensor splits weights and caches is not predicted; nearest: layer or row");
}

constexpr Needs kFits = {"--fit on",
                         [](const Flags& flags) { return typed(flags, "fit") == "on"; }};
constexpr Needs kDrafted = {"--model-draft",
                            [](const Flags& flags) { return has(flags, "model-draft"); }};
constexpr Needs kSeveral = {"--gpus", [](const Flags& flags) { return has(flags, "gpus"); }};

}  // namespace

const Settings& settings() {
  using enum Setting::With;
  using enum Setting::Takes;
  static const Settings rows = {
      {.name = "quant",
       .with = Inference,
       .help = "of --model and --config: llama-quantize's types, as Q8_0, Q4_K_M (default), IQ4_XS "
               "or MXFP4, without importance matrix",
       .offers = recipe_offers()},
      {.name = "ctx",
       .with = Inference,
       .help = "positions of the context (default: as trained)",
       .takes = Number,
       .spellings = {{"ctx-size"}, {"c"}}},
      {.name = "num-ctx",
       .with = Inference,
       .help =
           "Ollama's: positions of each of its slots, which --parallel counts (default then: 1)",
       .takes = Number,
       .spellings = {{"ollama-context-length"}},
       .instead_of = {"ctx"}},
      {.name = "parallel",
       .with = Inference,
       .help =
           "slots, each with its share of the context (default: the server's 4, which share one "
           "cache)",
       .takes = Number,
       .spellings = {{"np"}, {"num-parallel"}, {"ollama-num-parallel"}}},
      {.name = "gpu-layers",
       .with = Inference,
       .help =
           "layers on the GPU, the output one of them: a number, all, or auto (default): all, or "
           "what --fit on chooses",
       .takes = Number,
       .spellings = {{"ngl"}, {"n-gpu-layers"}, {"num-gpu"}}},
      {.name = "cache-type-k",
       .with = Inference,
       .help = "f16 (default), q8_0, q4_0, …",
       .choices = cache_types(),
       .spellings = {{"ctk"}}},
      {.name = "cache-type-v",
       .with = Inference,
       .help = "the same of values; a quantised one needs flash attention",
       .choices = cache_types(),
       .spellings = {{"ctv"}}},
      {.name = "kv-unified",
       .with = Inference,
       .help = "slots share one cache",
       .takes = Nothing,
       .spellings = {{"kvu"}}},
      {.name = "ubatch-size",
       .with = Inference,
       .help = "tokens that are computed at once (default 512)",
       .takes = Number,
       .spellings = {{"ub"}}},
      {.name = "batch-size",
       .with = Inference,
       .help = "tokens that are submitted at once (default 2048)",
       .takes = Number,
       .spellings = {{"b"}}},
      {.name = "num-batch",
       .with = Inference,
       .help = "Ollama's: both of them (default beside --num-ctx: 512)",
       .takes = Number,
       .instead_of = {"batch-size", "ubatch-size"}},
      {.name = "outputs",
       .with = Inference,
       .help =
           "rows of logits at a time: one a slot, as the server's (default: slots), or batch, as "
           "llama-cli and llama-bench",
       .choices = {"slots", "batch"}},
      {.name = "flash-attn",
       .with = Inference,
       .help = "on, off or auto (default)",
       .choices = {"on", "off", "auto"},
       .spellings = {{"fa"}},
       .canonical_value = canonical_flash,
       .bare = "on"},
      {.name = "no-kv-offload",
       .with = Inference,
       .help = "the cache stays on the host",
       .takes = Nothing,
       .spellings = {{"nkvo"}}},
      {.name = "no-op-offload",
       .with = Inference,
       .help = "what lies on the host is computed there, large batches too",
       .takes = Nothing},
      {.name = "swa-full",
       .with = Inference,
       .help = "layers with a window keep the whole context",
       .takes = Nothing},
      {.name = "no-mmap",
       .with = Inference,
       .help = "weights on the host are read, and not mapped",
       .takes = Nothing},
      {.name = "override-tensor",
       .with = Inference,
       .help = "tensors by a pattern of names, and where they go: exps=CPU",
       .takes = List,
       .spellings = {{"ot"}}},
      {.name = "cpu-moe",
       .with = Inference,
       .help = "all experts stay on the host",
       .takes = Nothing,
       .spellings = {{"cmoe"}}},
      {.name = "n-cpu-moe",
       .with = Inference,
       .help = "experts of the first so many layers stay on the host",
       .takes = Number,
       .spellings = {{"ncmoe"}}},
      {.name = "gpus",
       .with = Either,
       .help = "so many of the card (default 1); figures are of the fullest",
       .takes = Number},
      {.name = "tensor-split",
       .with = Inference,
       .help = "with --gpus: each one's share, as 3,1 (default: by what is free)",
       .takes = List,
       .needs = &kSeveral,
       .spellings = {{"ts"}}},
      {.name = "split-mode",
       .with = Inference,
       .help = "with --gpus: layer (default), row or none",
       .needs = &kSeveral,
       .choices = {"layer", "row", "none"},
       .spellings = {{"sm"}},
       .canonical_value = canonical_split},
      {.name = "main-gpu",
       .with = Inference,
       .help = "with --gpus: the one of --split-mode none",
       .takes = Number,
       .needs = &kSeveral,
       .spellings = {{"mg"}}},
      {.name = "model-draft",
       .with = Inference,
       .help = "a smaller model beside it: one of --list, a config's folder or a GGUF file",
       .spellings = {{"md"}, {"spec-draft-model"}}},
      {.name = "quant-draft",
       .with = Inference,
       .help = "its --quant (default: as --quant)",
       .needs = &kDrafted},
      {.name = "gpu-layers-draft",
       .with = Inference,
       .help = "its --gpu-layers (default: all)",
       .needs = &kDrafted,
       .spellings = {{"ngld"}, {"n-gpu-layers-draft"}, {"spec-draft-ngl"}}},
      {.name = "cache-type-k-draft",
       .with = Inference,
       .help = "its --cache-type-k",
       .needs = &kDrafted,
       .choices = cache_types(),
       .spellings = {{"ctkd"}, {"spec-draft-type-k"}}},
      {.name = "cache-type-v-draft",
       .with = Inference,
       .help = "its --cache-type-v",
       .needs = &kDrafted,
       .choices = cache_types(),
       .spellings = {{"ctvd"}, {"spec-draft-type-v"}}},
      {.name = "override-tensor-draft",
       .with = Inference,
       .help = "its --override-tensor",
       .takes = List,
       .needs = &kDrafted,
       .spellings = {{"otd"}, {"spec-draft-override-tensor"}}},
      {.name = "cpu-moe-draft",
       .with = Inference,
       .help = "its --cpu-moe",
       .takes = Nothing,
       .needs = &kDrafted,
       .spellings = {{"cmoed"}, {"spec-draft-cpu-moe"}}},
      {.name = "n-cpu-moe-draft",
       .with = Inference,
       .help = "its --n-cpu-moe",
       .takes = Number,
       .needs = &kDrafted,
       .spellings = {{"ncmoed"}, {"spec-draft-n-cpu-moe"}, {"spec-draft-ncmoe"}}},
      {.name = "spec-type",
       .with = Inference,
       .help = "draft-simple: it drafts; otherwise llama.cpp only loads it",
       .needs = &kDrafted,
       .choices = {"draft-simple"}},
      {.name = "spec-draft-n-max",
       .with = Inference,
       .help = "tokens of a draft (default 3)",
       .takes = Number,
       .needs = &kDrafted},
      {.name = "fit",
       .with = Inference,
       .help = "on: what is not given is set as llama.cpp sets it by what the card has free; off "
               "(default): all as given, and what it would set is told",
       .choices = {"on", "off"},
       .canonical_value = canonical_switch},
      {.name = "fit-target",
       .with = Inference,
       .help = "with --fit on: MiB that it leaves free (default 1024)",
       .takes = List,
       .needs = &kFits,
       .spellings = {{"fitt"}}},
      {.name = "fit-ctx",
       .with = Inference,
       .help = "with --fit on: the context that it goes down to (default 4096)",
       .takes = Number,
       .needs = &kFits,
       .spellings = {{"fitc"}}},
  };
  return rows;
}

Options read_options(const Flags& flags, bool of_a_file) {
  Options options;
  if (of_a_file && has(flags, "quant")) {
    throw BadInput("quant: a GGUF file's tensors have their types; without --quant or --gguf");
  }
  if (!of_a_file) {
    options.recipe =
        recipe_name(parse_recipe(typed(flags, "quant").value_or(kUsualRecipe), "quant"));
  }
  options.gpus = whole(flags, "gpus", 1, 1, kMostGpus);
  options.placement = placement(flags, options.gpus);
  options.context = context(flags);
  options.draft = read_draft(flags, options.recipe.empty() ? kUsualRecipe : options.recipe);
  set_outputs(options);
  options.fits_itself = typed(flags, "fit") == "on";
  if (const auto list = typed(flags, "fit-target")) options.margins = margins(*list, options.gpus);
  options.least_context = static_cast<std::uint32_t>(
      whole(flags, "fit-ctx", options.least_context, 1, kLongestContext));
  return options;
}

}  // namespace vramfit::llamacpp
