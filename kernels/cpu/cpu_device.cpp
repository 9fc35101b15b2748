#include "kernels/cpu/cpu_device.h"

#include <cstring>

#include "kernels/cpu/matrix.h"

namespace vramfit {

void CpuDevice::upload(const Tensor& to, const void* from, std::uint64_t bytes) {
  require(to.data() != nullptr && bytes <= to.bytes(), "upload: more than the tensor holds");
  std::memcpy(to.data(), from, bytes);
}

void CpuDevice::download(void* to, const Tensor& from, std::uint64_t bytes) {
  require(from.data() != nullptr && bytes <= from.bytes(), "download: more than the tensor holds");
  std::memcpy(to, from.data(), bytes);
}

}  // namespace vramfit
