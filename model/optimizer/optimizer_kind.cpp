#include "model/optimizer/optimizer_kind.h"

#include "model/errors.h"

namespace vramfit {

const std::vector<OptimizerKind>& optimizer_kinds() {
  using Rule = OptimizerKind::Rule;
  using Stored = OptimizerKind::Stored;
  static const std::vector<OptimizerKind> kinds = {
      {"sgd", Rule::Sgd, false, 0},
      {"sgd-master", Rule::Sgd, true, 0},
      {"sgd-momentum", Rule::Sgd, false, 1},
      {"adamw", Rule::AdamW, false, 2},
      {"adamw-master", Rule::AdamW, true, 2},
      {"adamw-same", Rule::AdamW, false, 2, Stored::AsWeights},
      {"adamw-8bit", Rule::AdamW, false, 2, Stored::Codes},
      {"adamw-cpu", Rule::AdamW, false, 2, Stored::AsSums, true},
      {"lion", Rule::Lion, false, 1},
      {"adafactor", Rule::Adafactor, false, 1, Stored::Factors},
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

const OptimizerKind& optimizer_named(const std::string& name) {
  std::string list;
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (name == kind.name) return kind;
    list += (list.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw BadInput("optimizer: unknown '" + name + "'; one of " + list);
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
