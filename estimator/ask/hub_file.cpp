#include "estimator/ask/hub_file.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "estimator/models.h"

namespace vramfit {
namespace {

/// Without what says that files there are GGUF, and which of their makers' ways made them.
std::string without_endings(std::string name) {
  for (const std::string_view ending : {"-GGUF", "-gguf", "-i1", "-qat", "-QAT"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

}  // namespace

HubFile hub_file(const std::string& repository) {
  const std::size_t colon = repository.find(':');
  HubFile file;
  if (colon != std::string::npos) file.quant = repository.substr(colon + 1);
  const std::string id = without_endings(repository.substr(0, colon));
  file.model = id;
  const std::string name = id.substr(id.find('/') + 1);
  // Some write the model's maker before its name: "Qwen_Qwen3-8B", "Meta-Llama-3.1-8B".
  const std::vector<std::string> called = {id, name, name.substr(name.find('_') + 1),
                                           name.substr(name.find('-') + 1)};
  for (const std::string& one : called) {
    if (const std::optional<std::string> shipped = shipped_model(one)) {
      file.model = *shipped;
      break;
    }
  }
  return file;
}

}  // namespace vramfit
