#include "runtimes/vllm/speculation.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit::vllm {
namespace {

constexpr const char* kFlag = "speculative-config";
constexpr std::int64_t kMostDrafted = 64;

struct Method {
  const char* name;
  Drafts by;
};

/// SpeculativeMethod; of older names of MTP, those of models that are run.
constexpr std::array kMethods = {
    Method{"ngram", Drafts::Ngram},       Method{"eagle", Drafts::Eagle},
    Method{"eagle3", Drafts::Eagle3},     Method{"mtp", Drafts::Mtp},
    Method{"draft_model", Drafts::Model}, Method{"deepseek_mtp", Drafts::Mtp},
    Method{"glm4_moe_mtp", Drafts::Mtp},  Method{"qwen3_next_mtp", Drafts::Mtp},
};

/// Where no method is named, a model drafts.
Drafts method_of(const JsonReader& config) {
  const std::string method = config.text_or("method", config.has("model") ? "draft_model" : "");
  const auto* found = std::find_if(kMethods.begin(), kMethods.end(),
                                   [&](const Method& one) { return one.name == method; });
  if (found != kMethods.end()) return found->by;
  throw BadInput(std::string(kFlag) + ": what " + (method.empty() ? "no method" : method) +
                 " takes of the card is not predicted; a method of ngram, eagle, eagle3, mtp or "
                 "draft_model");
}

/// Keys that are read, and those that change nothing on the card.
constexpr std::array kKeys = {
    "method",
    "model",
    "num_speculative_tokens",
    "draft_tensor_parallel_size",
    "draft_sample_method",
    "parallel_drafting",
    "prompt_lookup_min",
    "prompt_lookup_max",
    "revision",
    "code_revision",
};

void refuse_other_keys(const JsonReader& config, const Flags& flags) {
  for (const std::string& key : config.keys()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      config.fail(key.c_str(), "what it does to memory is not predicted; without it");
    }
  }
  for (const char* key : {"draft_sample_method", "parallel_drafting"}) {
    if (config.has(key) && config.shown(key) != "\"greedy\"" && config.shown(key) != "false") {
      config.fail(key, "what it does to memory is not predicted; without it");
    }
  }
  const std::string ranks = typed(flags, "tensor-parallel").value_or("1");
  if (config.has("draft_tensor_parallel_size") &&
      config.shown("draft_tensor_parallel_size") != ranks) {
    config.fail("draft_tensor_parallel_size",
                "is not --tensor-parallel-size, " + ranks + ", and such is not predicted; as many");
  }
}

}  // namespace

Speculation read_speculation(const Flags& flags) {
  Speculation speculation;
  const auto text = typed(flags, kFlag);
  if (!text) return speculation;
  const nlohmann::json json = parse_json_object(*text, kFlag, "a JSON object");
  const JsonReader config(json, kFlag);
  speculation.by = method_of(config);
  // A model's own drafts are as many as its config says.
  speculation.tokens = speculation.by == Drafts::Mtp
                           ? config.integer_or("num_speculative_tokens", 0, 1, kMostDrafted)
                           : config.integer("num_speculative_tokens", 1, kMostDrafted);
  const bool of_a_model = speculation.by != Drafts::Ngram && speculation.by != Drafts::Mtp;
  if (of_a_model) speculation.model = config.text("model");
  refuse_other_keys(config, flags);
  speculation.typed = *text;
  return speculation;
}

const char* name(Drafts by) {
  if (by == Drafts::None) return "none";
  return std::find_if(kMethods.begin(), kMethods.end(),
                      [&](const Method& one) { return one.by == by; })
      ->name;
}

}  // namespace vramfit::vllm
