#include "bench/devices/real_device.h"

namespace vramfit::bench {

std::unique_ptr<RealDevice> make_cuda(const MeasuringOptions&) { return nullptr; }
bool built_with_cuda() { return false; }

}  // namespace vramfit::bench
