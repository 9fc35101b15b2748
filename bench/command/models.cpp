#include "bench/command/models.h"

#include "bench/data/data_folder.h"
#include "estimator/models.h"
#include "model/config/hugging_face.h"
#include "model/config/stored_quantization.h"
#include "model/errors.h"
#include "model/printable.h"

namespace vramfit::bench {
namespace {

/// The model's name stands in rows' names between slashes, and in JSON.
void require_name(const std::string& name) {
  if (printable(name) == name && name.find('/') == std::string::npos) return;
  throw BadInput("config: rows are named after its folder, and '" + printable(name) +
                 "' cannot be a part of a name; a folder of printable characters");
}

}  // namespace

Models::Models(const std::optional<std::string>& config) : config_(config) {
  if (!config_) return;
  ModelConfig model = read_hugging_face(*config_);
  require_stored_format(model, "", "the config of its 16-bit weights");
  given_ = model.name;
  require_name(given_);
  models_.emplace(given_, std::move(model));
}

const ModelConfig* Models::given() const { return config_ ? &models_.at(given_) : nullptr; }

const ModelConfig& Models::operator[](const std::string& name) {
  const auto it = models_.find(name);
  if (it != models_.end()) return it->second;
  return models_.emplace(name, model_named(name, "Any other by --config, its config.json"))
      .first->second;
}

std::string Models::text(const std::string& name) const {
  return config_ && name == given_ ? read_text(config_file(*config_)) : shipped_config(name);
}

}  // namespace vramfit::bench
