#include "bench/devices/rates.h"

#include "bench/devices/timing.h"
#include "model/ops/cost.h"
#include "model/ops/op_context.h"

namespace vramfit::bench {
namespace {

double gemm_rate(OpContext& context, Stopwatch& clock, std::int64_t n, double seconds) {
  Tensor x = context.activation("x", {n, n});
  Tensor weight = context.activation("weight", {n, n});
  Tensor y = context.activation("y", {n, n});
  context.device.run(FillNormal{x, 0.0F, 1.0F, 1});
  context.device.run(FillNormal{weight, 0.0F, 1.0F, 2});
  const LinearForward op{x, weight, nullptr, nullptr, y, context.gemm_workspace};
  return cost(op).flops /
         seconds_of([&] { context.device.run(op); }, context.device, clock, seconds);
}

double copy_rate(const OpContext& context, Stopwatch& clock, std::uint64_t bytes, const Copy& copy,
                 double seconds) {
  Tensor from = context.bytes("from", bytes);
  Tensor to = context.bytes("to", bytes);
  const double moved = 2 * static_cast<double>(from.bytes());
  return moved / seconds_of([&] { copy(from, to); }, context.device, clock, seconds);
}

}  // namespace

Rates measure_rates(Device& device, Ledger& ledger, Stopwatch& clock, DType dtype,
                    const RateSizes& sizes, const Copy& copy, double seconds) {
  OpContext context(device, ledger, Precisions::plain(dtype));
  return {copy_rate(context, clock, sizes.copy_bytes, copy, seconds),
          gemm_rate(context, clock, sizes.gemm, seconds)};
}

}  // namespace vramfit::bench
