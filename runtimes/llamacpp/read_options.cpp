#include "runtimes/llamacpp/read_options.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "model/errors.h"
#include "model/gguf/types.h"
#include "model/quantity.h"
#include "runtimes/llamacpp/base/limits.h"
#include "runtimes/llamacpp/settings.h"
#include "runtimes/llamacpp/weights/recipe.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::int64_t kUsualDraft = 3;
/// tools/server/server.cpp: slots where -np is not given, of one cache.
constexpr std::int64_t kServersSlots = 4;
constexpr std::int64_t kMostGpus = 16;  // GGML_CUDA_MAX_DEVICES
/// Of layers, which people give as 99 or 999 where they mean all.
constexpr std::int64_t kMostAsked = std::numeric_limits<std::int32_t>::max();
constexpr double kLargestShare = 1e9;
constexpr std::int64_t kLargestMargin = std::int64_t{1} << 32;  ///< MiB

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
      throw BadInput(std::string(name).append(": '").append(item).append(
          "'; a pattern of names and a buffer type, as in exps=CPU"));
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
  context.batch_left_open = has(flags, "num-ctx") && !has(flags, "num-batch");
  if (context.batch_left_open || has(flags, "num-batch")) {
    context.batch = whole(flags, "num-batch", context.ubatch, 1, kLongestContext);
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

}  // namespace

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
  options.one_cache = has(flags, "kv-unified");
  options.draft = read_draft(flags, options.recipe.empty() ? kUsualRecipe : options.recipe);
  set_outputs(options);
  options.fits_itself = typed(flags, "fit") == "on";
  if (const auto list = typed(flags, "fit-target")) options.margins = margins(*list, options.gpus);
  options.least_context = static_cast<std::uint32_t>(
      whole(flags, "fit-ctx", options.least_context, 1, kLongestContext));
  return options;
}

}  // namespace vramfit::llamacpp
