#include "bench/devices/real_device.h"

namespace vramfit::bench {

int cuda_devices() { return 0; }
std::unique_ptr<RealDevice> make_cuda(int, const MeasuringOptions&) { return nullptr; }
bool built_with_cuda() { return false; }

}  // namespace vramfit::bench
