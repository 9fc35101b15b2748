#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"

namespace vramfit {
namespace {

/// Calls `body` with each column of y that an adapter adds to: its number, the row of b that stands
/// for it, and the adapter's first column of u.
template <typename Body>
void for_each_column(const AdaptersOfLinear& adapters, std::int64_t rank, const Body& body) {
  std::int64_t row = 0;
  for (std::int64_t p = 0; p < adapters.count(); ++p) {
    const AdaptedColumns& part = adapters.columns[static_cast<std::size_t>(p)];
    for (std::int64_t i = 0; i < part.width; ++i) body(part.first + i, row++, p * rank);
  }
}

template <typename Element>
void forward(const LoraForward& op) {
  const std::int64_t rows = op.u.shape()[0];
  const std::int64_t rank = op.b.shape()[1];
  const auto scale = static_cast<Accumulator<Element>>(op.adapters.scale);
  const auto u = input<Element>(op.u, rows, op.adapters.count() * rank);
  const auto b = input<Element>(op.b, op.adapters.width(), rank);
  const auto y = output<Element>(op.y, rows, op.y.shape()[1]);
  for (std::int64_t n = 0; n < rows; ++n) {
    for_each_column(op.adapters, rank, [&](std::int64_t column, std::int64_t row, std::int64_t k) {
      store(y[n][column], scale * dot(u[n] + k, 1, b[row], 1, rank), true);
    });
  }
}

template <typename Element>
void backward_input(const LoraBackwardInput& op) {
  const std::int64_t rows = op.dy.shape()[0];
  const std::int64_t rank = op.b.shape()[1];
  const auto scale = static_cast<Accumulator<Element>>(op.adapters.scale);
  const auto dy = input<Element>(op.dy, rows, op.dy.shape()[1]);
  const auto b = input<Element>(op.b, op.adapters.width(), rank);
  const auto du = output<Element>(op.du, rows, op.adapters.count() * rank);
  std::int64_t first_row = 0;
  for (std::int64_t p = 0; p < op.adapters.count(); ++p) {
    const AdaptedColumns& part = op.adapters.columns[static_cast<std::size_t>(p)];
    for (std::int64_t n = 0; n < rows; ++n) {
      for (std::int64_t r = 0; r < rank; ++r) {
        du[n][p * rank + r] = static_cast<Element>(
            scale * dot(dy[n] + part.first, 1, b[first_row] + r, rank, part.width));
      }
    }
    first_row += part.width;
  }
}

template <typename Element>
void backward_weight(const LoraBackwardWeight& op) {
  const std::int64_t rows = op.dy.shape()[0];
  const std::int64_t rank = op.db.shape()[1];
  const std::int64_t out = op.dy.shape()[1];
  const std::int64_t width = op.adapters.count() * rank;
  const auto scale = static_cast<Accumulator<Element>>(op.adapters.scale);
  const auto u = input<Element>(op.u, rows, width);
  const auto dy = input<Element>(op.dy, rows, out);
  const auto db = output<Element>(op.db, op.adapters.width(), rank);
  for_each_column(op.adapters, rank, [&](std::int64_t column, std::int64_t row, std::int64_t k) {
    for (std::int64_t r = 0; r < rank; ++r) {
      store(db[row][r], scale * dot(dy[0] + column, out, u[0] + k + r, width, rows), op.accumulate);
    }
  });
}

}  // namespace

void CpuDevice::run(const LoraForward& op) {
  with_element(op.y.format(), [&op](auto e) { forward<decltype(e)>(op); });
}

void CpuDevice::run(const LoraBackwardInput& op) {
  with_element(op.dy.format(), [&op](auto e) { backward_input<decltype(e)>(op); });
}

void CpuDevice::run(const LoraBackwardWeight& op) {
  with_element(op.dy.format(), [&op](auto e) { backward_weight<decltype(e)>(op); });
}

}  // namespace vramfit
