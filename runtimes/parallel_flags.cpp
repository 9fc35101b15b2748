#include "runtimes/parallel_flags.h"

#include <algorithm>

#include "model/errors.h"

namespace vramfit {

std::optional<SeveralGpus> several_gpus(const Flags& flags) {
  constexpr std::int64_t kMaxGpus = 65536;
  auto strategy = typed(flags, "strategy");
  if (strategy && !has(flags, "gpus")) throw BadInput("strategy: only with --gpus");
  const std::int64_t gpus = whole(flags, "gpus", 1);
  if (gpus < 1 || gpus > kMaxGpus) {
    throw BadInput("gpus: " + std::to_string(gpus) + "; 1 to " + std::to_string(kMaxGpus));
  }
  if (gpus == 1) {
    if (strategy) throw BadInput("strategy: only with --gpus 2 or more");
    return std::nullopt;
  }
  if (strategy) std::replace(strategy->begin(), strategy->end(), '_', '-');
  return SeveralGpus{gpus, std::move(strategy)};
}

}  // namespace vramfit
