#include "model/optimizer/optimizer_kind.h"

#include "model/errors.h"

namespace vramfit {

const std::vector<OptimizerKind>& optimizer_kinds() {
  using Rule = OptimizerKind::Rule;
  static const std::vector<OptimizerKind> kinds = {
      {"sgd", Rule::Sgd, false, 0, false},           {"sgd-master", Rule::Sgd, true, 0, false},
      {"sgd-momentum", Rule::Sgd, false, 1, false},  {"adamw", Rule::AdamW, false, 2, false},
      {"adamw-master", Rule::AdamW, true, 2, false}, {"adamw-same", Rule::AdamW, false, 2, true},
  };
  return kinds;
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
