#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtimes/pytorch/tensor/tensor.h"

namespace vramfit::pytorch {

/// By whose it is, and how its step runs: it shows in the temporaries.
enum class OptimizerKind : std::uint8_t {
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

/// The names are those of the table in optimizer.cpp; throws BadInput on anything else.
OptimizerKind parse_optimizer(const std::string& text);
const char* name(OptimizerKind kind);
/// All names, separated by ", ".
const std::string& optimizer_names();

/// Keeps its states from the first step on.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// optimizer.step(). What it does for a parameter is done by that one's layer (LayerScope).
  virtual void step() = 0;
  /// Whether it leaves the states as memory that it found, so that a step can be played again.
  virtual bool keeps_its_states() const { return true; }
  /// optimizer.zero_grad(set_to_none=True)
  void zero_grad();

 protected:
  explicit Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}
  Tensor state_like(const Tensor& parameter) const {
    return state_like(parameter, parameter.type());
  }
  Tensor state_like(const Tensor& parameter, ScalarType type) const;
  std::vector<Tensor> parameters_;
};

std::unique_ptr<Optimizer> make_optimizer(OptimizerKind kind, std::vector<Tensor> parameters);

}  // namespace vramfit::pytorch
