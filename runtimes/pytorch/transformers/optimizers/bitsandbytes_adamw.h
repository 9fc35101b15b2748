#pragma once

#include "runtimes/pytorch/torch/optimizers/optimizer.h"

namespace vramfit::pytorch {

/// In how many bits states are kept, and whether large ones lie in memory that the driver may move
/// to the host.
struct BitsandbytesStates {
  int bits;
  bool paged;
};
inline constexpr BitsandbytesStates kEightBits{8, false};
inline constexpr BitsandbytesStates kPagedEightBits{8, true};
inline constexpr BitsandbytesStates kPaged32Bits{32, true};

/// bitsandbytes.optim.AdamW8bit, PagedAdamW8bit and PagedAdamW32bit: optim/optimizer.py
/// (Optimizer2State), 0.50.2. Their step has no temporaries.
class BitsandbytesAdamW final : public Optimizer {
 public:
  BitsandbytesAdamW(BitsandbytesStates states, std::vector<Tensor> parameters)
      : Optimizer(std::move(parameters)), kind_(states) {}
  void step() override;

 private:
  struct State {
    Tensor state1, state2;
    Tensor absmax1, absmax2;  ///< of blocks in 8 bits
  };
  void init_state(const Tensor& parameter);
  Tensor state_buffer(const Tensor& parameter, ScalarType type) const;
  void fill_qmap(Context& context);

  BitsandbytesStates kind_;
  Tensor dynamic_, udynamic_;  ///< what the 256 codes stand for, signed and not
  std::vector<State> states_;
};

}  // namespace vramfit::pytorch
