#pragma once

#include <functional>

#include "bench/devices/real_device.h"

namespace vramfit::bench {

/// Sizes that a device is at its best with.
struct RateSizes {
  std::int64_t gemm;  ///< n of an n × n × n product
  std::uint64_t copy_bytes;
};

/// Copies the whole of one tensor to another of its size.
using Copy = std::function<void(const Tensor& from, Tensor& to)>;

/// The device's rates by LinearForward on normal random data and by `copy`, medians.
Rates measure_rates(Device& device, Ledger& ledger, Stopwatch& clock, DType dtype,
                    const RateSizes& sizes, const Copy& copy, double seconds);

}  // namespace vramfit::bench
