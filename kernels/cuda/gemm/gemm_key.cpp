#include "kernels/cuda/gemm/gemm_key.h"

namespace vramfit {
namespace {

constexpr std::uint32_t kBestAlignment = 256;

GemmOperand operand(const GemmMatrix& matrix) {
  return {matrix.rows,       matrix.columns, matrix.step,           matrix.batch_step,
          matrix.transposed, matrix.format,  alignment(matrix.data)};
}

}  // namespace

GemmSum sum_of(const Gemm& gemm) {
  if (gemm.plus == nullptr) return GemmSum::None;
  return gemm.plus == gemm.to.data ? GemmSum::InPlace : GemmSum::Other;
}

std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | kBestAlignment;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

GemmKey gemm_key(const Gemm& gemm, bool tf32, std::uint64_t workspace_bytes) {
  return {operand(gemm.a),
          operand(gemm.b),
          operand(gemm.to),
          gemm.batch,
          sum_of(gemm),
          gemm.plus == nullptr ? 0 : alignment(gemm.plus),
          gemm.bias == nullptr ? 0 : alignment(gemm.bias),
          tf32,
          gemm.scales,
          gemm.fast,
          workspace_bytes};
}

}  // namespace vramfit
