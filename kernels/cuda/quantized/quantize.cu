#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/quantized/codes.cuh"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

/// One block per row, which it reads twice: for its largest magnitude, and for its codes.
template <typename T, int N, typename Element>
__global__ void __launch_bounds__(kThreads)
    quantize_rows(const T* from, std::uint8_t* to, float* scales, int packs, float most) {
  __shared__ float reduced[kMaxWarps];
  const std::int64_t row = blockIdx.x;
  const T* source = from + row * packs * N;
  std::uint8_t* target = to + row * packs * N;
  float largest = 0;
  for (int p = static_cast<int>(threadIdx.x); p < packs; p += kThreads) {
    const Floats<N> values = load_floats<T, N>(source + std::int64_t{p} * N);
#pragma unroll
    for (int i = 0; i < N; ++i) largest = fmaxf(largest, fabsf(values[i]));
  }
  const float scale = fmaxf(__fdiv_rn(block_max(largest, reduced), most), kSmallestScale);
  if (threadIdx.x == 0) scales[row] = scale;
  for (int p = static_cast<int>(threadIdx.x); p < packs; p += kThreads) {
    const Floats<N> values = load_floats<T, N>(source + std::int64_t{p} * N);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      target[std::int64_t{p} * N + i] = eight_bits(__fdiv_rn(values[i], scale), Element{});
    }
  }
}

/// Two neighbouring codes, the earlier one above.
__device__ std::uint8_t both(int first, int second) {
  return static_cast<std::uint8_t>(first << 4 | second);
}

/// One warp per block of 64: each lane has two neighbours.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    quantize_nf4(const T* from, std::uint8_t* codes, float* scales, std::int64_t blocks) {
  const std::int64_t block = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  if (block >= blocks) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t at = block * Nf4Codes::kBlock + 2 * lane;
  const float first = to_float(from[at]);
  const float second = to_float(from[at + 1]);
  const float scale = warp_max(fmaxf(fabsf(first), fabsf(second)));
  const float divisor = fmaxf(scale, kSmallestScale);
  codes[at / 2] = both(nf4_code(__fdiv_rn(first, divisor)), nf4_code(__fdiv_rn(second, divisor)));
  if (lane == 0) scales[block] = scale;
}

/// One warp per two blocks of 128, whose zero points share a byte.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    quantize_int4(const T* from, std::uint8_t* codes, __half* scales, std::uint8_t* zeros,
                  std::int64_t blocks) {
  constexpr int kEach = Int4Codes::kBlock / kWarp;  // neighbours that a lane has
  const std::int64_t pair = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  if (2 * pair >= blocks) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int both_zeros[2] = {0, 0};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t block = 2 * pair + half;
    if (block >= blocks) continue;
    const std::int64_t at = block * Int4Codes::kBlock + lane * kEach;
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
    const __half stored =
        from_float<__half>(fmaxf(__fdiv_rn(range, kLargestInt4), kSmallestInt4Scale));
    const float scale = to_float(stored);
    const float zero = fminf(rintf(__fdiv_rn(-smallest, scale)), kLargestInt4);
    int four[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float code = rintf(__fdiv_rn(values[i], scale)) + zero;
      four[i] = static_cast<int>(fminf(fmaxf(code, 0.0F), kLargestInt4));
    }
#pragma unroll
    for (int i = 0; i < kEach; i += 2) codes[(at + i) / 2] = both(four[i], four[i + 1]);
    if (lane == 0) scales[block] = stored;
    both_zeros[half] = static_cast<int>(zero);
  }
  if (lane == 0) zeros[pair] = both(both_zeros[0], both_zeros[1]);
}

template <typename T, typename Element>
void launch_rows(const Quantize& op, float most, cudaStream_t stream) {
  const std::int64_t rows = op.from.stored()[0];
  const std::int64_t width = op.to.stored()[1];
  auto* to = op.to.as<std::uint8_t>() + op.first_row * width;
  with_pack<T>(is_packed<T>(width, {op.from.data()}), [&](auto size) {
    constexpr int kSize = decltype(size)::value;
    start({"quantize", static_cast<unsigned>(rows), kThreads, stream},
          quantize_rows<T, kSize, Element>, op.from.as<T>(), to,
          op.scales->as<float>() + op.first_row, static_cast<int>(width / kSize), most);
  });
}

template <typename T>
void launch_blocks(const Quantize& op, cudaStream_t stream) {
  const std::int64_t width = op.to.stored()[1];
  const Format format = op.to.format();
  const std::int64_t block = format.row().block;
  const FourBitLayout layout(format, op.to.stored().elements());
  const std::int64_t first = op.first_row * width / block;
  const std::int64_t blocks = op.from.stored().elements() / block;
  expect(width % block == 0, "quantize: rows are whole blocks");
  auto* bytes = op.to.as<std::uint8_t>();
  auto* codes = bytes + first * block / 2;
  if (format == kNf4) {
    auto* scales = reinterpret_cast<float*>(bytes + layout.scales) + first;
    start({"quantize", ceil_divide(blocks * kWarp, kThreads), kThreads, stream}, quantize_nf4<T>,
          op.from.as<T>(), codes, scales, blocks);
    return;
  }
  expect(first % 2 == 0, "quantize: zero points of two blocks share a byte");
  auto* scales = reinterpret_cast<__half*>(bytes + layout.scales) + first;
  start({"quantize", ceil_divide((blocks + 1) / 2 * kWarp, kThreads), kThreads, stream},
        quantize_int4<T>, op.from.as<T>(), codes, scales, bytes + layout.zeros + first / 2, blocks);
}

}  // namespace

void launch(const Quantize& op, cudaStream_t stream) {
  const Format format = op.to.format();
  expect(op.first_row + op.from.stored()[0] <= op.to.stored()[0],
         "quantize: the rows are more than there are");
  expect((op.scales != nullptr) == has_row_scales(format),
         "quantize: 8 bits have scales beside them");
  with_element(op.from.format(), [&](auto element) {
    using T = decltype(element);
    if (format == Format(DType::Int8)) return launch_rows<T, std::int8_t>(op, kLargestInt8, stream);
    if (format == Format(DType::Fp8)) return launch_rows<T, __nv_fp8_e4m3>(op, kLargestFp8, stream);
    launch_blocks<T>(op, stream);
  });
}

}  // namespace vramfit
