#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// A warp's product on tensor cores: 16 rows of A with 8 columns of B, 32 bytes deep. Lane 4g + t
// has of A rows g and g + 8, of B column g, of both the words t and t + 4 of the 32 bytes, and of
// the sums rows g and g + 8 of columns 2t and 2t + 1.

namespace vramfit::gpu {

/// `a`: row g's word t, row g + 8's, row g's word t + 4, row g + 8's. `b`: words t and t + 4.
__device__ inline void multiply_add(int (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1, std::int8_t /*type*/) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1, __half /*type*/) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1, __nv_bfloat16 /*type*/) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace vramfit::gpu
