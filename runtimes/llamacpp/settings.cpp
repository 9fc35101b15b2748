#include "runtimes/llamacpp/settings.h"

#include "model/errors.h"
#include "runtimes/llamacpp/weights/recipe.h"

namespace vramfit::llamacpp {
namespace {

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
       .help =
           "Ollama's: both of them (default beside --num-ctx: 512 to 2048, by context and card)",
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

}  // namespace vramfit::llamacpp
