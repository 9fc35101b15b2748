#include "model/config/stored_quantization.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/config/model_config.h"
#include "model/errors.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr const char* kKey = "quantization_config";

bool is_true(const Json& section, const char* key) {
  const auto found = section.find(key);
  return found != section.end() && found->is_boolean() && found->get<bool>();
}

std::string text(const Json& section, const char* key, const char* fallback) {
  const auto found = section.find(key);
  return found != section.end() && found->is_string() ? found->get<std::string>() : fallback;
}

bool says_nothing(const Json& section) {
  return std::all_of(section.begin(), section.end(), [](const Json& value) {
    return value.is_null() || (value.is_boolean() && !value.get<bool>());
  });
}

/// Modules that no causal language model quantises, or has.
bool is_never_quantized(const Json& module) {
  constexpr const char* kNever[] = {"lm_head", "embed_out", "multi_modal_projector", "merger",
                                    "modality_projection"};
  return std::any_of(std::begin(kNever), std::end(kNever),
                     [&](const char* name) { return module == name; });
}

/// What would take another amount of memory and has no flag.
void refuse_what_has_no_flag(const Json& section, const std::string& source) {
  const auto fail = [&](const std::string& key, const std::string& expected) {
    throw BadInput(source + ": " + kKey + ": " + key + ": is not predicted; " + expected);
  };
  const auto skipped = section.find("llm_int8_skip_modules");
  if (skipped != section.end() && skipped->is_array() &&
      !std::all_of(skipped->begin(), skipped->end(), is_never_quantized)) {
    fail("llm_int8_skip_modules", "the head alone may stay in 16 bits");
  }
  for (const char* key : {"llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight"}) {
    if (is_true(section, key)) fail(key, "false");
  }
  if (text(section, "bnb_4bit_quant_storage", "uint8") != "uint8") {
    fail("bnb_4bit_quant_storage", "uint8");
  }
}

std::string flag_of_dtype(const std::string& dtype) {
  if (dtype.ends_with("bfloat16")) return "bf16";
  return dtype.ends_with("float16") ? "fp16" : "fp32";
}

using Flags = std::map<std::string, std::string>;

/// What is not said is as BitsAndBytesConfig has it.
Flags flags_of(const Json& section) {
  if (is_true(section, "load_in_8bit")) return {{"quant", "int8"}};
  if (!is_true(section, "load_in_4bit")) return {};
  Flags flags = {
      {"quant", text(section, "bnb_4bit_quant_type", "fp4")},
      {"quant-compute", flag_of_dtype(text(section, "bnb_4bit_compute_dtype", "float32"))}};
  if (is_true(section, "bnb_4bit_use_double_quant")) flags["double-quant"] = "";
  return flags;
}

}  // namespace

std::map<std::string, std::string> take_stored_quantization(Json& config,
                                                            const std::string& source) {
  const auto found = config.find(kKey);
  if (found == config.end() || !found->is_object()) return {};
  const Json& section = *found;
  // Configs of old have no method.
  const bool ours = text(section, "quant_method", "bitsandbytes") == "bitsandbytes" &&
                    (is_true(section, "load_in_4bit") || is_true(section, "load_in_8bit") ||
                     section.contains("quant_method"));
  if (!ours && !says_nothing(section)) return {};
  refuse_what_has_no_flag(section, source);
  Flags flags = flags_of(section);
  config.erase(kKey);
  return flags;
}

void require_stored_format(const ModelConfig& model, const std::string& quant,
                           const std::string& instead) {
  const auto stored = model.stored_quant.find("quant");
  if (stored == model.stored_quant.end() || stored->second == quant) return;
  throw BadInput(model.name + ": " + kKey + ": weights are stored in bitsandbytes' " +
                 stored->second + "; " + instead);
}

}  // namespace vramfit
