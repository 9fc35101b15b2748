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
  std::string list;
  for (const std::string& candidate : model_names()) {
    if (name == candidate) {
      return read_hugging_face(data_file("models/" + name + "/config.json"));
    }
    list += (list.empty() ? "" : ", ") + candidate;
  }
  throw BadInput("model: unknown '" + name + "'; one of " + list + "; or a config");
}

}  // namespace vramfit
