#include "runtimes/runtime.h"

#include "model/transformer/parameters.h"

namespace vramfit {

std::int64_t Workload::parameters(const ModelConfig& config) const {
  return parameter_count(config);
}

}  // namespace vramfit
