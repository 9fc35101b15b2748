#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/base/barrier.cuh"
#include "kernels/cuda/base/kernel.cuh"

// What only sm_90a has words for: the copy engine (TMA), which brings boxes of a matrix into shared
// memory, and products of a warpgroup, 4 warps, on tensor cores that read from there (wgmma).
// Barriers, boxes and descriptors are as in the PTX ISA 8.0, "mbarrier", "Tensors" and
// "Asynchronous Warpgroup Level Matrix Instructions".

namespace vramfit::gpu {

inline constexpr int kWarpgroup = 128;
/// A box's rows are so wide, and its 16-byte chunks permuted so that eight rows' are in different
/// banks: the 128-byte swizzle. It repeats every 8 rows, where boxes have to begin.
inline constexpr int kSwizzledBytes = 128;
inline constexpr int kSwizzleAlignment = 8 * kSwizzledBytes;
/// Depth of a product in bytes.
inline constexpr int kProductBytes = 32;

/// The boxes of `box_rows` rows of a matrix of bytes, whose rows are a multiple of 16 bytes; what
/// is outside of it is zero.
inline CUtensorMap boxes_of(const void* matrix, int rows, int row_bytes, int box_rows) {
  static const auto encode =
      driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  CUtensorMap map{};
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(row_bytes), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(row_bytes)};
  const cuuint32_t box[] = {kSwizzledBytes, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1};
  check(encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<void*>(matrix), sizes, strides,
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

/// Barriers that were made are seen by the copy engine, too.
__device__ inline void fence_barriers() {
  show_barriers();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Has the copy engine bring the box that begins there, and tell the barrier.
__device__ inline void copy_box(std::uint8_t* to, const CUtensorMap& from, int byte, int row,
                                std::uint64_t& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(&from)), "r"(byte), "r"(row),
      "r"(shared_address(&barrier))
      : "memory");
}

/// What kernels before have written to memory is seen by the copy engine, too.
__device__ inline void show_to_copy_engine() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// Has the copy engine bring that many bytes, a multiple of 16, and tell the barrier.
__device__ inline void copy_bulk(std::uint8_t* to, const std::uint8_t* from, int bytes,
                                 std::uint64_t& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

/// How a warpgroup's products name the rows of a box from there on, and bytes further in them.
__device__ inline std::uint64_t swizzled_matrix(const std::uint8_t* rows) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t kEightRows = std::uint64_t{kSwizzleAlignment >> 4} << 32;
  constexpr std::uint64_t kUnused = std::uint64_t{1} << 16;  // rows are one swizzle wide
  return kSwizzle128 | kEightRows | kUnused | (shared_address(rows) & 0x3FFFF) >> 4;
}
__device__ inline std::uint64_t advanced(std::uint64_t matrix, int bytes) {
  return matrix + static_cast<std::uint64_t>(bytes >> 4);
}

/// Sums that products add to are the tensor cores' from here on, until they are waited for.
template <int kSums>
__device__ void hold(int (&sums)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}
template <int kSums>
__device__ void begin_products(int (&sums)[kSums]) {
  hold(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// All but the latest kPending groups have ended.
template <int kPending, int kSums>
__device__ void wait_for_products(int (&sums)[kSums]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  hold(sums);
}

#define VRAMFIT_SUMS_8(i)                                                                    \
  "+r"(sums[i]), "+r"(sums[i + 1]), "+r"(sums[i + 2]), "+r"(sums[i + 3]), "+r"(sums[i + 4]), \
      "+r"(sums[i + 5]), "+r"(sums[i + 6]), "+r"(sums[i + 7])
#define VRAMFIT_SUMS_32(i) \
  VRAMFIT_SUMS_8(i), VRAMFIT_SUMS_8(i + 8), VRAMFIT_SUMS_8(i + 16), VRAMFIT_SUMS_8(i + 24)

/// 64 rows of int8 with 256 columns; without `adds` the sums begin anew.
__device__ inline void multiply_add(int (&sums)[128], std::uint64_t rows, std::uint64_t columns,
                                    bool adds) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.b32 adds, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
      "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "
      "%126, %127}, %128, %129, adds;\n"
      "}\n"
      : VRAMFIT_SUMS_32(0), VRAMFIT_SUMS_32(32), VRAMFIT_SUMS_32(64), VRAMFIT_SUMS_32(96)
      : "l"(rows), "l"(columns), "r"(static_cast<int>(adds)));
}

#undef VRAMFIT_SUMS_32
#undef VRAMFIT_SUMS_8

/// How many registers each of the warpgroup's threads has from here on: all of its warps ask.
template <int kRegisters>
__device__ void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace vramfit::gpu
