#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cuda/base/element.h"
#include "kernels/cuda/base/kernel.cuh"
#include "kernels/cuda/base/pack.cuh"
#include "kernels/cuda/base/reduce.cuh"
#include "model/errors.h"
#include "model/memory/tensor.h"

// From tensors, whose formats and sizes are values, to kernels, whose are types.

namespace vramfit::gpu {

template <int kValue>
using Constant = std::integral_constant<int, kValue>;

/// Throws std::logic_error unless an op is what its contract says.
inline void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

inline void expect_workspace(const Tensor& workspace, std::uint64_t bytes, const char* what) {
  if (workspace.bytes() < bytes) {
    throw std::logic_error(std::string(what) + ": needs " + std::to_string(bytes) +
                           " bytes of workspace and is given " + std::to_string(workspace.bytes()));
  }
}

/// Whether rows of `width` elements from each of the addresses on are whole, aligned packs. Null
/// is an absent tensor, and fits.
template <typename T>
bool is_packed(std::int64_t width, std::initializer_list<const void*> addresses) {
  constexpr auto kBytes = std::int64_t{16};
  return width * static_cast<std::int64_t>(sizeof(T)) % kBytes == 0 &&
         std::all_of(addresses.begin(), addresses.end(), [](const void* address) {
           return reinterpret_cast<std::uintptr_t>(address) % kBytes == 0;
         });
}

/// Calls `body` with the pack's size as a Constant: 16 bytes, or one element.
template <typename T, typename Body>
void with_pack(bool packed, const Body& body) {
  if (packed) {
    body(Constant<static_cast<int>(16 / sizeof(T))>{});
  } else {
    body(Constant<1>{});
  }
}

/// A tensor of int32 on the device, such as each sequence's first position; null stays null.
inline const std::int32_t* integers_of(const Tensor* starts) {
  return starts == nullptr ? nullptr : starts->as<const std::int32_t>();
}
__device__ inline std::int64_t start_of(const std::int32_t* starts, std::int64_t sequence) {
  return starts == nullptr ? 0 : starts[sequence];
}

inline int ceil_divide(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

/// Of the current GPU.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

/// Whether it, and any other that the process uses, has the instructions of warpgroup.cuh, which
/// are sm_90a's alone.
inline bool has_warpgroups() {
  static const bool has = device_attribute(cudaDevAttrComputeCapabilityMajor) == 9;
  return has;
}

/// At least `count` threads in whole warps, at most `limit`.
inline int whole_warps(std::int64_t count, int limit = 1024) {
  const std::int64_t threads = (count + kWarp - 1) / kWarp * kWarp;
  return static_cast<int>(std::clamp<std::int64_t>(threads, kWarp, limit));
}

/// A grid over rows of packs, one pack per thread: x counts rows, y the pieces of a row.
struct RowPieces {
  static constexpr int kMostThreads = 512;

  dim3 grid;
  int threads;

  RowPieces(std::int64_t rows, std::int64_t packs) {
    const int pieces = ceil_divide(packs, kMostThreads);
    grid = dim3(static_cast<unsigned>(rows), static_cast<unsigned>(pieces));
    threads = whole_warps(ceil_divide(packs, pieces));
  }
};

/// One block per row, whose threads hold the row in registers: calls `body` with the packs a thread
/// holds, as a Constant, and the number of threads. The first count that suffices: fewer registers,
/// more blocks.
template <typename Body>
void with_row_in_registers(std::int64_t packs, const char* op, const Body& body) {
  constexpr int kFew = 4;
  constexpr int kMany = 16;
  if (packs <= 1024 * kFew) {
    body(Constant<kFew>{}, whole_warps(ceil_divide(packs, kFew)));
  } else if (packs <= 512 * kMany) {
    body(Constant<kMany>{}, whole_warps(ceil_divide(packs, kMany)));
  } else {
    throw BadInput(std::string(op) + ": a row is too long; at most 8192 elements, or as many " +
                   "packs of 16 bytes where its length is a multiple of 8 (fp32: of 4)");
  }
}

/// What __launch_bounds__ promises of with_row_in_registers.
template <int kPacks>
inline constexpr int kRowThreads = kPacks <= 4 ? 1024 : 512;

}  // namespace vramfit::gpu
