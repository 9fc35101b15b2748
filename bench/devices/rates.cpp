#include "bench/devices/rates.h"

#include "bench/devices/timing.h"
#include "model/ops/cost.h"
#include "model/ops/runtime.h"

namespace vramfit::bench {
namespace {

double gemm_rate(Runtime& rt, Stopwatch& clock, std::int64_t n, double seconds) {
  Tensor x = rt.activation("x", {n, n});
  Tensor weight = rt.activation("weight", {n, n});
  Tensor y = rt.activation("y", {n, n});
  rt.device.run(FillNormal{x, 0.0F, 1.0F, 1});
  rt.device.run(FillNormal{weight, 0.0F, 1.0F, 2});
  const LinearForward op{x, weight, nullptr, nullptr, y, rt.gemm_workspace};
  return cost(op).flops / seconds_of([&] { rt.device.run(op); }, rt.device, clock, seconds);
}

double copy_rate(const Runtime& rt, Stopwatch& clock, std::uint64_t bytes, const Copy& copy,
                 double seconds) {
  Tensor from = rt.bytes("from", bytes);
  Tensor to = rt.bytes("to", bytes);
  const double moved = 2 * static_cast<double>(from.bytes());
  return moved / seconds_of([&] { copy(from, to); }, rt.device, clock, seconds);
}

}  // namespace

Rates measure_rates(Device& device, Ledger& ledger, Stopwatch& clock, DType dtype,
                    const RateSizes& sizes, const Copy& copy, double seconds) {
  Runtime rt(device, ledger, dtype);
  return {copy_rate(rt, clock, sizes.copy_bytes, copy, seconds),
          gemm_rate(rt, clock, sizes.gemm, seconds)};
}

}  // namespace vramfit::bench
