#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/config/model_config.h"

namespace vramfit::bench {

/// Models by name: those of data/models, or the one that --config brought. Each is read once.
class Models {
 public:
  /// Throws BadInput where the file is no config, or rows cannot be named after its folder.
  explicit Models(const std::optional<std::string>& config = std::nullopt);

  /// The one that was brought; null where none was.
  const ModelConfig* given() const;
  /// Throws BadInput on an unknown name.
  const ModelConfig& operator[](const std::string& name);
  /// The config.json of the model of that name.
  std::string text(const std::string& name) const;

 private:
  std::optional<std::string> config_;
  std::string given_;  ///< its name
  std::map<std::string, ModelConfig> models_;
};

}  // namespace vramfit::bench
