#include "bench/devices/real_device.h"

#include <regex>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

constexpr const char* kOthers = "; one of cuda, cuda:INDEX, cpu, virtual:NAME[,NAME]";

/// 1 of "cuda:1", and 0 of "cuda".
int cuda_index(const std::string& name) {
  static const std::regex form(R"(cuda(?::(\d{1,4}))?)");
  std::smatch part;
  if (!std::regex_match(name, part, form)) {
    throw BadInput("device: unknown '" + name + "'" + kOthers);
  }
  return part[1].matched ? std::stoi(part[1]) : 0;
}

}  // namespace

std::unique_ptr<RealDevice> open_real_device(const std::string& name,
                                             const MeasuringOptions& options) {
  if (name.empty()) return cuda_devices() > 0 ? make_cuda(0, options) : nullptr;
  if (name == "cpu") return make_cpu(options);
  const int device = cuda_index(name);
  const int devices = cuda_devices();
  if (device < devices) return make_cuda(device, options);
  if (devices > 0) {
    throw BadInput("device: " + name + " is not there; this machine's GPUs are cuda:0 to cuda:" +
                   std::to_string(devices - 1));
  }
  throw BadInput("device: " + name +
                 (built_with_cuda() ? " finds no GPU" : " needs a build with CUDA") +
                 "; here, one of cpu, virtual:NAME[,NAME]");
}

}  // namespace vramfit::bench
