#include "bench/devices/real_device.h"

#include "model/errors.h"

namespace vramfit::bench {

std::unique_ptr<RealDevice> open_real_device(const std::string& name,
                                             const MeasuringOptions& options) {
  if (name.empty()) return make_cuda(options);
  if (name == "cpu") return make_cpu(options);
  if (name != "cuda") {
    throw BadInput("device: unknown '" + name + "'; one of cuda, cpu, virtual:NAME[,NAME]");
  }
  auto cuda = make_cuda(options);
  if (cuda) return cuda;
  throw BadInput(std::string("device: cuda ") +
                 (built_with_cuda() ? "finds no GPU" : "is not part of this build") +
                 "; one of cpu, virtual:NAME[,NAME]");
}

}  // namespace vramfit::bench
