#include "model/config/hugging_face.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "model/config/families.h"
#include "model/config/keys.h"
#include "model/config/stored_quantization.h"
#include "model/config/text_part.h"
#include "model/errors.h"
#include "model/printable.h"
#include "model/text_file.h"

namespace vramfit {
namespace {

constexpr std::size_t kShownTypeBytes = 60;

/// Null where there is none.
const FamilyReader* find_family(const std::string& type) {
  const auto found =
      std::find_if(families().begin(), families().end(),
                   [&type](const FamilyReader& family) { return type == family.model_type; });
  return found == families().end() ? nullptr : &*found;
}

/// What it refuses is no fault of the config's.
template <class Body>
auto of_known_models(const Body& body) {
  try {
    return body();
  } catch (const BadInput& refusal) {
    throw UnknownModel(refusal.what());
  }
}

const FamilyReader& reader_of(const JsonReader& json) {
  std::vector<const char*> types;
  for (const FamilyReader& family : families()) types.push_back(family.model_type);
  const auto read = [&] { return json.one_of("model_type", types); };
  if (!json.has("model_type")) return *find_family(read());
  try {
    return *find_family(read());
  } catch (const BadInput& refusal) {
    throw UnknownModel(std::string(refusal.what()) +
                       ", or one that has a tape; vramfit model runs any that transformers has");
  }
}

/// A head that drafts for another model has that one's config, and few of its layers.
void refuse_drafts(const JsonReader& json, const std::vector<std::string>& classes) {
  for (const std::string& name : classes) {
    for (const char* draft : {"Eagle", "Medusa"}) {
      // NVIDIA's Eagle models, which see, are none.
      if (name.find(draft) == std::string::npos || name.find("ForCausalLM") == std::string::npos)
        continue;
      json.fail("architectures", "holds " + shortened(name, kShownTypeBytes) +
                                     ", a head that drafts for another model; the config of that");
    }
  }
}

/// Other classes keep no logits, or end in a classifier.
void require_head(const JsonReader& json) {
  if (!json.has("architectures")) return;
  const std::vector<std::string> classes = json.texts("architectures");
  refuse_drafts(json, classes);
  const auto has_head = [](const std::string& name) {
    return name.find("ForCausalLM") != std::string::npos ||
           name.find("LMHeadModel") != std::string::npos;
  };
  if (classes.empty() || std::any_of(classes.begin(), classes.end(), has_head)) return;
  json.fail("architectures", "holds " + shortened(classes.front(), kShownTypeBytes) +
                                 ", which has no language model's head; a …ForCausalLM");
}

/// "bfloat16" also where it is "torch.bfloat16"; "auto" names none.
std::string read_dtype(const JsonReader& json) {
  const std::string dtype = json.text_or("dtype", json.text_or("torch_dtype", "auto"));
  if (dtype == "auto") return "";
  constexpr std::string_view kModule = "torch.";
  return dtype.starts_with(kModule) ? dtype.substr(kModule.size()) : dtype;
}

ModelConfig read_model(const JsonReader& json) {
  // First, so that a model of several parts hears of those, not of its type.
  of_known_models([&] { refuse_keys(json, ""); });
  const FamilyReader& family = reader_of(json);
  of_known_models([&] { refuse_keys(json, family.model_type); });
  require_head(json);
  ModelConfig config = family.read(json);
  config.family = family.model_type;
  config.dtype = read_dtype(json);
  config.notes = notes_on_keys(json, family.model_type);
  return config;
}

ModelConfig parse(nlohmann::json object, const std::string& source) {
  auto stored_quant = of_known_models([&] { return take_stored_quantization(object, source); });
  std::vector<std::string> notes = of_known_models([&] { return take_text_part(object, source); });
  ModelConfig config = read_model(JsonReader(object, source));
  config.notes.insert(config.notes.begin(), notes.begin(), notes.end());
  config.stored_quant = std::move(stored_quant);
  return config;
}

/// The model of that name. `place` names the file in messages.
ModelConfig parse_named(const std::string& json_text, const std::string& place, std::string name) {
  // What is no JSON at all is no model that a runtime could read by itself.
  nlohmann::json object = parse_json_object(json_text, place, "a Hugging Face config.json");
  const auto source = std::make_shared<const ModelSource>(ModelSource{std::move(name), json_text});
  try {
    ModelConfig config = parse(std::move(object), place);
    config.name = source->name;
    config.source = source;
    return config;
  } catch (const UnknownModel& unknown) {
    throw UnknownModel(unknown.what(), source);
  } catch (const BadInput& refusal) {
    throw UnreadModel(refusal.what(), source);
  }
}

}  // namespace

ModelConfig parse_hugging_face(const std::string& json_text, const std::string& name) {
  return parse_named(json_text, name, name);
}

std::filesystem::path config_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path / "config.json" : path;
}

std::string hugging_face_text(const std::filesystem::path& path, const char* flag) {
  return read_text_file(config_file(path), flag, "the path of a Hugging Face config.json",
                        kMaxConfigBytes);
}

ModelConfig read_hugging_face(const std::filesystem::path& given, const char* flag) {
  const std::filesystem::path config_json = config_file(given);
  const std::string text = hugging_face_text(given, flag);
  const std::string path = config_json.string();
  std::error_code ignored;
  const std::filesystem::path whole =
      std::filesystem::absolute(config_json, ignored).lexically_normal();
  const std::string folder = whole.parent_path().filename().string();
  return parse_named(text, one_line(path, kShownTypeBytes),
                     printable(folder.empty() ? path : folder));
}

}  // namespace vramfit
