#include "runtimes/runtime.h"

#include <nlohmann/json.hpp>

#include "model/transformer/parameters.h"

namespace vramfit {

std::int64_t Workload::parameters(const ModelConfig& config) const {
  return parameter_count(config);
}

nlohmann::ordered_json Workload::asked() const {
  nlohmann::ordered_json json = {{"mode", training() ? "training" : "inference"}};
  for (const SearchAxis& axis : runtime().axes()) json[json_key(axis.name)] = size(axis);
  return json;
}

std::string Workload::text(const std::string& sizes) const {
  return std::string(runtime().name()) + ", " + types() + ", " + sizes;
}

const Capabilities& Runtime::can() const {
  static const Capabilities can;
  return can;
}

nlohmann::ordered_json Workload::release() const { return nullptr; }

}  // namespace vramfit
