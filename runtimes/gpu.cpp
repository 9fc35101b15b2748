#include "runtimes/gpu.h"

#include "model/errors.h"

namespace vramfit {

const char* name(Platform platform) {
  return platform == Platform::Cuda ? "CUDA" : platform == Platform::Rocm ? "ROCm" : "Metal";
}

const char* key_of(Platform platform) {
  return platform == Platform::Cuda ? "cuda" : platform == Platform::Rocm ? "rocm" : "metal";
}

std::uint64_t RuntimeOverhead::operator[](std::string_view part) const {
  const auto found = parts.find(part);
  if (found != parts.end()) return found->second;
  throw BadInput("gpu: what " + runtime + "'s " + std::string(part) +
                 " takes of it was not measured; another card");
}

const RuntimeOverhead* Overhead::of(std::string_view runtime, std::string_view release) const {
  const RuntimeOverhead* last = nullptr;
  if (runtimes == nullptr) return nullptr;
  for (const RuntimeOverhead& row : *runtimes) {
    if (row.runtime != runtime) continue;
    last = &row;
    if (row.release == release) break;
  }
  return last;
}

}  // namespace vramfit
