#pragma once

#include "bench/devices/real_device.h"
#include "model/transformer/generation.h"

namespace vramfit::bench {

/// Mean −log of the probability, in nats, that a small trained model gives the token behind each of
/// a number of held-out prompts.
struct TrainedLosses {
  double loss;     ///< with weights stored, and products computed, as the options say
  double in_fp32;  ///< as they were trained
};

/// Trains a small llama in fp32 on text that can be learnt, in seconds, and asks it in both.
/// `capacity`: bytes its pool may map.
TrainedLosses trained_losses(RealDevice& device, std::uint64_t capacity,
                             const GenerationOptions& options);

/// The same run in plain fp32.
GenerationOptions in_fp32(GenerationOptions options);

}  // namespace vramfit::bench
