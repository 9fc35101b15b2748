#include "kernels/cuda/gemm/adapters.h"

namespace vramfit {
namespace {

/// Calls `body` with each adapter: the columns it adds to, its first column of u, its first row of
/// b.
template <typename Body>
void for_each_adapter(const AdaptersOfLinear& adapters, std::int64_t rank, const Body& body) {
  std::int64_t column = 0;
  std::int64_t row = 0;
  for (const AdaptedColumns& part : adapters.columns) {
    body(part, column, row);
    column += rank;
    row += part.width;
  }
}

GemmMatrix rows_of(const Tensor& b, std::int64_t first, std::int64_t count) {
  const std::int64_t rank = b.shape()[1];
  return GemmMatrix::of(b, count, rank, first * rank);
}

}  // namespace

void add_adapters(const LoraForward& op, GemmRunner& gemms) {
  const std::int64_t rank = op.b.shape()[1];
  for_each_adapter(op.adapters, rank, [&](const AdaptedColumns& part, auto column, auto row) {
    Gemm gemm{GemmMatrix::columns_of(op.u, column, rank),
              rows_of(op.b, row, part.width).transpose(),
              GemmMatrix::columns_of(op.y, part.first, part.width)};
    gemm.plus = gemm.to.data;
    gemm.scale = op.adapters.scale;
    gemms.run(gemm, op.workspace);
  });
}

void multiply_adapters(const LoraBackwardInput& op, GemmRunner& gemms) {
  const std::int64_t rank = op.b.shape()[1];
  for_each_adapter(op.adapters, rank, [&](const AdaptedColumns& part, auto column, auto row) {
    Gemm gemm{GemmMatrix::columns_of(op.dy, part.first, part.width), rows_of(op.b, row, part.width),
              GemmMatrix::columns_of(op.du, column, rank)};
    gemm.scale = op.adapters.scale;
    gemms.run(gemm, op.workspace);
  });
}

void multiply_adapters(const LoraBackwardWeight& op, GemmRunner& gemms) {
  const std::int64_t rank = op.db.shape()[1];
  for_each_adapter(op.adapters, rank, [&](const AdaptedColumns& part, auto column, auto row) {
    Gemm gemm{GemmMatrix::columns_of(op.dy, part.first, part.width).transpose(),
              GemmMatrix::columns_of(op.u, column, rank), rows_of(op.db, row, part.width)};
    gemm.scale = op.adapters.scale;
    if (op.accumulate) gemm.plus = gemm.to.data;
    gemms.run(gemm, op.workspace);
  });
}

}  // namespace vramfit
