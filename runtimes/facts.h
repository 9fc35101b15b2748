#pragma once

#include <cstdint>
#include <string>

#include "model/format.h"

namespace vramfit {

/// What of a workload others judge it by, whichever runtime's it is.
struct Facts {
  enum class Optimizer : std::uint8_t { None, Adam, Other };

  Format weights;          ///< that linears are stored in
  std::int64_t batch = 1;  ///< sequences in a (micro-)batch
  std::int64_t seq = 0;    ///< tokens in each
  Optimizer optimizer = Optimizer::None;
  std::string optimizer_name = {};  ///< as flags spell it
  bool adapters = false;            ///< they alone are trained
  bool checkpointing = false;       ///< activations are computed again
  bool autocast = false;            ///< arithmetic is in another type than weights
  bool whole_logits = false;        ///< every token's at once, in fp32 for the loss
};

}  // namespace vramfit
