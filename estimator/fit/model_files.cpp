#include "estimator/fit/model_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "estimator/ask/unsupported.h"
#include "estimator/files/user_file.h"
#include "estimator/fit/hub_cache.h"
#include "estimator/models.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"

namespace vramfit::fit {
namespace {

/// Of a run of millions of allocations; more is none.
constexpr std::size_t kMostTapeBytes = std::size_t{64} << 20;

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

std::string text_of(const std::filesystem::path& path, const char* flag) {
  if (!is_pipe(path)) return hugging_face_text(path, flag);
  return read_user_file(path, flag, "a Hugging Face config.json", kMaxConfigBytes);
}

ModelConfig read(const std::string& path, const char* flag) {
  if (is_pipe(path)) return parse_hugging_face(text_of(path, flag), path);
  require_no_weights(flag, path);
  require_config(flag, path);
  return read_hugging_face(path, flag);
}

/// What cannot be a name.
bool is_path(const std::string& text) {
  return text.starts_with("/") || text.starts_with("./") || text.starts_with("../") ||
         text.starts_with("~") || text.ends_with(".json");
}

std::filesystem::path in_the_cache(const std::string& id) {
  if (const std::optional<std::filesystem::path> path = cached_config(id)) return *path;
  throw BadInput("model: not in the Hugging Face cache; fetch its shape with: hf download " + id +
                 " config.json");
}

ModelConfig of_the_cache(const std::string& id) {
  ModelConfig model = read_hugging_face(in_the_cache(id), "model");
  model.name = id;
  return model;
}

}  // namespace

std::optional<ModelConfig> model_on_disk(const std::string& called) {
  if (is_there(called) || is_path(called)) return read(called, "model");
  require_no_weights("model", called);
  return is_hub_id(called) ? std::optional(of_the_cache(called)) : std::nullopt;
}

std::pair<std::string, std::string> config_text(const std::string& called) {
  if (const std::optional<std::string> name = shipped_model(called)) {
    return {*name, shipped_config(*name)};
  }
  const bool on_disk = is_there(called) || is_path(called);
  require_no_weights("model", called);
  if (on_disk) require_config("model", called);
  if (!on_disk && !is_hub_id(called)) model_named(called);  // which refuses it, with what is near
  const std::filesystem::path path = on_disk ? std::filesystem::path(called) : in_the_cache(called);
  return {called, text_of(path, "model")};
}

gguf::File gguf_on_disk(const std::string& path) { return gguf::read_file(path, "gguf"); }

std::string tape_on_disk(const std::string& path) {
  return read_user_file(path, "tape", "a file of vramfit record", kMostTapeBytes);
}

ModelConfig config_on_disk(const std::string& path) { return read(path, "config"); }

}  // namespace vramfit::fit
