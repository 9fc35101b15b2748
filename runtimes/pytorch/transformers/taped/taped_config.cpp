#include "runtimes/pytorch/transformers/taped/taped_config.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/config/json_reader.h"
#include "model/config/limits.h"
#include "model/config/text_part.h"
#include "model/errors.h"
#include "model/printable.h"
#include "runtimes/pytorch/transformers/taped/layer_kinds.h"
#include "runtimes/pytorch/transformers/taped/taped_lm.h"
#include "runtimes/pytorch/transformers/taped/tapes.h"

namespace vramfit::pytorch {
namespace {

/// Made of shapes without memory, a layer of each kind.
std::int64_t counted(ModelConfig config, const OpTape& ops, const Release& release) {
  std::map<std::string, std::int64_t> layers_of;
  for (const std::string& kind : config.taped->layer_kinds) ++layers_of[kind];
  std::vector<std::string>& kinds = config.taped->layer_kinds;
  kinds.clear();
  for (const auto& [kind, layers] : layers_of) kinds.push_back(kind);
  config.layers = static_cast<std::int64_t>(kinds.size());
  Tape tape(config.layers);
  Context context(tape, release);
  TapedLm model(context, ops, config, {});
  std::int64_t count = 0;
  std::set<const TensorImpl*> seen;
  for (const CausalLm::NamedModule& named : model.named_modules()) {
    const std::int64_t times =
        named.layer ? layers_of.at(kinds.at(static_cast<std::size_t>(*named.layer))) : 1;
    for (const Tensor& each : parameters_of(named)) {
      if (seen.insert(each.impl()).second) count += times * each.numel();
    }
  }
  return count;
}

/// Modules whose weights are all experts' in one tensor.
bool has_experts(const OpTape& tape) {
  for (const auto& [kind, parameters] : tape.of_layer) {
    for (const NamedTensor& each : parameters) {
      if (each.path.find(".experts.") != std::string::npos) return true;
    }
  }
  return false;
}

/// Weights that are stored in fewer bits run code of their own.
void require_plain(const nlohmann::json& config, const std::string& type) {
  const auto stored = config.find("quantization_config");
  if (stored == config.end() || !stored->is_object()) return;
  const nlohmann::json method = stored->value("quant_method", nlohmann::json());
  throw BadInput("quantization_config: " +
                 (method.is_string() ? shortened(method.get<std::string>(), 20) : "such") +
                 " weights are not predicted of " + type +
                 "; vramfit model runs it, or without that key in bf16");
}

/// A chance matters by whether there is one.
std::string word_of(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.get<double>() > 0 ? "1" : "0";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// A config that the type's code does other things for than were recorded: another tape may be of
/// it.
struct OtherCode : BadInput {
  using BadInput::BadInput;
};

[[noreturn]] void refuse(const OpTape& tape, const std::string& key, const std::string& own,
                         const std::string& recorded) {
  throw OtherCode(key + ": is " + own + ", and " + tape.model_type + "'s code was recorded with " +
                  recorded + "; vramfit model runs it");
}

/// Of a chance that there is, a tape does not have how large it was.
std::string told(const std::string& word) { return word == "1" ? "more than 0" : word; }

/// The code of another one does other things.
void require_flags(const nlohmann::json& config, const OpTape& tape) {
  for (const auto& [key, flag] : tape.flags) {
    const auto own = config.find(key);
    const bool is_said = own != config.end();
    const std::string value = is_said ? word_of(*own) : flag.usual;
    const bool is_off =
        is_said && own->is_null() && (flag.recorded == "false" || flag.recorded == "0");
    if (value == flag.recorded || is_off) continue;
    const std::string own_text = !is_said           ? told(value) + " unless it is said"
                                 : own->is_number() ? own->dump()
                                                    : value;
    refuse(tape, key, shortened(own_text, 40), told(flag.recorded));
  }
}

/// Of the config's file, or of what it has for rope; nothing where neither says it.
std::optional<double> fraction(const nlohmann::json& config, const std::string& key) {
  for (const char* part : {"", "rope_parameters", "rope_scaling"}) {
    const nlohmann::json* object = &config;
    if (*part != 0) {
      const auto found = config.find(part);
      if (found == config.end() || !found->is_object()) continue;
      object = &*found;
    }
    const auto own = object->find(key);
    if (own != object->end() && own->is_number()) return own->get<double>();
  }
  return std::nullopt;
}

/// Sizes that were one where it was recorded have no expression of their own.
void require_held(const nlohmann::json& config, const ConfigKeys& keys, const OpTape& tape) {
  for (const auto& [key, least] : tape.above) {
    if (!keys.has(key) || keys(key) > least) continue;
    refuse(tape, key, std::to_string(keys(key)), "more than " + std::to_string(least));
  }
  for (const auto& [key, held] : tape.holds) {
    std::string own;
    std::string recorded;
    if (const auto* real = std::get_if<double>(&held)) {
      const double value = fraction(config, key).value_or(*real);
      if (value == *real) continue;
      own = nlohmann::json(value).dump();
      recorded = nlohmann::json(*real).dump();
    } else {
      if (!keys.has(key) && !keys.is_null(key)) continue;
      const std::int64_t value = keys(key);
      own = std::to_string(value);
      if (const auto* size = std::get_if<Expression>(&held)) {
        const std::int64_t wanted =
            size->value([&](const std::string& name) { return keys(name); });
        if (value == wanted) continue;
        recorded = std::to_string(wanted);
      } else {
        if (value > 0 && (value & (value - 1)) == 0) continue;
        recorded = "powers of two";
      }
    }
    refuse(tape, key, own, recorded);
  }
}

/// A number where there was none as it was recorded.
void require_nulls(const nlohmann::json& config, const OpTape& tape) {
  for (const auto& [key, taken] : tape.nulls) {
    const auto own = config.find(key);
    if (taken || own == config.end() || own->is_null()) continue;
    refuse(tape, key, shortened(own->dump(), 20), "null");
  }
}

/// transformers/integrations/sdpa_attention.py (use_gqa_in_sdpa): of wider heads, keys and values
/// that several share are repeated, which is other code.
void require_narrow_heads(const ModelConfig& config, const OpTape& tape) {
  constexpr std::int64_t kWidest = 256;
  const bool shares = config.kv_heads < config.heads;
  if (tape.attention != "sdpa" || !shares || config.head_dim <= kWidest) return;
  refuse(tape, "head_dim", std::to_string(config.head_dim), std::to_string(kWidest) + " or less");
}

/// Of a type, or where a key is null that changes what its code does, of the type with that.
std::string name_of_tape(const nlohmann::json& config, const std::string& type,
                         const Release& release) {
  const std::string without = type + ".no_";
  for (const auto& [key, value] : config.items()) {
    if (!value.is_null()) continue;
    std::string name = without;
    name += key;
    if (tape_of(release, name) != nullptr) return name;
  }
  return type;
}

/// The type of a config of one model, or null.
std::optional<std::string> type_of(const nlohmann::json& object) {
  const auto type = object.is_object() ? object.find("model_type") : object.end();
  if (type == object.end() || !type->is_string()) return std::nullopt;
  return type->get<std::string>();
}

ModelConfig read_by(const OpTape& tape, const std::string& tape_name,
                    const std::shared_ptr<const ModelSource>& source, const nlohmann::json& object,
                    const Release& release) {
  require_plain(object, tape.model_type);
  require_flags(object, tape);
  const ConfigKeys keys(*source, tape);
  require_held(object, keys, tape);
  require_nulls(object, tape);
  ModelConfig config;
  config.name = source->name;
  config.family = tape.model_type;
  config.source = source;
  config.layers = keys(tape.layers_key);
  if (config.layers < 1 || config.layers > kMaxLayers) {
    throw BadInput(tape.layers_key + ": is " + std::to_string(config.layers) + "; 1 to " +
                   std::to_string(kMaxLayers));
  }
  const auto key = [&](const char* name) { return keys.has(name) ? keys(name) : 0; };
  config.hidden = key("hidden_size");
  config.vocab = key("vocab_size");
  config.heads = key("num_attention_heads");
  config.kv_heads = keys.has("num_key_value_heads") ? key("num_key_value_heads") : config.heads;
  config.head_dim = keys.has("head_dim") ? key("head_dim")
                    : config.heads > 0   ? config.hidden / config.heads
                                         : 0;
  require_narrow_heads(config, tape);
  config.max_positions = key("max_position_embeddings");
  config.tied_head = key("tie_word_embeddings") != 0;
  config.rope = Rope{};  // it has no table of positions that others would have to know
  for (const char* name : {"dtype", "torch_dtype"}) {
    if (object.contains(name) && object[name].is_string()) config.dtype = object[name];
  }
  TapedShape shape;
  shape.tape = tape_name;
  shape.layer_kinds = layer_kinds(tape, keys, config.layers);
  shape.projections = tape.projections();
  shape.lora_targets = tape.lora_targets;
  shape.expert_targets = tape.expert_targets;
  shape.has_experts = has_experts(tape);
  config.taped = std::move(shape);
  config.taped->parameters = counted(config, tape, release);
  return config;
}

/// By its type's tape, or one of a way that its code has by such a config.
std::optional<ModelConfig> read_as(const std::string& type,
                                   const std::shared_ptr<const ModelSource>& source,
                                   const nlohmann::json& object, const Release& release) {
  const std::string name = name_of_tape(object, type, release);
  const OpTape* tape = tape_of(release, name);
  if (tape == nullptr) return std::nullopt;
  for (const std::string& variant : tape->variants) {
    const std::string other = std::string(type).append(".").append(variant);
    const OpTape* way = tape_of(release, other);
    if (way == nullptr) continue;
    try {
      return read_by(*way, other, source, object, release);
    } catch (const OtherCode&) {
      continue;  // it is not of that way
    }
  }
  return read_by(*tape, name, source, object, release);
}

}  // namespace

std::optional<ModelConfig> taped_config(const std::shared_ptr<const ModelSource>& source,
                                        const Release& release) {
  if (source->config.empty()) return std::nullopt;
  const nlohmann::json object =
      parse_json_object(source->config, source->name, "a Hugging Face config.json");
  if (const std::optional<std::string> type = type_of(object)) {
    if (auto config = read_as(*type, source, object, release)) return config;
  }
  const nlohmann::json text = text_part_of(object);
  const std::optional<std::string> type = type_of(text);
  if (!type) return std::nullopt;
  const auto own = std::make_shared<const ModelSource>(ModelSource{source->name, text.dump()});
  std::optional<ModelConfig> config = read_as(*type, own, text, release);
  if (config) config->notes.push_back(text_part_note(object));
  return config;
}

}  // namespace vramfit::pytorch
