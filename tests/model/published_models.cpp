#include "tests/model/published_models.h"

#include <algorithm>

#include "model/config/families.h"
#include "model/config/hugging_face.h"

namespace vramfit {

std::filesystem::path models_folder() { return std::filesystem::path(VRAMFIT_DATA_DIR) / "models"; }

std::vector<std::string> published_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder())) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> runnable_names() {
  std::vector<std::string> names;
  for (const std::string& name : published_names()) {
    if (runs_on_vramfit(published(name))) names.push_back(name);
  }
  return names;
}

ModelConfig published(const std::string& name) {
  return read_hugging_face(models_folder() / name / "config.json");
}

}  // namespace vramfit
