#include "model/config/text_part.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "model/config/json_reader.h"
#include "model/printable.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr const char* kText = "text_config";
constexpr std::size_t kShownBytes = 60;

/// A text model, and which family's config it has.
struct TextPart {
  std::string_view type;    ///< its model_type
  std::string_view parent;  ///< the model whose part it is where it names no type; empty: of many
  const char* family;
  /// transformers 5.17: its config class's defaults of what a file leaves out that is as they are
  /// (configuration_<type>.py; nested configs are saved as what differs: to_diff_dict).
  const char* defaults;
  bool turns_in_three = false;  ///< q and k are rotated by a place's time, height and width
};

// clang-format off
constexpr TextPart kTextParts[] = {
    {"gemma3_text", "gemma3", "gemma3_text",
     R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
         "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
         "max_position_embeddings": 131072})"},
    {"mistral", "mistral3", "mistral",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072})"},
    {"llama", "llava", "llama",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
         "num_attention_heads": 32, "max_position_embeddings": 2048})"},
    {"qwen2", "", "qwen2",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 32768})"},
    {"qwen3", "", "qwen3",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
         "max_position_embeddings": 32768})"},
    {"qwen3_vl_text", "qwen3_vl", "qwen3",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
         "max_position_embeddings": 128000})", true},
    {"qwen2_5_vl_text", "qwen2_5_vl", "qwen2",
     R"({"vocab_size": 152064, "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
         "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings": 32768})", true},
    {"qwen2_vl_text", "qwen2_vl", "qwen2",
     R"({"vocab_size": 152064, "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
         "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings": 32768})", true},
};
// clang-format on

const TextPart* find_part(const std::string& type, const std::string& parent) {
  for (const TextPart& part : kTextParts) {
    if (type.empty() ? !parent.empty() && part.parent == parent : part.type == type) return &part;
  }
  return nullptr;
}

/// Takes the text model's keys out of its parent's; null where it has none.
std::optional<Json> text_of(Json& parent, const JsonReader& json, const std::string& type) {
  if (json.object(kText)) return parent.at(kText);
  // The first files of Qwen's models that see hold both in one.
  const bool in_one = type == "qwen2_vl" || type == "qwen2_5_vl";
  if (!in_one) return std::nullopt;
  Json text = parent;
  for (const char* key : {"vision_config", "architectures", "model_type"}) text.erase(key);
  return text;
}

/// What its parent says of it where it does not itself.
void inherit(Json& text, const Json& parent) {
  for (const char* key : {"dtype", "torch_dtype", "tie_word_embeddings", "quantization_config"}) {
    const auto value = parent.find(key);
    if (value != parent.end() && !text.contains(key)) text[key] = *value;
  }
}

/// "left out in the config, as transformers has them: num_attention_heads 8"; empty: none was.
std::string fill(Json& text, const TextPart& part) {
  std::string filled;
  const Json defaults = Json::parse(part.defaults);
  for (const auto& item : defaults.items()) {
    if (text.contains(item.key())) continue;
    text[item.key()] = item.value();
    filled += (filled.empty() ? "" : ", ") + item.key() + " " + item.value().dump();
  }
  return filled.empty() ? filled : "left out in the config, as transformers has them: " + filled;
}

/// "vision_config and audio_config"
std::string other_parts(const Json& parent) {
  constexpr std::string_view kEnd = "_config";
  std::string names;
  for (const auto& item : parent.items()) {
    const std::string& key = item.key();
    const bool part = key.ends_with(kEnd) && key != kText && item.value().is_object();
    if (part) names += (names.empty() ? "" : " and ") + shortened(key, kShownBytes);
  }
  return names.empty() ? "what sees or hears" : names;
}

/// Rotations of one dimension: as many tables, as wide.
void turn_in_one(Json& text) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto rope = text.find(key);
    if (rope == text.end() || !rope->is_object()) continue;
    for (const char* type : {"type", "rope_type"}) {
      if (rope->contains(type) && rope->at(type) == "mrope") (*rope)[type] = "default";
    }
  }
}

}  // namespace

Json text_part_of(const Json& object) {
  const auto found = object.find(kText);
  if (found == object.end() || !found->is_object()) return nullptr;
  const auto type = found->find("model_type");
  if (type == found->end() || !type->is_string()) return nullptr;
  Json text = *found;
  inherit(text, object);
  return text;
}

std::string text_part_note(const Json& object) {
  return "its text model alone: not counted is " + other_parts(object) +
         ", which vramfit model runs as well";
}

std::vector<std::string> take_text_part(Json& object, const std::string& source) {
  const JsonReader json(object, source);
  const std::string parent = json.text_or("model_type", "");
  std::optional<Json> text = text_of(object, json, parent);
  if (!text) return {};
  const std::string type = JsonReader(*text, source).text_or("model_type", "");
  const TextPart* part = find_part(type, parent);
  if (part == nullptr) {
    json.fail(kText,
              "multimodal models are answered by their text model, and no step is written "
              "down for '" +
                  shortened(type, kShownBytes) + "', which has no tape; vramfit model runs it");
  }
  inherit(*text, object);
  std::vector<std::string> notes = {text_part_note(object)};
  if (std::string filled = fill(*text, *part); !filled.empty()) notes.push_back(std::move(filled));
  if (part->turns_in_three) {
    turn_in_one(*text);
    notes.emplace_back("rotated in one dimension, not in time, height and width");
  }
  (*text)["model_type"] = part->family;
  object = *std::move(text);
  return notes;
}

}  // namespace vramfit
