#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "model/memory/tensor.h"

namespace vramfit {

/// A matrix in device memory, row-major: `rows` of `columns`, `step` elements from row to row and
/// `batch_step` from one batch's matrix to the next's. `transposed`: it is used as its transpose.
struct GemmMatrix {
  void* data;
  Format format;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t step;
  std::int64_t batch_step = 0;
  bool transposed = false;

  /// `rows` · `columns` elements of a tensor without gaps, from element `first` on.
  static GemmMatrix of(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                       std::int64_t first = 0);
  /// `count` columns of a matrix without gaps from column `first` on.
  static GemmMatrix columns_of(const Tensor& matrix, std::int64_t first, std::int64_t count);
  GemmMatrix transpose() const;
};

/// What codes of 8 bits are multiplied by.
enum class GemmScales : std::uint8_t {
  None,    ///< there are none
  Rows,    ///< a's rows and b's columns by their own
  Tensor,  ///< all of a by one, all of b by another
};

/// to = scale · a · b + plus + bias, summed in fp32 and rounded once. Where a and b are codes of 8
/// bits, `to` is of 16 bits.
struct Gemm {
  GemmMatrix a;
  GemmMatrix b;
  GemmMatrix to;               ///< may be fp32 where a and b are 16-bit
  const void* plus = nullptr;  ///< laid out as `to`, and may be `to`; null: nothing is added
  const void* bias = nullptr;  ///< a row of `to`'s width and format; null: none
  float scale = 1.0F;
  std::int64_t batch = 1;
  GemmScales scales = GemmScales::None;
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
  bool fast = false;  ///< sums of codes may keep fewer bits, 14 on Hopper
};

struct GemmOptions {
  bool tf32 = false;  ///< fp32 products through tensor cores, with 10 bits of mantissa
  bool tune = false;  ///< time the candidates at a shape's first call, rather than trust the first
  std::string algorithms;  ///< file that tuned choices are kept in; empty: none
};

/// Runs GEMMs through cuBLASLt, with an algorithm that needs no more than the workspace given.
/// A shape's first call chooses it, and builds what later calls reuse.
class GemmRunner {
 public:
  GemmRunner(cudaStream_t stream, const GemmOptions& options);
  ~GemmRunner();
  GemmRunner(const GemmRunner&) = delete;
  GemmRunner& operator=(const GemmRunner&) = delete;

  /// Throws BadInput for formats that CUDA devices do not run, CudaError where cuBLASLt has no
  /// algorithm.
  void run(const Gemm& gemm, const Tensor& workspace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "13.1.0", of the library that is loaded.
std::string cublas_version();

}  // namespace vramfit
