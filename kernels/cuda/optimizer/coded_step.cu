#include <type_traits>

#include "kernels/cuda/optimizer/coded_step.cuh"
#include "model/optimizer/code_table.h"

// A warp takes a block of codes at a time, eight elements a lane: their values stay in registers
// until the block's largest, which scales all of them, is known.

namespace vramfit {
namespace {

using namespace gpu;

using Entry = OptimizerLauncher::Entry;

constexpr int kOwn = 8;
static_assert(kOwn * kWarp == kDynamicBlock && kChunk % kDynamicBlock == 0);

/// Chunks that a block takes one after the other, as it copies the tables first.
constexpr int kChunksOfABlock = 8;

struct alignas(16) Tables {
  CodeTable<SignedCodes> momentum;
  CodeTable<UnsignedCodes> variance;
};

__device__ const Tables kTables{};

/// A block's own copy, as what lanes look up are different places.
__device__ void copy_tables(Tables& to) {
  for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(sizeof(Tables) / sizeof(uint4));
       i += kStepThreads) {
    reinterpret_cast<uint4*>(&to)[i] = reinterpret_cast<const uint4*>(&kTables)[i];
  }
}

/// A lane's eight codes, four in a word.
struct Codes {
  std::uint32_t words[kOwn / 4] = {};

  __device__ std::uint32_t operator[](int i) const {
    return __byte_perm(words[i / 4], 0, 0x4440 + i % 4);
  }
  /// Four from their third bytes on.
  __device__ void set_word(int word, const std::uint32_t* third) {
    const std::uint32_t low = __byte_perm(third[0], third[1], 0x0062);
    const std::uint32_t high = __byte_perm(third[2], third[3], 0x0062);
    words[word] = __byte_perm(low, high, 0x5410);
  }
};

/// A lane's elements of a block of codes: packs of 16 bytes of T, those of a warp side by side.
/// Where the block is not whole, what is past its end is 0, and not written.
template <typename T, bool kWhole>
struct Lane {
  static constexpr int kPack = 16 / sizeof(T);

  std::int64_t first;  ///< of the lane's first pack
  std::int64_t end;    ///< of the parameter's elements

  __device__ Floats<kOwn> load(const void* from) const {
    const T* elements = static_cast<const T*>(from) + first;
    Floats<kOwn> result{};
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kOwn; i += kPack) {
        const Floats<kPack> pack = Pack<T, kPack>::load_once(elements + place(i)).floats();
#pragma unroll
        for (int j = 0; j < kPack; ++j) result[i + j] = pack[j];
      }
    } else {
      for_each_there([&](int i) { result[i] = to_float(elements[place(i)]); });
    }
    return result;
  }

  __device__ void store(void* to, const Floats<kOwn>& values) const {
    T* elements = static_cast<T*>(to) + first;
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kOwn; i += kPack) {
        Floats<kPack> pack;
#pragma unroll
        for (int j = 0; j < kPack; ++j) pack[j] = values[i + j];
        Pack<T, kPack>(pack).store_once(elements + place(i));
      }
    } else {
      for_each_there([&](int i) { elements[place(i)] = from_float<T>(values[i]); });
    }
  }

  __device__ Codes load_codes(const void* from) const {
    const auto* codes = static_cast<const std::uint8_t*>(from) + first;
    Codes result;
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kOwn; i += kPack) {
        words_of(result, i) = __ldcs(reinterpret_cast<const Words*>(codes + place(i)));
      }
    } else {
      for_each_there(
          [&](int i) { result.words[i / 4] |= std::uint32_t{codes[place(i)]} << 8 * (i % 4); });
    }
    return result;
  }

  __device__ void store_codes(void* to, Codes& values) const {
    auto* codes = static_cast<std::uint8_t*>(to) + first;
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kOwn; i += kPack) {
        __stcs(reinterpret_cast<Words*>(codes + place(i)), words_of(values, i));
      }
    } else {
      for_each_there([&](int i) { codes[place(i)] = static_cast<std::uint8_t>(values[i]); });
    }
  }

 private:
  /// A pack's codes.
  using Words = std::conditional_t<kPack == 8, uint2, std::uint32_t>;

  __device__ static Words& words_of(Codes& codes, int i) {
    return reinterpret_cast<Words*>(codes.words)[i / kPack];
  }
  /// Of the lane's element i, from its first on.
  __device__ static int place(int i) { return i / kPack * kPack * kWarp + i % kPack; }

  template <typename Body>
  __device__ void for_each_there(const Body& body) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (first + place(i) < end) body(i);
    }
  }
};

/// The largest magnitude of a warp's values, but for those that are no numbers: bits of floats
/// that are not negative are in the floats' order.
__device__ float largest_of_block(const Floats<kOwn>& values) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) largest = fmaxf(largest, fabsf(values[i]));
  return __uint_as_float(__reduce_max_sync(kWholeWarp, __float_as_uint(largest)));
}

/// The nearest codes of the values, which are replaced; returns the block's scale.
template <typename Numbers>
__device__ float encode(const Floats<kOwn>& values, const CodeTable<Numbers>& table, Codes& codes) {
  using Table = CodeTable<Numbers>;
  const float scale = largest_of_block(values);
  // Of scales beyond kLargestScale, the reciprocal's instruction leaves 0.
  const float inverse = scale >= kLeastScale ? reciprocal(scale) : 0.0F;
#pragma unroll
  for (int word = 0; word < kOwn / 4; ++word) {
    std::uint32_t third[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x = values[4 * word + i] * inverse;
      const float magnitude = fmaxf(fabsf(x), Table::kLeast);
      const auto sign = static_cast<std::uint32_t>(__float_as_int(x) >> 31);
      third[i] = table.find(__float_as_uint(magnitude), Table::kSigned ? sign : 0U);
    }
    codes.set_word(word, third);
  }
  return scale;
}

template <typename T, bool kWhole>
__device__ void take_block(const Entry& entry, std::int64_t first, const StepConstants& step,
                           bool skips, float inverse_scale, const Tables& tables) {
  const int lane_in_warp = static_cast<int>(threadIdx.x) % kWarp;
  using Lane = Lane<T, kWhole>;
  const Lane lane{first + lane_in_warp * Lane::kPack, entry.elements};
  const std::int64_t blocks = (entry.elements + kDynamicBlock - 1) / kDynamicBlock;
  float* const scales = entry.master_or_scales + first / kDynamicBlock;
  Codes m_codes;
  Codes v_codes;
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
    Floats<kOwn> momentum;
    Floats<kOwn> variance;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      Element one = {weight[i], m_scale * tables.momentum.values[m_codes[i]],
                     v_scale * tables.variance.values[v_codes[i]], gradient[i] * inverse_scale};
      one.adamw(step, entry.decays != 0);
      weight[i] = one.weight;
      momentum[i] = one.momentum;
      variance[i] = one.variance;
    }
    lane.store(entry.parameter, weight);
    m_scale = encode(momentum, tables.momentum, m_codes);
    v_scale = encode(variance, tables.variance, v_codes);
  }
  lane.store_codes(entry.momentum, m_codes);
  lane.store_codes(entry.variance, v_codes);
  if (lane_in_warp == 0) {
    scales[0] = m_scale;
    scales[blocks] = v_scale;
  }
}

template <typename T>
__global__ void __launch_bounds__(kStepThreads, 4)
    take_coded_step(const Entry* table, int entries, int chunks, StepConstants step) {
  __shared__ Tables tables;
  const bool skips = step.scaler != nullptr && step.scaler[LossScale::kOverflow] != 0;
  if (skips && !step.first) return;
  copy_tables(tables);
  __syncthreads();
  const float inverse_scale = step.scaler == nullptr ? 1.0F : 1.0F / step.scaler[LossScale::kScale];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int i = static_cast<int>(blockIdx.x); i < chunks; i += static_cast<int>(gridDim.x)) {
    const Chunk chunk = own_chunk(table, entries, i);
    for (std::int64_t first = chunk.begin + warp * kDynamicBlock; first < chunk.end;
         first += kStepThreads / kWarp * kDynamicBlock) {
      const bool whole = first + kDynamicBlock <= chunk.end;
      if (whole) {
        take_block<T, true>(chunk.entry, first, step, skips, inverse_scale, tables);
      } else {
        take_block<T, false>(chunk.entry, first, step, skips, inverse_scale, tables);
      }
    }
  }
}

}  // namespace

template <typename T>
void launch_coded_step(const Entry* table, int entries, int chunks, const StepConstants& step,
                       cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(ceil_divide(chunks, kChunksOfABlock));
  start({"optimizer", blocks, kStepThreads, stream}, take_coded_step<T>, table, entries, chunks,
        step);
}

template void launch_coded_step<float>(const Entry*, int, int, const StepConstants&, cudaStream_t);
template void launch_coded_step<__half>(const Entry*, int, int, const StepConstants&, cudaStream_t);
template void launch_coded_step<__nv_bfloat16>(const Entry*, int, int, const StepConstants&,
                                               cudaStream_t);

}  // namespace vramfit
