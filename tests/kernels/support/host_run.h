#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/host_source.h"
#include "model/memory/host_memory.h"
#include "model/transformer/training.h"

namespace vramfit {

inline constexpr Arch kAmpere{80};
/// The first step, and two that are alike.
inline constexpr int kThreeSteps = 3;

/// Everything that a model on the CPU needs, set up as a program would.
struct Host {
  explicit Host(std::uint64_t capacity = HostSource::kDefaultCapacity, Arch arch = Arch{80})
      : source(capacity), pool(source), ledger(pool), beside(beside_source, ledger), device(arch) {}

  HostSource source;
  Pool pool;
  Ledger ledger;
  HostSource beside_source;
  HostMemory beside;  ///< what runs keep in host memory rather than on the device
  CpuDevice device;
};

/// Loads the same tokens and targets, (B, T) each, for every micro-batch.
BatchLoader fixed_batch(std::vector<std::int32_t> tokens, std::vector<std::int32_t> targets);

/// Loads one micro-batch after the other from longer lists, and starts over at their end.
BatchLoader micro_batches(std::vector<std::int32_t> tokens, std::vector<std::int32_t> targets);

/// Uniform over [0, vocab).
std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocab, std::uint64_t seed);

/// Every gradient, in the order of the parameters; empty where one is frozen.
std::vector<std::vector<double>> gradients_of(const Weights& weights);

/// Replaces every parameter by normal numbers large enough that attention is not flat, biases are
/// not zero and no gradient is lost in rounding; norm weights are around 1.
void randomize(CpuDevice& device, Weights& weights);

}  // namespace vramfit
