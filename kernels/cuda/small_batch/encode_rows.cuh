#pragma once

#include "kernels/cuda/small_batch/held_row.cuh"
#include "kernels/cuda/small_batch/product.cuh"

namespace vramfit::gpu {

inline constexpr int kEncodingThreads = 512;
/// Slots that a thread holds at most.
inline constexpr int kMostEncoded = 2;

/// One block a row, which it normalises and quantises for all blocks that multiply it: to `encoded`
/// and `scales`, see InputRows. `kHeld`: slots a thread has. Static, as those who include it are
/// compiled for different GPUs.
template <typename Stages, typename Codes, int kHeld, typename T>
static __global__ void __launch_bounds__(kEncodingThreads)
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

/// Has rows normalised and quantised once for all blocks, into the workspace.
template <typename Stages, typename Codes, typename T>
static void encode(SmallBatch<T>& f, std::int64_t rows, const Tensor& workspace,
                   cudaStream_t stream) {
  const std::uint64_t row_bytes = 16 * static_cast<std::uint64_t>(f.input.all_slots);
  const std::uint64_t code_bytes = static_cast<std::uint64_t>(rows) * row_bytes;
  expect_workspace(workspace, code_bytes + static_cast<std::uint64_t>(rows) * sizeof(float),
                   "linear");
  auto* encoded = workspace.as<std::uint8_t>();
  auto* scales = reinterpret_cast<float*>(encoded + code_bytes);
  const auto start_with = [&](auto held) {
    constexpr int kHeld = decltype(held)::value;
    start({"linear: quantise", static_cast<unsigned>(rows),
           whole_warps(ceil_divide(f.input.all_slots, kHeld)), stream, 0, true},
          encode_rows<Stages, Codes, kHeld, T>, f.input, encoded, scales);
  };
  if (f.input.all_slots <= kEncodingThreads) {
    start_with(Constant<1>{});
  } else {
    start_with(Constant<kMostEncoded>{});
  }
  f.input.encoded = encoded;
  f.input.scales = scales;
  f.input.pitch = static_cast<int>(row_bytes);
  f.input.norm_weight = nullptr;
  f.input.norm_bias = nullptr;
}

}  // namespace vramfit::gpu
