#include "runtimes/gpu.h"

#include "model/errors.h"

namespace vramfit {

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
