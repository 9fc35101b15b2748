#include "estimator/models.h"

#include <algorithm>
#include <filesystem>

#include "estimator/data_path.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"

namespace vramfit {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_file("models"))) {
    if (std::filesystem::exists(entry.path() / "config.json")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

ModelConfig model_named(const std::string& name) {
  // Looked up in the list, so that no name can reach a file elsewhere.
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return read_hugging_face(data_file("models/" + name + "/config.json"));
  }
  throw BadInput("model: unknown '" + name + "'; one of those that fit --list shows" +
                 (names.empty() ? "" : ", such as " + names.front()) + ", or a config");
}

}  // namespace vramfit
