#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/config/model_config.h"

namespace vramfit {

/// data/models, as the build knows it.
std::filesystem::path models_folder();

/// The folders in it that hold a config.json, sorted.
std::vector<std::string> published_names();

/// Those of them that vramfit's own step program runs.
std::vector<std::string> runnable_names();

ModelConfig published(const std::string& name);

}  // namespace vramfit
