#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/optimizer/dynamic_codes.h"

namespace vramfit {

/// A parameter's moment as arithmetic without rounding has it.
struct ExactMoment {
  std::vector<double> values;
  std::vector<double> terms;  ///< magnitudes that were added up, to which rounding is relative
};

/// β · before + (1 − β) · now.
ExactMoment moved(const std::vector<double>& before, float beta, const std::vector<double>& now);

/// A moment as it is stored, in codes with a scale a block.
struct CodedMoment {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;

  template <typename Codes>
  std::vector<double> values() const;
};

/// Expects each scale to be its block's largest, and each code to be the nearest. A neighbour of
/// the nearest is let pass where the exact value lies between the two as nearly as fp32 tells: a
/// few of them, and none in tensors of less than a block.
template <typename Codes>
void expect_nearest(const CodedMoment& found, const ExactMoment& exact, const std::string& what);

}  // namespace vramfit
