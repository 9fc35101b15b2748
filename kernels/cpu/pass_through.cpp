#include "kernels/cpu/pass_through.h"

#include <cstring>
#include <limits>
#include <new>

#include "model/errors.h"

namespace vramfit {

std::byte* PassThrough::take(std::uint64_t bytes) {
  void* const data = ::operator new(bytes, std::nothrow);
  if (data == nullptr) {
    throw OutOfMemory(bytes, reserved(), std::numeric_limits<std::uint64_t>::max());
  }
  std::memset(data, 0xFF, bytes);  // NaN, as in HostSource
  return static_cast<std::byte*>(data);
}

void PassThrough::give_back(std::byte* data) noexcept { ::operator delete(data); }

}  // namespace vramfit
