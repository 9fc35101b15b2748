#include "estimator/fit/model.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "estimator/fit/not_yet.h"
#include "estimator/hub_cache.h"
#include "estimator/models.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/quantity.h"
#include "model/transformer/assumed_llama.h"

namespace vramfit::fit {
namespace {

using Text = std::optional<std::string>;

std::optional<std::int64_t> whole(const char* field, const Text& text) {
  return text ? std::optional(parse_whole(field, *text)) : std::nullopt;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void require_no_weights(const std::string& flag, const std::string& path) {
  std::string format = std::filesystem::path(path).extension().string();
  std::transform(format.begin(), format.end(), format.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool weights =
      format == ".gguf" || format == ".safetensors" || format == ".bin" || format == ".pt";
  if (weights) refuse_weights(flag, path);
}

/// A folder that is not a model's says what it is instead.
void require_config(const std::string& flag, const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored) || is_there(path / "config.json")) return;
  const bool adapter = is_there(path / "adapter_config.json");
  throw BadInput(flag + ": '" + path.string() + "' holds no config.json" +
                 (adapter ? "; it is a LoRA adapter: --model with its base model, and --lora RANK"
                          : "; the folder of a checkpoint, or the path of its config.json"));
}

ModelConfig read(const std::string& path, const char* flag) {
  require_no_weights(flag, path);
  require_config(flag, path);
  return read_hugging_face(path, flag);
}

/// What cannot be a name.
bool is_path(const std::string& text) {
  return text.starts_with("/") || text.starts_with("./") || text.starts_with("../") ||
         text.starts_with("~") || text.ends_with(".json");
}

ModelConfig of_the_cache(const std::string& id) {
  const std::optional<std::filesystem::path> path = cached_config(id);
  if (!path) {
    throw BadInput("model: not in the Hugging Face cache; fetch its shape with: hf download " + id +
                   " config.json");
  }
  ModelConfig model = read_hugging_face(*path, "model");
  model.name = id;
  return model;
}

ModelConfig model_called(const std::string& called) {
  if (const Text name = shipped_model(called)) return model_named(*name);
  if (is_there(called) || is_path(called)) return read(called, "model");
  require_no_weights("model", called);
  return is_hub_id(called) ? of_the_cache(called) : model_named(called);
}

}  // namespace

ModelConfig model_of(const Options& o) {
  if (o.model) return model_called(*o.model);
  if (o.config) return read(*o.config, "config");
  if (o.params) {
    return assumed_llama(parse_count("params", *o.params), whole("hidden", o.hidden),
                         whole("layers", o.layers));
  }
  throw BadInput("model: missing; --model NAME (fit --list), --config PATH or --params 7B");
}

}  // namespace vramfit::fit
