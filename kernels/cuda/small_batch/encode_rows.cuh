#pragma once

#include "kernels/cuda/small_batch/held_row.cuh"

namespace vramfit::gpu {

inline constexpr int kEncodingThreads = 512;
/// Slots that a thread holds at most.
inline constexpr int kMostEncoded = 2;

/// One block a row, which it normalises and quantises for all blocks that multiply it: to `encoded`
/// and `scales`, see InputRows. `kHeld`: slots a thread has.
template <typename Stages, typename Codes, int kHeld, typename T>
__global__ void __launch_bounds__(kEncodingThreads)
    encode_rows(const InputRows<T> r, std::uint8_t* encoded, float* scales) {
  __shared__ float shared[3][kMaxWarps];
  start_next_kernel();
  HeldRow<Stages, Codes, kHeld, T> held(r);
  wait_for_previous_kernels();
  const std::int64_t row = blockIdx.x;
  const float scale = held.read(r.x + row * r.in, shared);
  if (threadIdx.x == 0) scales[row] = scale;
  held.store(encoded + row * r.all_slots * 16, r.all_slots);
}

}  // namespace vramfit::gpu
