#include <utility>

#include "kernels/cuda/optimizer/coded_step.cuh"
#include "model/optimizer/dynamic_codes.h"

// A warp takes a block of codes at a time, eight neighbours a lane: their values stay in registers
// until the block's largest, which scales all of them, is known.

namespace vramfit {
namespace {

using namespace gpu;

using Entry = OptimizerLauncher::Entry;

constexpr int kOwn = 8;
static_assert(kOwn * kWarp == kDynamicBlock && kChunk % kDynamicBlock == 0);

/// What codes of a kind are read with: every code's value, and of every decade what its codes are
/// computed from.
template <typename Codes>
struct Table {
  using Decades = typename Codes::Decades;

  struct Decade {
    float lowest;
    float steps_per_one;
    int first;
    int steps;
  };

  float values[256];
  Decade decades[Decades::kDecades];

  /// The nearest code of a magnitude from 0 to 1.
  __device__ int code(float x) const {
    const int i = decade_of(x, std::make_integer_sequence<int, Decades::kDecades>{});
    if (i < 0) return 0;
    if (x >= kThreshold<Decades::kDecades>) return Decades::kOne;
    const Decade& d = decades[i];
    return Decades::in_decade(x, d.lowest, d.steps_per_one, d.first, d.steps);
  }

 private:
  template <int kDecade>
  static constexpr float kThreshold = Decades::threshold(kDecade);

  template <int... kDecade>
  __device__ static int decade_of(float x, std::integer_sequence<int, kDecade...>) {
    return (... + (x >= kThreshold<kDecade> ? 1 : 0)) - 1;
  }
};

template <typename Codes>
constexpr Table<Codes> table_of() {
  Table<Codes> table{};
  for (int i = 0; i < 256; ++i) table.values[i] = Codes::value(static_cast<std::uint8_t>(i));
  using Decades = typename Codes::Decades;
  for (int i = 0; i < Decades::kDecades; ++i) {
    table.decades[i] = {Decades::lowest(i), 1.0F / Decades::width(i), Decades::first_code(i),
                        Decades::steps(i)};
  }
  return table;
}

struct Tables {
  Table<SignedCodes> momentum;
  Table<UnsignedCodes> variance;

  __device__ std::uint32_t momentum_code(float x) const {
    return SignedCodes::with_sign(momentum.code(fabsf(x)), x < 0);
  }
  __device__ std::uint32_t variance_code(float x) const {
    return static_cast<std::uint32_t>(variance.code(x));
  }
};

__device__ const Tables kTables = {table_of<SignedCodes>(), table_of<UnsignedCodes>()};

/// A block's own copy, as what lanes look up are different places.
__device__ void copy_tables(Tables& to) {
  constexpr int kWords = sizeof(Tables) / 4;
  for (int i = static_cast<int>(threadIdx.x); i < kWords; i += kStepThreads) {
    reinterpret_cast<float*>(&to)[i] = reinterpret_cast<const float*>(&kTables)[i];
  }
}

__device__ float warp_max(float x) {
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
  }
  return x;
}

/// A lane's elements of a block, of which `count` are the parameter's.
template <typename T>
struct Lane {
  std::int64_t first;
  int count;

  __device__ Floats<kOwn> load(const void* from) const {
    const T* elements = static_cast<const T*>(from) + first;
    if (count == kOwn) return Pack<T, kOwn>::load_once(elements).floats();
    Floats<kOwn> result{};
    for (int i = 0; i < count; ++i) result[i] = to_float(elements[i]);
    return result;
  }
  __device__ void store(void* to, const Floats<kOwn>& values) const {
    T* elements = static_cast<T*>(to) + first;
    if (count == kOwn) return Pack<T, kOwn>(values).store_once(elements);
    for (int i = 0; i < count; ++i) elements[i] = from_float<T>(values[i]);
  }
  __device__ uint2 load_codes(const void* from) const {
    const auto* codes = static_cast<const std::uint8_t*>(from) + first;
    if (count == kOwn) return __ldcs(reinterpret_cast<const uint2*>(codes));
    uint2 result{};
    for (int i = 0; i < count; ++i) word(result, i) |= std::uint32_t{codes[i]} << 8 * (i % 4);
    return result;
  }
  __device__ void store_codes(void* to, const uint2& words) const {
    auto* codes = static_cast<std::uint8_t*>(to) + first;
    if (count == kOwn) return __stcs(reinterpret_cast<uint2*>(codes), words);
    for (int i = 0; i < count; ++i) codes[i] = static_cast<std::uint8_t>(code(words, i));
  }

  __device__ static std::uint32_t& word(uint2& words, int i) { return i < 4 ? words.x : words.y; }
  __device__ static std::uint32_t code(const uint2& words, int i) {
    return (i < 4 ? words.x : words.y) >> 8 * (i % 4) & 0xFF;
  }
};

/// The block's scale, and its codes by `code_of`, as they are stored.
template <typename CodeOf>
__device__ float encode(const Floats<kOwn>& values, uint2& codes, const CodeOf& code_of) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) largest = fmaxf(largest, fabsf(values[i]));
  largest = warp_max(largest);
  const float inverse = largest >= kLeastScale ? 1.0F / largest : 0.0F;
  codes = {};
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    Lane<float>::word(codes, i) |= code_of(values[i] * inverse) << 8 * (i % 4);
  }
  return largest;
}

template <typename T>
__global__ void __launch_bounds__(kStepThreads)
    take_coded_step(const Entry* table, int entries, Step step) {
  __shared__ Tables tables;
  const bool skips = step.scaler != nullptr && step.scaler[LossScale::kOverflow] != 0;
  if (skips && !step.first) return;
  copy_tables(tables);
  __syncthreads();
  const float inverse_scale = step.scaler == nullptr ? 1.0F : 1.0F / step.scaler[LossScale::kScale];
  const Chunk chunk = own_chunk(table, entries);
  const Entry& entry = chunk.entry;
  const std::int64_t blocks = (entry.elements + kDynamicBlock - 1) / kDynamicBlock;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int own = static_cast<int>(threadIdx.x) % kWarp * kOwn;
  for (std::int64_t first = chunk.begin + warp * kDynamicBlock; first < chunk.end;
       first += kStepThreads / kWarp * kDynamicBlock) {
    const Lane<T> lane{
        first + own,
        static_cast<int>(min(max(chunk.end - first - own, std::int64_t{0}), std::int64_t{kOwn}))};
    float* const scales = entry.master_or_scales + first / kDynamicBlock;
    Floats<kOwn> momentum{};
    Floats<kOwn> variance{};
    uint2 m_codes{};
    uint2 v_codes{};
    float m_scale = 0;
    float v_scale = 0;
    if (!step.first) {
      m_codes = lane.load_codes(entry.momentum);
      v_codes = lane.load_codes(entry.variance);
      m_scale = scales[0];
      v_scale = scales[blocks];
    }
    if (!skips) {
      Floats<kOwn> weight = lane.load(entry.parameter);
      const Floats<kOwn> gradient = lane.load(entry.gradient);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        Element one = {weight[i], m_scale * tables.momentum.values[Lane<T>::code(m_codes, i)],
                       v_scale * tables.variance.values[Lane<T>::code(v_codes, i)],
                       gradient[i] * inverse_scale};
        one.adamw(step, entry.decays != 0);
        weight[i] = one.weight;
        momentum[i] = one.momentum;
        variance[i] = one.variance;
      }
      lane.store(entry.parameter, weight);
      m_scale = encode(momentum, m_codes, [&](float x) { return tables.momentum_code(x); });
      v_scale = encode(variance, v_codes, [&](float x) { return tables.variance_code(x); });
    }
    lane.store_codes(entry.momentum, m_codes);
    lane.store_codes(entry.variance, v_codes);
    if (own == 0) {
      scales[0] = m_scale;
      scales[blocks] = v_scale;
    }
  }
}

}  // namespace

template <typename T>
void launch_coded_step(const Entry* table, int entries, unsigned blocks, const Step& step,
                       cudaStream_t stream) {
  start({"optimizer", blocks, kStepThreads, stream}, take_coded_step<T>, table, entries, step);
}

template void launch_coded_step<float>(const Entry*, int, unsigned, const Step&, cudaStream_t);
template void launch_coded_step<__half>(const Entry*, int, unsigned, const Step&, cudaStream_t);
template void launch_coded_step<__nv_bfloat16>(const Entry*, int, unsigned, const Step&,
                                               cudaStream_t);

}  // namespace vramfit
