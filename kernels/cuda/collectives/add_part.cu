#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/collectives/add_part.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads) add(T* part, const T* from, std::int64_t packs) {
  constexpr int kSize = 16 / sizeof(T);
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t p = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; p < packs; p += step) {
    Floats<kSize> sum = load_floats<T, kSize>(part + p * kSize);
    const Floats<kSize> more = load_floats<T, kSize>(from + p * kSize);
#pragma unroll
    for (int i = 0; i < kSize; ++i) sum[i] += more[i];
    store_floats<T, kSize>(part + p * kSize, sum);
  }
}

}  // namespace

void add_part(const Tensor& part, const void* from, cudaStream_t stream) {
  with_element(part.format(), [&](auto element) {
    using T = decltype(element);
    const std::int64_t elements = part.stored().elements();
    expect(is_packed<T>(elements, {part.data(), from}), "reduce-scatter: parts are whole packs");
    const std::int64_t packs = elements * static_cast<std::int64_t>(sizeof(T)) / 16;
    constexpr std::int64_t kMostBlocks = 1024;
    const auto blocks =
        static_cast<unsigned>(std::min((packs + kThreads - 1) / kThreads, kMostBlocks));
    start({"reduce-scatter: add", blocks, kThreads, stream}, add<T>, part.as<T>(),
          static_cast<const T*>(from), packs);
  });
}

}  // namespace vramfit
