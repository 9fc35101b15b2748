#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtimes/pytorch/tensor/tensor.h"

namespace vramfit::pytorch {

/// torch.optim's, by how their step runs: it shows in the temporaries.
enum class OptimizerKind : std::uint8_t {
  AdamW,       ///< the default on a GPU: foreach, a temporary for every parameter at once
  AdamWFused,  ///< fused=True: none
  AdamWLoop,   ///< foreach=False: two temporaries of one parameter
  Sgd,
  SgdMomentum,
};

/// "adamw", "adamw-fused", "adamw-loop", "sgd", "sgd-momentum"; throws BadInput on anything else.
OptimizerKind parse_optimizer(const std::string& text);
const char* name(OptimizerKind kind);

/// Keeps its states from the first step on.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// optimizer.step(). What it does for a parameter is done by that one's layer (LayerScope).
  virtual void step() = 0;
  /// optimizer.zero_grad(set_to_none=True)
  void zero_grad();

 protected:
  explicit Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}
  Tensor state_like(const Tensor& parameter) const;
  std::vector<Tensor> parameters_;
};

std::unique_ptr<Optimizer> make_optimizer(OptimizerKind kind, std::vector<Tensor> parameters);

}  // namespace vramfit::pytorch
