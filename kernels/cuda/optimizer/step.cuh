#pragma once

#include "kernels/cuda/base/approximate.cuh"
#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/optimizer/optimizer.h"

// What kernels that take optimizer steps share: which elements a block takes, and what becomes of
// one.

namespace vramfit::gpu {

inline constexpr int kStepThreads = 256;

/// Elements of one parameter that a block takes at a time: enough to make up for finding it in the
/// table.
inline constexpr std::int64_t kChunk = 16384;

/// What all of a step's elements have in common.
struct StepConstants {
  OptimizerSettings settings;
  float rate;           ///< Adam's learning rate over 1 − β1^step
  float correction;     ///< 1 / (1 − β2^step)
  const float* scaler;  ///< null: gradients are not scaled
  bool first;           ///< states are not there yet
};

/// The elements a block takes.
struct Chunk {
  OptimizerLauncher::Entry entry;
  std::int64_t begin;
  std::int64_t end;
};

/// `chunk`: its number among those of all parameters.
__device__ inline Chunk own_chunk(const OptimizerLauncher::Entry* table, int entries,
                                  std::int64_t chunk) {
  int low = 0;
  for (int high = entries; high - low > 1;) {
    const int middle = (low + high) / 2;
    (table[middle].first_chunk <= chunk ? low : high) = middle;
  }
  Chunk own;
  own.entry = table[low];
  own.begin = (chunk - own.entry.first_chunk) * kChunk;
  own.end = min(own.begin + kChunk, own.entry.elements);
  return own;
}

/// One element's weight, states and gradient.
struct Element {
  float weight;
  float momentum;
  float variance;
  float gradient;

  __device__ void sgd(const OptimizerSettings& s, bool keeps_velocity) {
    momentum = keeps_velocity ? s.momentum * momentum + gradient : gradient;
    weight -= s.learning_rate * momentum;
  }

  /// The step is taken from m and v before they are rounded to what they are stored in.
  __device__ void adamw(const StepConstants& step, bool decays) {
    const OptimizerSettings& s = step.settings;
    momentum = s.beta1 * momentum + (1.0F - s.beta1) * gradient;
    variance = s.beta2 * variance + (1.0F - s.beta2) * gradient * gradient;
    if (decays) weight -= s.learning_rate * s.weight_decay * weight;
    const float deviation = square_root(variance * step.correction) + s.eps;
    weight -= step.rate * momentum * reciprocal(deviation);
  }

  /// The step is the sign of what momentum would become with beta1.
  __device__ void lion(const OptimizerSettings& s, bool decays) {
    const float direction = s.beta1 * momentum + (1.0F - s.beta1) * gradient;
    momentum = s.beta2 * momentum + (1.0F - s.beta2) * gradient;
    if (decays) weight -= s.learning_rate * s.weight_decay * weight;
    if (direction != 0.0F) weight -= copysignf(s.learning_rate, direction);
  }
};

}  // namespace vramfit::gpu
