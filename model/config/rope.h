#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace vramfit {

/// Largest head dimension any device runs; cuDNN's limit on Hopper as well.
inline constexpr std::int64_t kMaxHeadDim = 256;

/// Rotary position embedding (Su et al. 2021), with Hugging Face's pairing of i and i + d/2.
struct Rope {
  /// How frequencies follow from the config: transformers' modeling_rope_utils.py. All of them make
  /// as many. The last three no device here computes.
  enum class Scaling : std::uint8_t { None, Linear, Llama3, Yarn, Longrope, Dynamic };
  double theta = 10000.0;
  Scaling scaling = Scaling::None;
  double factor = 1.0;
  // Llama3 only (transformers' _compute_llama3_parameters).
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_positions = 8192.0;
  bool computed_here() const { return scaling <= Scaling::Llama3; }
  double partial = 1.0;  ///< how much of each head is rotated; the rest passes as it is

  /// How many of a head's dimensions are rotated, rounded as transformers does.
  std::int64_t dims(std::int64_t head_dim) const {
    return static_cast<std::int64_t>(static_cast<double>(head_dim) * partial);
  }
};

/// Angle per position of each pair, by value so that no device memory holds it.
struct RopeFrequencies {
  std::array<float, kMaxHeadDim / 2> inverse{};
  std::int64_t pairs = 0;
};

RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t head_dim);

}  // namespace vramfit
