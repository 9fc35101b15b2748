#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/divisor.cuh"
#include "kernels/cuda/base/largest.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/quantized/codes.cuh"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

/// N neighbouring codes at once.
template <int N, typename Code>
__device__ void store_codes(std::uint8_t* to, const Floats<N>& values) {
  if constexpr (N == 1) {
    *to = eight_bits(values[0], Code{});
  } else if constexpr (N == 4) {
    *reinterpret_cast<std::uint32_t*>(to) = four_codes(values.values, Code{});
  } else {
    static_assert(N == 8);
    *reinterpret_cast<uint2*>(to) = eight_codes(values.values, Code{});
  }
}

/// One block per row, which is read once and held in registers.
template <typename T, int N, int kPacks, typename Code>
__global__ void __launch_bounds__(kRowThreads<kPacks>)
    quantize_rows(const T* from, std::uint8_t* to, float* scales, int packs) {
  __shared__ float shared[kMaxWarps];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t first = std::int64_t{blockIdx.x} * packs * N;
  Pack<T, N> held[kPacks];
  float largest = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (p < packs) held[k] = Pack<T, N>::load(from + first + p * N);
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (thread + k * threads < packs) largest = fmaxf(largest, largest_of(held[k].floats()));
  }
  largest = block_max(largest, shared);
  const float scale = fmaxf(__fdiv_rn(largest, kLargest<Code>), kSmallestScale);
  if (thread == 0) scales[blockIdx.x] = scale;
  const Divisor by_scale(scale);
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (p < packs) {
      Floats<N> values = held[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] = by_scale.divide(values[i]);
      store_codes<N, Code>(to + first + p * N, values);
    }
  }
}

/// Two neighbouring codes, the earlier one above.
__device__ std::uint8_t both(int first, int second) {
  return static_cast<std::uint8_t>(first << 4 | second);
}

/// Where blocks' codes and scales go.
template <std::size_t kRow>
struct Target {
  using Format = Codes<kRow>;
  static constexpr int kEach = Format::kBlock / kWarp;  ///< neighbours that a lane has
  static constexpr float kMost = kFormats[kRow].largest;

  std::uint8_t* codes;
  typename Format::Scale* scales;
  std::uint8_t* zeros;
  std::int64_t blocks;
};

/// One warp per block, codes on both sides of zero.
template <typename T, std::size_t kRow>
__global__ void __launch_bounds__(kThreads) quantize_blocks(const T* from, const Target<kRow> to) {
  using Format = Codes<kRow>;
  constexpr int kEach = Target<kRow>::kEach;
  const std::int64_t block = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  if (block >= to.blocks) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t at = block * Format::kBlock + lane * kEach;
  float values[kEach];
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    values[i] = to_float(from[at + i]);
    largest = fmaxf(largest, fabsf(values[i]));
  }
  const auto stored =
      from_float<typename Format::Scale>(__fdiv_rn(warp_max(largest), Target<kRow>::kMost));
  const Divisor by_scale(fmaxf(to_float(stored), kSmallestScale));
#pragma unroll
  for (int i = 0; i < kEach; ++i) values[i] = by_scale.divide(values[i]);
  if constexpr (Format::kCodec == Codec::Codebook) {
    constexpr Codebook kCodebook = kFormats[kRow].codebook;
#pragma unroll
    for (int i = 0; i < kEach; i += 2) {
      to.codes[(at + i) / 2] =
          both(nearest_code(kCodebook, values[i]), nearest_code(kCodebook, values[i + 1]));
    }
  } else {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      to.codes[at + i] = eight_bits(values[i], typename Format::Element{});
    }
  }
  if (lane == 0) to.scales[block] = stored;
}

/// One warp per two blocks, whose zero points share a byte.
template <typename T, std::size_t kRow>
__global__ void __launch_bounds__(kThreads)
    quantize_offset_blocks(const T* from, const Target<kRow> to) {
  using Format = Codes<kRow>;
  constexpr int kEach = Target<kRow>::kEach;
  constexpr float kMost = Target<kRow>::kMost;
  const std::int64_t pair = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  if (2 * pair >= to.blocks) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int both_zeros[2] = {0, 0};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t block = 2 * pair + half;
    if (block >= to.blocks) continue;
    const std::int64_t at = block * Format::kBlock + lane * kEach;
    float values[kEach];
    float smallest = 0;
    float largest = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      values[i] = to_float(from[at + i]);
      smallest = fminf(smallest, values[i]);
      largest = fmaxf(largest, values[i]);
    }
    smallest = -warp_max(-smallest);
    const float range = warp_max(largest) - smallest;
    const auto stored =
        from_float<typename Format::Scale>(fmaxf(__fdiv_rn(range, kMost), kSmallestOffsetScale));
    const Divisor by_scale(to_float(stored));
    const float zero = fminf(rintf(by_scale.divide(-smallest)), kMost);
    int four[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float code = rintf(by_scale.divide(values[i])) + zero;
      four[i] = static_cast<int>(fminf(fmaxf(code, 0.0F), kMost));
    }
#pragma unroll
    for (int i = 0; i < kEach; i += 2) to.codes[(at + i) / 2] = both(four[i], four[i + 1]);
    if (lane == 0) to.scales[block] = stored;
    both_zeros[half] = static_cast<int>(zero);
  }
  if (lane == 0) to.zeros[pair] = both(both_zeros[0], both_zeros[1]);
}

template <typename T, typename Code>
void launch_rows(const Quantize& op, cudaStream_t stream) {
  const std::int64_t rows = op.from.stored()[0];
  const std::int64_t width = op.to.stored()[1];
  auto* to = op.to.as<std::uint8_t>() + op.first_row * width;
  with_pack<T>(is_packed<T>(width, {op.from.data()}), [&](auto size) {
    constexpr int kSize = decltype(size)::value;
    const std::int64_t packs = width / kSize;
    with_row_in_registers(packs, "quantize", [&](auto held, int threads) {
      start({"quantize", static_cast<unsigned>(rows), threads, stream},
            quantize_rows<T, kSize, decltype(held)::value, Code>, op.from.as<T>(), to,
            op.scales->as<float>() + op.first_row, static_cast<int>(packs));
    });
  });
}

template <typename T, std::size_t kRow>
void launch_blocks(const Quantize& op, cudaStream_t stream) {
  using Format = Codes<kRow>;
  const std::int64_t width = op.to.stored()[1];
  const BlockLayout layout(op.to.format(), op.to.stored().elements());
  const std::int64_t first = op.first_row * width / Format::kBlock;
  expect(width % Format::kBlock == 0, "quantize: rows are whole blocks");
  auto* bytes = op.to.as<std::uint8_t>();
  const Target<kRow> to = {bytes + first * Format::kBlock * Format::kBits / 8,
                           reinterpret_cast<typename Format::Scale*>(bytes + layout.scales) + first,
                           bytes + layout.zeros + first / 2,
                           op.from.stored().elements() / Format::kBlock};
  if constexpr (Format::kCodec == Codec::Offset) {
    expect(first % 2 == 0, "quantize: zero points of two blocks share a byte");
    start({"quantize", ceil_divide((to.blocks + 1) / 2 * kWarp, kThreads), kThreads, stream},
          quantize_offset_blocks<T, kRow>, op.from.as<T>(), to);
  } else {
    start({"quantize", ceil_divide(to.blocks * kWarp, kThreads), kThreads, stream},
          quantize_blocks<T, kRow>, op.from.as<T>(), to);
  }
}

}  // namespace

void launch(const Quantize& op, cudaStream_t stream) {
  expect(op.first_row + op.from.stored()[0] <= op.to.stored()[0],
         "quantize: the rows are more than there are");
  expect((op.scales != nullptr) == has_row_scales(op.to.format()),
         "quantize: rows have scales beside them");
  with_element(op.from.format(), [&](auto element) {
    using T = decltype(element);
    with_row(op.to.format(), [&](auto row) {
      constexpr std::size_t kRow = decltype(row)::value;
      if constexpr (kFormats[kRow].scales == Scales::Row) {
        launch_rows<T, typename Codes<kRow>::Element>(op, stream);
      } else if constexpr (kFormats[kRow].scales == Scales::Block) {
        launch_blocks<T, kRow>(op, stream);
      } else {
        expect(false, "quantize: the format has no codes");
      }
    });
  });
}

}  // namespace vramfit
