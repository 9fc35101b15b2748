#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtimes/pytorch/torch/optimizers/optimizer.h"
#include "runtimes/setting.h"

namespace vramfit::pytorch {

/// By whose it is, and how its step runs: it shows in the temporaries.
enum class TorchOptimizer : std::uint8_t {
  AdamW,       ///< torch.optim's, the default on a GPU: foreach, a temporary for every parameter
  AdamWFused,  ///< fused=True: none
  AdamWLoop,   ///< foreach=False: two temporaries of one parameter
  Sgd,
  SgdMomentum,
  AdamW8bit,              ///< bitsandbytes'
  PagedAdamW8bit,         ///< the same with states that may leave the card
  PagedAdamW32bit,        ///< fp32 states that may
  Adafactor,              ///< torch.optim's
  AdafactorTransformers,  ///< transformers' own, the Trainer's "adafactor"
};

/// The names are those of the table in kinds.cpp; throws BadInput on anything else.
TorchOptimizer parse_optimizer(const std::string& text);
const char* name(TorchOptimizer kind);
/// All names, separated by ", ".
const std::string& optimizer_names();
std::vector<Offer> optimizer_offers();

std::unique_ptr<Optimizer> make_optimizer(TorchOptimizer kind, std::vector<Tensor> parameters);

}  // namespace vramfit::pytorch
