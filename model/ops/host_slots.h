#pragma once

#include <algorithm>
#include <cstdint>

#include "model/format.h"

namespace vramfit {

/// How weights and gradients pass through the host's memory where an optimizer's states are there:
/// in slots of so many elements, of which one is filled while another is updated and a third is
/// emptied. In a slot weights come first.
struct HostSlots {
  static constexpr std::int64_t kCount = 3;
  /// Large enough that copies run at the link's speed, small beside any model.
  static constexpr std::int64_t kMostElements = std::int64_t{4} << 20;
  /// So that everything in it begins at a multiple of 256 bytes.
  static constexpr std::int64_t kMultiple = 128;
  static constexpr std::uint64_t kScalerBytes = 256;

  Format format;          ///< of weights and gradients
  std::int64_t elements;  ///< of a slot

  /// `trained`: elements there are in all.
  HostSlots(Format format_, std::int64_t trained)
      : format(format_),
        elements(std::min((trained + kMultiple - 1) / kMultiple * kMultiple, kMostElements)) {}

  // Where they stand, in bytes, one after the other.
  std::uint64_t weights(std::int64_t slot) const { return format.bytes(2 * slot * elements); }
  std::uint64_t gradients(std::int64_t slot) const {
    return format.bytes((2 * slot + 1) * elements);
  }
  /// A copy of LossScale.
  std::uint64_t scaler() const { return weights(kCount); }
  std::uint64_t bytes() const { return scaler() + kScalerBytes; }
};

}  // namespace vramfit
