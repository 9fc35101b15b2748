#include "runtimes/pytorch/optimizers/optimizer.h"

#include <array>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/optimizers/adamw.h"
#include "runtimes/pytorch/optimizers/sgd.h"

namespace vramfit::pytorch {
namespace {

constexpr std::array<std::pair<OptimizerKind, const char*>, 5> kNames = {
    {{OptimizerKind::AdamW, "adamw"},
     {OptimizerKind::AdamWFused, "adamw-fused"},
     {OptimizerKind::AdamWLoop, "adamw-loop"},
     {OptimizerKind::Sgd, "sgd"},
     {OptimizerKind::SgdMomentum, "sgd-momentum"}}};

}  // namespace

OptimizerKind parse_optimizer(const std::string& text) {
  std::string known;
  for (const auto& [kind, name] : kNames) {
    if (text == name) return kind;
    known.append(known.empty() ? "" : ", ").append(name);
  }
  throw BadInput("optimizer: unknown '" + text + "' under --runtime pytorch; one of " + known);
}

const char* name(OptimizerKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "";
}

void Optimizer::zero_grad() {
  for (const Tensor& parameter : parameters_) parameter.impl()->grad.reset();
}

Tensor Optimizer::state_like(const Tensor& parameter) const {
  return empty_strided(parameter.context(), parameter.sizes(), parameter.strides(),
                       parameter.type(), Category::OptimizerState);
}

std::unique_ptr<Optimizer> make_optimizer(OptimizerKind kind, std::vector<Tensor> parameters) {
  switch (kind) {
    case OptimizerKind::AdamW:
    case OptimizerKind::AdamWFused:
    case OptimizerKind::AdamWLoop:
      return std::make_unique<AdamW>(kind, std::move(parameters));
    case OptimizerKind::Sgd:
    case OptimizerKind::SgdMomentum:
      break;
  }
  return std::make_unique<Sgd>(kind == OptimizerKind::SgdMomentum, std::move(parameters));
}

}  // namespace vramfit::pytorch
