#include "runtimes/pytorch/torch/tensor/release.h"

namespace vramfit::pytorch {

std::string text(const Version& version) {
  return short_text(version) + "." + std::to_string(version.patch);
}

std::string short_text(const Version& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

}  // namespace vramfit::pytorch
