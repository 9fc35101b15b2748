#include "kernels/cpu/pass_through.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "model/errors.h"

namespace vramfit {

Block PassThrough::allocate(std::uint64_t bytes, Placement) {
  void* const data = ::operator new(bytes, std::nothrow);
  if (data == nullptr) {
    throw OutOfMemory(bytes, reserved_, std::numeric_limits<std::uint64_t>::max());
  }
  std::memset(data, 0xFF, bytes);  // NaN, as in HostSource
  ++live_;
  allocated_ += bytes;
  reserved_ = std::max(reserved_, allocated_);
  return {next_++, bytes, static_cast<std::byte*>(data)};
}

void PassThrough::free(const Block& block) noexcept {
  ::operator delete(block.data);
  --live_;
  allocated_ -= block.bytes;
}

}  // namespace vramfit
