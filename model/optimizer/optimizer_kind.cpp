#include "model/optimizer/optimizer_kind.h"

#include "model/errors.h"

namespace vramfit {

const std::vector<OptimizerKind>& optimizer_kinds() {
  using Rule = OptimizerKind::Rule;
  using Stored = OptimizerKind::Stored;
  static const std::vector<OptimizerKind> kinds = {
      {"sgd", "SGD", Rule::Sgd, false, 0},
      {"sgd-master", "SGD, and fp32 weights", Rule::Sgd, true, 0},
      {"sgd-momentum", "SGD with momentum", Rule::Sgd, false, 1},
      {"adamw", "AdamW, states in fp32", Rule::AdamW, false, 2},
      {"adamw-master", "AdamW, and fp32 weights", Rule::AdamW, true, 2},
      {"adamw-same", "AdamW, states as weights", Rule::AdamW, false, 2, Stored::AsWeights},
      {"adamw-8bit", "AdamW, 8-bit", Rule::AdamW, false, 2, Stored::Codes},
      {"adamw-cpu", "AdamW, in host memory", Rule::AdamW, false, 2, Stored::AsSums, true},
      {"lion", "Lion", Rule::Lion, false, 1},
      {"adafactor", "Adafactor", Rule::Adafactor, false, 1, Stored::Factors},
  };
  return kinds;
}

Format OptimizerKind::moment_format(Format weights) const {
  switch (stored) {
    case Stored::AsSums:
    case Stored::Factors:
      return accumulation_dtype(weights);
    case Stored::AsWeights:
      return weights;
    case Stored::Codes:
      return DType::Int8;
  }
  return weights;
}

std::string optimizer_names() {
  std::string list;
  for (const OptimizerKind& kind : optimizer_kinds()) {
    list += (list.empty() ? "" : ", ") + std::string(kind.name);
  }
  return list;
}

const OptimizerKind& optimizer_named(const std::string& name) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (name == kind.name) return kind;
  }
  throw BadInput("optimizer: unknown '" + name + "'; one of " + optimizer_names());
}

void require_precision(const OptimizerKind& kind, Format weights) {
  if (kind.master && !is_16_bit(weights)) {
    throw BadInput("optimizer: " + std::string(kind.name) +
                   " keeps fp32 copies of 16-bit weights; "
                   "with " +
                   weights.name() + " weights use one without -master");
  }
}

}  // namespace vramfit
