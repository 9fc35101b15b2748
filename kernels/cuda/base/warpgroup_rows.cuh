#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// Products of a warpgroup whose rows, 64 of them, are in registers, as four warps have them for
// mma.m16n8 (tensor_core.cuh), and whose columns are in shared memory, unswizzled: 16 bytes of each
// of all columns, then the next 16 bytes.

namespace vramfit::gpu {

/// The lower half of a descriptor of two of those, of `columns` columns each; a further one is as
/// many 16 bytes on.
__device__ inline unsigned unswizzled_matrix(unsigned shared, int columns) {
  return (shared & 0x3FFFF) >> 4 | static_cast<unsigned>(columns) << 16;
}

template <int kGroups>
__device__ void hold(float (&sums)[kGroups][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kGroups; ++i) asm volatile("" : "+f"(sums[i / 4][i % 4])::"memory");
}
template <int kGroups>
__device__ void hold(int (&sums)[kGroups][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kGroups; ++i) asm volatile("" : "+r"(sums[i / 4][i % 4])::"memory");
}

/// Rows in registers are there, before products read them; waits for the warpgroup.
template <int kProducts>
__device__ void show_rows(std::uint32_t (&rows)[kProducts][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kProducts; ++i) asm volatile("" : "+r"(rows[i / 4][i % 4])::"memory");
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Until then sums are the tensor cores'.
__device__ inline void wait_for_rows(auto& sums) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  hold(sums);
}

#define VRAMFIT_SUMS_4(kind, g) \
  kind(sums[g][0]), kind(sums[g][1]), kind(sums[g][2]), kind(sums[g][3])
#define VRAMFIT_SUMS_8(kind, g) VRAMFIT_SUMS_4(kind, g), VRAMFIT_SUMS_4(kind, g + 1)
#define VRAMFIT_SUMS_16(kind, g) VRAMFIT_SUMS_8(kind, g), VRAMFIT_SUMS_8(kind, g + 2)
#define VRAMFIT_SUMS_32(kind, g) VRAMFIT_SUMS_16(kind, g), VRAMFIT_SUMS_16(kind, g + 4)

#define VRAMFIT_D8 "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, columns, 1"
#define VRAMFIT_D16                                                                     \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, " \
  "%18, %19}, columns, 1"
#define VRAMFIT_D32                                                                    \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "  \
  "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, " \
  "%34, %35}, columns, 1"

/// sums (groups, 4) += rows · columns.
#define VRAMFIT_ROWS(groups, Sum, kind, sums_of, Input, shape, operands, matrix, more)            \
  __device__ inline void multiply_rows(Sum(&sums)[groups][4], const std::uint32_t(&a)[4],         \
                                       unsigned columns, Input /*type*/) {                        \
    constexpr unsigned kEightColumns = 8;                                                         \
    asm volatile("{\n.reg .b64 columns;\nmov.b64 columns, " matrix                                \
                 ";\nwgmma.mma_async.sync.aligned." shape " " operands more ";\n}"                \
                 : sums_of(kind, 0)                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(columns), "r"(kEightColumns)); \
  }

#define VRAMFIT_ROWS_OF(groups, columns, sums_of, operands, matrix)                               \
  VRAMFIT_ROWS(groups, int, "+r", sums_of, std::int8_t, "m64n" columns "k32.s32.s8.s8", operands, \
               matrix, "")                                                                        \
  VRAMFIT_ROWS(groups, float, "+f", sums_of, __half, "m64n" columns "k16.f32.f16.f16", operands,  \
               matrix, ", 1, 1, 0")                                                               \
  VRAMFIT_ROWS(groups, float, "+f", sums_of, __nv_bfloat16, "m64n" columns "k16.f32.bf16.bf16",   \
               operands, matrix, ", 1, 1, 0")

VRAMFIT_ROWS_OF(2, "16", VRAMFIT_SUMS_8, VRAMFIT_D8, "{%12, %13}")
VRAMFIT_ROWS_OF(4, "32", VRAMFIT_SUMS_16, VRAMFIT_D16, "{%20, %21}")
VRAMFIT_ROWS_OF(8, "64", VRAMFIT_SUMS_32, VRAMFIT_D32, "{%36, %37}")

#undef VRAMFIT_ROWS_OF
#undef VRAMFIT_ROWS
#undef VRAMFIT_D32
#undef VRAMFIT_D16
#undef VRAMFIT_D8
#undef VRAMFIT_SUMS_32
#undef VRAMFIT_SUMS_16
#undef VRAMFIT_SUMS_8
#undef VRAMFIT_SUMS_4

}  // namespace vramfit::gpu
