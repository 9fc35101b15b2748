#pragma once

#include <cstdint>

#include "model/ops/arch.h"

namespace vramfit::pytorch {

/// CUDA Programming Guide, "Technical Specifications per Compute Capability".
constexpr std::int64_t threads_per_multiprocessor(Arch arch) {
  if (arch.sm == 75) return 1024;
  const int major = arch.sm / 10;
  const bool data_centre = arch.sm == 80 || major == 7 || major == 9 || major == 10;
  return data_centre ? 2048 : 1536;
}

}  // namespace vramfit::pytorch
