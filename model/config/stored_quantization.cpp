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

std::string flag_of_dtype(const std::string& dtype) {
  if (dtype.ends_with("bfloat16")) return "bf16";
  return dtype.ends_with("float16") ? "fp16" : "fp32";
}

}  // namespace

std::map<std::string, std::string> take_stored_quantization(Json& config) {
  const auto found = config.find(kKey);
  if (found == config.end() || !found->is_object()) return {};
  const Json section = *found;
  const bool ours = text(section, "quant_method", "") == "bitsandbytes" ||
                    is_true(section, "load_in_4bit") || is_true(section, "load_in_8bit");
  if (!ours && !says_nothing(section)) return {};
  config.erase(kKey);
  if (is_true(section, "load_in_8bit")) return {{"quant", "int8"}};
  if (!is_true(section, "load_in_4bit")) return {};
  // What is not said is as BitsAndBytesConfig has it.
  std::map<std::string, std::string> flags = {
      {"quant", text(section, "bnb_4bit_quant_type", "fp4")},
      {"quant-compute", flag_of_dtype(text(section, "bnb_4bit_compute_dtype", "float32"))}};
  if (is_true(section, "bnb_4bit_use_double_quant")) flags["double-quant"] = "";
  return flags;
}

void require_stored_format(const ModelConfig& model, const std::string& quant) {
  const auto stored = model.stored_quant.find("quant");
  if (stored == model.stored_quant.end() || stored->second == quant) return;
  throw BadInput(model.name + ": " + kKey + ": weights are stored in bitsandbytes' " +
                 stored->second + "; --quant " + stored->second);
}

}  // namespace vramfit
