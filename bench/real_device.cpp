#include "bench/real_device.h"

#include "model/errors.h"

namespace vramfit::bench {

// Where kernels/cuda plugs in: opened here by name, and for "" where a GPU answers.
std::unique_ptr<RealDevice> open_real_device(const std::string& name) {
  if (name.empty()) return nullptr;
  if (name == "cpu") return make_cpu();
  if (name == "cuda") {
    throw BadInput("device: cuda is not part of this build; one of cpu, virtual:NAME[,NAME]");
  }
  throw BadInput("device: unknown '" + name + "'; one of cuda, cpu, virtual:NAME[,NAME]");
}

}  // namespace vramfit::bench
