#include "model/config/hugging_face.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "model/config/families.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::streamsize kMaxFileBytes = std::streamsize{1} << 20;

/// Keys that would change memory or meaning in ways no family here knows.
void refuse_unsupported(const JsonReader& json) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    json.refuse(key, "quantised weights are not supported; use a 16-bit config");
  }
  for (const char* key : {"num_local_experts", "num_experts"}) {
    json.refuse(key, "mixtures of experts are not supported; use a dense model's config");
  }
  json.refuse("text_config", "multimodal models are not supported; pass the text model's config");
  for (const char* key : {"is_encoder_decoder", "add_cross_attention", "use_mrope"}) {
    json.require_boolean(key, false);
  }
}

const FamilyReader& reader_of(const JsonReader& json) {
  std::vector<const char*> types;
  for (const FamilyReader& family : families()) types.push_back(family.model_type);
  const std::string type = json.one_of("model_type", types);
  return *std::find_if(families().begin(), families().end(),
                       [&type](const FamilyReader& family) { return type == family.model_type; });
}

}  // namespace

ModelConfig parse_hugging_face(const std::string& json_text, const std::string& name) {
  const nlohmann::json object = parse_json_object(json_text, name);
  const JsonReader json(object, name);
  refuse_unsupported(json);
  const FamilyReader& family = reader_of(json);
  ModelConfig config = family.read(json);
  config.name = name;
  config.family = family.model_type;
  return config;
}

ModelConfig read_hugging_face(const std::filesystem::path& config_json) {
  const std::string path = config_json.string();
  std::error_code ignored;
  std::ifstream file(config_json, std::ios::binary);
  if (!file || std::filesystem::is_directory(config_json, ignored)) {
    throw BadInput("config: cannot read '" + path + "'; the path of a Hugging Face config.json");
  }
  // Bounded, so that a device file or a checkpoint given by mistake is not read to its end.
  std::string text(static_cast<std::size_t>(kMaxFileBytes), '\0');
  file.read(text.data(), kMaxFileBytes);
  if (file.gcount() == kMaxFileBytes) {
    throw BadInput("config: '" + path + "' is larger than 1 MiB; a Hugging Face config.json");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::filesystem::path whole =
      std::filesystem::absolute(config_json, ignored).lexically_normal();
  const std::string folder = whole.parent_path().filename().string();
  return parse_hugging_face(text, folder.empty() ? path : folder);
}

}  // namespace vramfit
