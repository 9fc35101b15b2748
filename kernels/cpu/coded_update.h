#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/matrix.h"
#include "kernels/cpu/optimizer_rules.h"
#include "model/ops/optimizer_ops.h"
#include "model/optimizer/code_table.h"

namespace vramfit {

/// A parameter whose two moments are codes: block by block they are read, updated and stored with
/// the scale of what they have become.
template <typename Element>
class CodedUpdate {
  using Sum = Accumulator<Element>;

 public:
  CodedUpdate(const OptimizerStep& op, const ParameterUpdate& parameter)
      : op_(op),
        count_(parameter.parameter->stored().elements()),
        blocks_((count_ + kDynamicBlock - 1) / kDynamicBlock),
        decays_(parameter.decays),
        parameter_(output<Element>(*parameter.parameter, count_)),
        gradient_(input<Element>(*parameter.gradient, count_)),
        momentum_{codes(parameter.momentum), output<float>(parameter.scales, 2 * blocks_)},
        variance_{codes(parameter.variance),
                  momentum_.scales == nullptr ? nullptr : momentum_.scales + blocks_} {
    require(op.kind.moments == 2 && parameter.master == nullptr && momentum_.scales != nullptr &&
                momentum_.codes != nullptr && variance_.codes != nullptr,
            "an update has other states than its optimizer keeps");
  }

  void initialize() const {
    for (const Moment& moment : {momentum_, variance_}) {
      std::fill_n(moment.codes, count_, std::int8_t{0});
      std::fill_n(moment.scales, blocks_, 0.0F);
    }
  }

  void take_step(const StepFactors<Sum>& factors) const {
    for (std::int64_t block = 0; block < blocks_; ++block) {
      const std::int64_t first = block * kDynamicBlock;
      const std::int64_t size = std::min(kDynamicBlock, count_ - first);
      Values m{};
      Values v{};
      for (std::int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ElementUpdate<Sum> e = {static_cast<Sum>(parameter_[first + i]),
                                momentum_.template read<SignedCodes>(block, first + i),
                                variance_.template read<UnsignedCodes>(block, first + i),
                                static_cast<Sum>(gradient_[first + i])};
        update(op_.kind, op_.settings, factors, decays_, e);
        parameter_[first + i] = static_cast<Element>(e.weight);
        m[at] = e.momentum;
        v[at] = e.variance;
      }
      momentum_.template store<SignedCodes>(block, first, size, m);
      variance_.template store<UnsignedCodes>(block, first, size, v);
    }
  }

 private:
  using Values = std::array<Sum, kDynamicBlock>;

  struct Moment {
    std::int8_t* codes;
    float* scales;

    template <typename Codes>
    Sum read(std::int64_t block, std::int64_t i) const {
      return static_cast<Sum>(scales[block] *
                              kCodeTable<Codes>.values[static_cast<std::uint8_t>(codes[i])]);
    }
    template <typename Codes>
    void store(std::int64_t block, std::int64_t first, std::int64_t size,
               const Values& values) const {
      Sum largest = 0;
      for (const Sum value : values) largest = std::max(largest, std::abs(value));
      const auto scale = static_cast<float>(largest);
      scales[block] = scale;
      const float inverse = scale >= kLeastScale && scale <= kLargestScale ? 1 / scale : 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const float x = static_cast<float>(values[static_cast<std::size_t>(i)]) * inverse;
        codes[first + i] = static_cast<std::int8_t>(kCodeTable<Codes>.code(x));
      }
    }
  };

  std::int8_t* codes(const Tensor* moment) const { return output<std::int8_t>(moment, count_); }

  const OptimizerStep& op_;
  const std::int64_t count_;
  const std::int64_t blocks_;
  const bool decays_;
  Element* parameter_;
  const Element* gradient_;
  Moment momentum_;
  Moment variance_;
};

}  // namespace vramfit
