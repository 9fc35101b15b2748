#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/base/kernel.cuh"

// The copy engine (TMA) of sm_90 and later, which brings boxes of a matrix into shared memory while
// threads go on, and the barriers that say when they are there. Both are as in the PTX ISA 8.0,
// "mbarrier" and "Tensors".

namespace vramfit::gpu {

/// Whether the architecture that is compiled for has it.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kHasCopyEngine = false;
#else
inline constexpr bool kHasCopyEngine = true;
#endif

/// A box's rows are so wide, and its 16-byte chunks permuted so that eight rows' are in different
/// banks: the 128-byte swizzle. It repeats every 8 rows, where boxes have to begin.
inline constexpr int kSwizzledBytes = 128;
inline constexpr int kSwizzleAlignment = 8 * kSwizzledBytes;

/// The boxes of a matrix of bytes, `parts` of `rows` rows of a multiple of 16 bytes each: a box has
/// `box_rows` of every part, part after part. What is outside of a part is zero.
inline CUtensorMap boxes_of(const void* matrix, int parts, int rows, int row_bytes, int box_rows) {
  static const auto encode =
      driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  CUtensorMap map{};
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(row_bytes), static_cast<cuuint64_t>(rows),
                              static_cast<cuuint64_t>(parts)};
  const cuuint64_t strides[] = {sizes[0], sizes[0] * sizes[1]};
  const cuuint32_t box[] = {kSwizzledBytes, static_cast<cuuint32_t>(box_rows),
                            static_cast<cuuint32_t>(parts)};
  const cuuint32_t steps[] = {1, 1, 1};
  check(encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, const_cast<void*>(matrix), sizes, strides,
               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return map;
}

/// The first place in shared memory where a box may begin; kSwizzleAlignment bytes are to spare.
__device__ inline std::uint8_t* swizzle_aligned(std::uint8_t* shared) {
  const unsigned past = shared_address(shared) % kSwizzleAlignment;
  return shared + (past == 0 ? 0 : kSwizzleAlignment - past);
}

__device__ inline void make_barrier(std::uint64_t& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(arrivals));
}
/// Barriers that were made are seen by the copy engine, too.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void arrive(std::uint64_t& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
               : "memory");
}
/// Arrives, and has the barrier wait for as many copied bytes.
__device__ inline void expect_bytes(std::uint64_t& barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
      "r"(bytes)
      : "memory");
}
/// Until the barrier's phase of that parity has ended.
__device__ inline void wait(std::uint64_t& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@ended bra done;\n"
      "bra again;\n"
      "done:\n"
      "}\n" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

/// Has the copy engine bring the box that begins there in each part, and tell the barrier.
__device__ inline void copy_box(std::uint8_t* to, const CUtensorMap& from, int byte, int row,
                                std::uint64_t& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, 0}], [%4];" ::"r"(shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(&from)), "r"(byte), "r"(row),
      "r"(shared_address(&barrier))
      : "memory");
}

/// The same of what is read once, and would drive other lines out of L2.
__device__ inline void copy_box_once(std::uint8_t* to, const CUtensorMap& from, int byte, int row,
                                     std::uint64_t& barrier) {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, 0}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(&from)), "r"(byte), "r"(row),
      "r"(shared_address(&barrier)), "l"(policy)
      : "memory");
}

}  // namespace vramfit::gpu
